public import ClarityScheduler

/// A date, as the number of days since 1970-01-01.
public struct CivilDay: Hashable, Comparable, Sendable {
    public var daysSince1970: Int

    /// Creates a date.
    public init(daysSince1970: Int) { self.daysSince1970 = daysSince1970 }

    public static func < (a: CivilDay, b: CivilDay) -> Bool { a.daysSince1970 < b.daysSince1970 }
}

extension CivilDay: CustomStringConvertible {
    /// The date as `2026-11-15`.
    public var description: String {
        let date = Instant(secondsSince1970: Int64(daysSince1970) * 86_400).description
        return String(date.prefix { $0 != "T" })
    }
}

extension CivilDay {
    /// Returns the instant at which the day begins on the clocks of a zone.
    public func start(in zone: Zone) -> Instant {
        let time = CivilTime(Int64(daysSince1970) * 86_400_000)
        return switch zone.resolve(time) {
        case .once(let instant), .twice(let instant, _), .skipped(let instant): instant
        }
    }
}

/// The steps of each minute of a day on the clocks of one zone.
public struct StepDay: Hashable, Sendable, PrivateValue {
    /// The minutes of a day, 1,440; a clock change leaves one hour empty, or with the steps of both
    /// its occurrences.
    public static let minutes = 1440

    public var day: CivilDay
    /// The zone's name in the tz database.
    public var zone: String
    /// `minutes` counts, from midnight on.
    public var counts: [UInt32]
    /// How many of the minutes had passed when the source was made; 1,440 for a whole day.
    public var knownMinutes: Int

    /// Creates a day of `minutes` counts; missing ones are 0.
    public init(day: CivilDay, zone: String, counts: [UInt32], knownMinutes: Int) {
        self.day = day
        self.zone = zone
        let missing = max(0, StepDay.minutes - counts.count)
        self.counts = counts.prefix(StepDay.minutes) + [UInt32](repeating: 0, count: missing)
        self.knownMinutes = min(max(knownMinutes, 0), StepDay.minutes)
    }
}

/// The steps of seven days, minute by minute.
public enum StepWeek: Hashable, Sendable, PrivateValue {
    /// 10,080 counts, oldest first, and for each whether its minute had passed when the last source
    /// was made.
    case known(counts: [UInt32], isKnown: [Bool])
    /// The number of days, of the seven, for which nothing is stored.
    case missing(days: Int)
}
