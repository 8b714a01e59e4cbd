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

extension ZoneRule {
    /// Parses a TZ string such as `CET-1CEST,M3.5.0,M10.5.0/3` or `<-03>3`.
    ///
    /// Rejects summer time without its two changes, because POSIX does not define them.
    init(_ text: ArraySlice<UInt8>) throws(ZoneError.Fault) {
        var scanner = Scanner(text)
        try scanner.name()
        standardOffset = -(try scanner.clock(maximumHours: 24))
        if scanner.isAtEnd { return }
        try scanner.name()
        // The default is one hour ahead.
        let offset =
            scanner.next == UInt8(ascii: ",")
            ? standardOffset + 3600 : -(try scanner.clock(maximumHours: 24))
        try scanner.expect(",")
        let begin = try scanner.change()
        try scanner.expect(",")
        let end = try scanner.change()
        guard scanner.isAtEnd else { throw scanner.fault("the end") }
        saving = Saving(offset: offset, begin: begin, end: end)
    }

    private struct Scanner {
        private let start: Int
        private var rest: ArraySlice<UInt8>

        init(_ text: ArraySlice<UInt8>) {
            start = text.startIndex
            rest = text
        }

        var isAtEnd: Bool { rest.isEmpty }
        var next: UInt8? { rest.first }

        func fault(_ wanted: String) -> ZoneError.Fault {
            .rule(position: rest.startIndex - start, wanted: wanted)
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard next == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func expect(_ character: Unicode.Scalar) throws(ZoneError.Fault) {
            guard take(character) else { throw fault("`\(character)`") }
        }

        /// Skips a name of at least three characters, `EST` or `<+0330>`.
        mutating func name() throws(ZoneError.Fault) {
            let isQuoted = take("<")
            let length = rest.prefix { byte in
                switch byte {
                case 0x41...0x5A, 0x61...0x7A: true
                case 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "-"): isQuoted
                default: false
                }
            }.count
            guard length >= 3 else { throw fault("a name of three letters or more") }
            rest.removeFirst(length)
            if isQuoted { try expect(">") }
        }

        /// Parses `[+-]hh[:mm[:ss]]` and returns it in seconds.
        mutating func clock(maximumHours: Int) throws(ZoneError.Fault) -> Int64 {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            var seconds = try number(0...maximumHours, "hours") * 3600
            if take(":") {
                seconds += try number(0...59, "minutes") * 60
                if take(":") { seconds += try number(0...59, "seconds") }
            }
            return Int64(isNegative ? -seconds : seconds)
        }

        mutating func change() throws(ZoneError.Fault) -> Change {
            let day = try self.day()
            // The default is two o'clock.
            return Change(
                day: day, seconds: take("/") ? try clock(maximumHours: 167) : 2 * 3600)
        }

        private mutating func day() throws(ZoneError.Fault) -> Day {
            if take("J") { return .julian(try number(1...365, "a day")) }
            guard take("M") else { return .ordinal(try number(0...365, "`M`, `J` or a day")) }
            let month = try number(1...12, "a month")
            try expect(".")
            let week = try number(1...5, "a week")
            try expect(".")
            return .weekday(try number(0...6, "a weekday"), week: week, month: month)
        }

        private mutating func number(
            _ range: ClosedRange<Int>, _ what: String
        ) throws(ZoneError.Fault) -> Int {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            let value = digits.prefix(4).reduce(0) { $0 * 10 + Int($1 - 0x30) }
            guard (1...3).contains(digits.count), range.contains(value) else {
                throw fault("\(what) from \(range.lowerBound) to \(range.upperBound)")
            }
            rest.removeFirst(digits.count)
            return value
        }
    }
}
