/// The rule for a zone's offset after its last recorded transition.
///
/// It is the TZ string of POSIX (XBD 8.3) with the extension of RFC 8536 section 3.3.1, which
/// allows the time of a change to be -167 to 167 hours from midnight of its day.
struct ZoneRule: Hashable, Sendable {
    /// A day of every year.
    enum Day: Hashable, Sendable {
        /// Day 1 to 365, in which 29 February is never counted.
        case julian(Int)
        /// Day 0 to 365, in which 29 February is counted.
        case ordinal(Int)
        /// A weekday (0 for Sunday) of a month, the 1st to the 4th, or 5 for the last.
        case weekday(Int, week: Int, month: Int)
    }

    /// A change of the clock.
    struct Change: Hashable, Sendable {
        var day: Day
        /// The time of the change on the clock before the change, in seconds from midnight.
        var seconds: Int64

        /// Returns the seconds from 1970-01-01T00:00:00 to the change, on the clock before it.
        func localSeconds(in year: Int) -> Int64 {
            let newYear = CivilTime.daysSince1970(year: year, month: 1, day: 1)
            let date =
                switch day {
                case .julian(let number):
                    newYear + number - 1
                        + (number >= 60 && CivilTime.daysIn(month: 2, year: year) == 29 ? 1 : 0)
                case .ordinal(let number): newYear + number
                case .weekday(let weekday, let week, let month):
                    Change.date(of: weekday, week: week, month: month, year: year)
                }
            return Int64(date) * 86_400 + seconds
        }

        private static func date(of weekday: Int, week: Int, month: Int, year: Int) -> Int {
            let first = CivilTime(year: year, month: month, day: 1).weekday
            let day = 1 + (weekday - first + 7) % 7 + (week - 1) * 7
            // Only the fifth week can pass the month's end, by less than a week.
            let within = day > CivilTime.daysIn(month: month, year: year) ? day - 7 : day
            return CivilTime.daysSince1970(year: year, month: month, day: within)
        }
    }

    /// The part of the year with a different offset; in Dublin it is winter.
    struct Saving: Hashable, Sendable {
        var offset: Int64
        var begin: Change
        var end: Change
    }

    /// The offset from UTC in seconds, positive to the east.
    var standardOffset: Int64
    var saving: Saving?

    /// Returns the offset at an instant, with the instants of the changes before and after it.
    func span(at seconds: Int64) -> Zone.Span {
        guard let saving else {
            return Zone.Span(start: Zone.earliest, end: Zone.latest, offset: standardOffset)
        }
        let day = (seconds + standardOffset).flooredQuotient(86_400)
        let year = CivilTime.date(daysSince1970: Int(day)).year
        // A change lies at most eight days outside its year, so these three years hold the changes
        // around the instant.
        let around = (year - 1...year + 1).flatMap { changes(of: saving, in: $0) }
        // If two changes coincide, the later one in this order counts: summer time that ends at the
        // instant at which it begins again never ends (RFC 8536 section 3.3.1). The index makes the
        // sort stable.
        let ordered = around.enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }
        var span = Zone.Span(start: Zone.earliest, end: Zone.latest, offset: standardOffset)
        for (_, change) in ordered {
            if change.at > seconds {
                span.end = change.at
                break
            }
            span.start = change.at
            span.offset = change.offset
        }
        return span
    }

    private func changes(of saving: Saving, in year: Int) -> [(at: Int64, offset: Int64)] {
        let begin = saving.begin.localSeconds(in: year) - standardOffset
        let end = saving.end.localSeconds(in: year) - saving.offset
        return begin <= end
            ? [(begin, saving.offset), (end, standardOffset)]
            : [(end, standardOffset), (begin, saving.offset)]
    }
}
