/// A date and time of day in the proleptic Gregorian calendar, without a zone.
///
/// The conversions are the arithmetic of Howard Hinnant's "chrono-Compatible Low-Level Date
/// Algorithms": exact for every year that fits.
public struct CivilTime: Hashable, Sendable {
    public var year: Int
    /// The month, 1 to 12.
    public var month: Int
    /// The day of the month, 1 to 31.
    public var day: Int
    public var hour: Int
    public var minute: Int
    public var second: Int
    public var millisecond: Int

    /// Creates a civil time from its parts, unchecked; see `isValid`.
    public init(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0,
        millisecond: Int = 0
    ) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
        self.millisecond = millisecond
    }

    /// Creates the civil time that a clock in UTC shows `milliseconds` after 1970-01-01T00:00:00Z.
    public init(_ milliseconds: Int64) {
        let days = milliseconds.flooredQuotient(86_400_000)
        // Not `milliseconds - days * 86_400_000`: for the earliest days the product overflows.
        let remainder = Int(milliseconds % 86_400_000)
        let ofDay = remainder < 0 ? remainder + 86_400_000 : remainder
        let date = CivilTime.date(daysSince1970: Int(days))
        self.init(
            year: date.year, month: date.month, day: date.day, hour: ofDay / 3_600_000,
            minute: ofDay / 60_000 % 60, second: ofDay / 1000 % 60, millisecond: ofDay % 1000)
    }

    /// Whether the date exists and each part is in its range.
    public var isValid: Bool {
        (1...12).contains(month) && (1...31).contains(day)
            && day <= CivilTime.daysIn(month: month, year: year) && (0..<24).contains(hour)
            && (0..<60).contains(minute) && (0..<60).contains(second)
            && (0..<1000).contains(millisecond)
    }

    /// The milliseconds from 1970-01-01T00:00:00 to this time, on a clock without a zone.
    public var millisecondsSince1970: Int64 {
        let days = Int64(CivilTime.daysSince1970(year: year, month: month, day: day))
        let ofDay = Int64((hour * 60 + minute) * 60 + second) * 1000 + Int64(millisecond)
        return days * 86_400_000 + ofDay
    }

    /// The day of the week, 0 for Sunday to 6 for Saturday.
    public var weekday: Int {
        let days = CivilTime.daysSince1970(year: year, month: month, day: day)
        return ((days + 4) % 7 + 7) % 7
    }

    /// Returns the number of days in a month, 28 to 31.
    public static func daysIn(month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Returns the number of days from 1970-01-01 to a date; negative for earlier dates.
    public static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Returns the date that is `days` days after 1970-01-01.
    public static func date(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

extension Int64 {
    /// Returns the quotient rounded towards negative infinity; `divisor` must be positive.
    func flooredQuotient(_ divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
