import HealthStore
import HealthModel
import ClarityScheduler

/// A month of the calendar, such as October 2026.
public struct CivilMonth: Hashable, Sendable {
    public let year: Int
    /// 1 to 12.
    public let month: Int

    private static let names = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]

    /// Parses a month such as `2026-10`; `nil` for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count == 7, parts.map(\.utf8.count) == [4, 2],
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let year = Int(parts[0]), let month = Int(parts[1]), year > 0, 1...12 ~= month
        else { return nil }
        (self.year, self.month) = (year, month)
    }

    /// Returns the month of a day, given as the number of days since 1970-01-01.
    init(of day: Int) {
        let date = CivilTime.date(daysSince1970: day)
        (year, month) = (date.year, date.month)
    }

    /// Returns a month by its number, counted from January 1970.
    init(monthsSince1970 count: Int) {
        year = 1970 + Int(LocalDays.quotient(Int64(count), 12))
        month = count - (year - 1970) * 12 + 1
    }

    /// The days of the month, as numbers of days since 1970-01-01.
    var days: ClosedRange<Int> {
        let first = CivilTime.daysSince1970(year: year, month: month, day: 1)
        return first...(first + CivilTime.daysIn(month: month, year: year) - 1)
    }

    var before: CivilMonth { CivilMonth(of: days.lowerBound - 1) }

    /// Such as `October`.
    var name: String { CivilMonth.names[month - 1] }

    /// Such as `October 2026`.
    public var title: String { "\(name) \(year)" }
}

extension CivilMonth: Comparable, CustomStringConvertible {
    public static func < (a: CivilMonth, b: CivilMonth) -> Bool {
        (a.year, a.month) < (b.year, b.month)
    }

    /// Such as `2026-10`.
    public var description: String {
        String(CivilDay(daysSince1970: days.lowerBound).description.prefix(7))
    }
}

/// Writes days and times of a zone for people: the only place where a report does so.
struct LocalDates {
    let zone: Zone

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// Returns a day such as `Thu 1 Oct`.
    func day(_ number: Int) -> String {
        let date = CivilTime(Int64(number) * 86_400_000)
        let month = CivilMonth(of: number).name.prefix(3)
        return "\(LocalDates.weekdays[date.weekday]) \(date.day) \(month)"
    }

    /// Returns a day without its month, such as `Thu 1`.
    func shortDay(_ number: Int) -> String { String(day(number).dropLast(4)) }

    /// Returns a time such as `23:41`.
    func clock(_ instant: Instant) -> String { String(zone.text(instant).dropFirst(11).prefix(5)) }

    /// Returns a day and a time such as `Thu 1 Oct, 23:41`.
    func moment(_ instant: Instant) -> String {
        let clock = LocalDays.clock(at: instant.secondsSince1970, in: zone)
        return "\(day(Int(LocalDays.quotient(clock, 86_400)))), \(self.clock(instant))"
    }

    /// Returns a day, its year and a time, such as `Thu 1 Oct 2026, 23:41`.
    func fullMoment(_ instant: Instant) -> String {
        let parts = moment(instant).split(separator: ",", maxSplits: 1)
        return "\(parts[0]) \(zone.text(instant).prefix { $0 != "-" }),\(parts[1])"
    }

    /// Returns days of one month in their order as `3, 7-9 and 12`.
    static func list(_ days: [Int]) -> String {
        var ranges: [ClosedRange<Int>] = []
        for day in days {
            if let last = ranges.last, last.upperBound == day - 1 {
                ranges[ranges.count - 1] = last.lowerBound...day
            } else {
                ranges.append(day...day)
            }
        }
        let texts = ranges.map { range in
            let ends = [range.lowerBound, range.upperBound].map {
                CivilTime(Int64($0) * 86_400_000).day
            }
            return ends[0] == ends[1] ? "\(ends[0])" : "\(ends[0])\u{2013}\(ends[1])"
        }
        guard let last = texts.last, texts.count > 1 else { return texts.first ?? "" }
        return "\(texts.dropLast().joined(separator: ", ")) and \(last)"
    }
}
