/// An instant of wall time, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// The type is not `Date` because an occurrence is compared with the value that the store kept. A
/// `Date` is a binary fraction of seconds since 2001 and need not survive the round trip.
public struct Instant: Hashable, Comparable, Sendable {
    /// The number of milliseconds since 1970-01-01T00:00:00Z; negative for earlier instants.
    public var millisecondsSince1970: Int64

    /// Creates an instant from milliseconds since 1970-01-01T00:00:00Z.
    public init(millisecondsSince1970: Int64) {
        self.millisecondsSince1970 = millisecondsSince1970
    }

    /// Creates an instant from whole seconds since 1970-01-01T00:00:00Z.
    public init(secondsSince1970: Int64) {
        self.millisecondsSince1970 = secondsSince1970 * 1000
    }

    /// The whole seconds since 1970-01-01T00:00:00Z, rounded down.
    public var secondsSince1970: Int64 {
        millisecondsSince1970.flooredQuotient(1000)
    }

    public static func < (a: Instant, b: Instant) -> Bool {
        a.millisecondsSince1970 < b.millisecondsSince1970
    }

    /// Returns the instant `span` later; drops a fraction of a millisecond.
    public static func + (instant: Instant, span: Duration) -> Instant {
        Instant(millisecondsSince1970: instant.millisecondsSince1970 + span.milliseconds)
    }

    /// Returns the instant `span` earlier; drops a fraction of a millisecond.
    public static func - (instant: Instant, span: Duration) -> Instant {
        Instant(millisecondsSince1970: instant.millisecondsSince1970 - span.milliseconds)
    }

    /// Returns the span from `earlier` to `later`; negative if `later` is the earlier one.
    public static func - (later: Instant, earlier: Instant) -> Duration {
        .milliseconds(later.millisecondsSince1970 - earlier.millisecondsSince1970)
    }
}

extension Instant: CustomStringConvertible {
    /// The instant as RFC 3339 in UTC: `2026-11-20T06:00:00Z`, or with `.123` if it has a fraction.
    public var description: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the text of `description` in ASCII; request bodies have three instants a sample.
    public func append(to bytes: inout [UInt8]) {
        let time = CivilTime(millisecondsSince1970)
        guard (0...9999).contains(time.year) else {
            bytes.append(contentsOf: "\(padded(time.year, 4))-".utf8)
            return Instant.append(time, from: 5, to: &bytes)
        }
        Instant.append(time, from: 0, to: &bytes)
    }

    /// Appends a time with a year of four digits, from a byte of its text on.
    private static func append(_ time: CivilTime, from first: Int, to bytes: inout [UInt8]) {
        // As one piece: the array would check its room before each byte.
        withUnsafeTemporaryAllocation(byteCount: 24, alignment: 1) { text in
            var place = 0
            func digits(_ value: Int, _ count: Int, _ after: Unicode.Scalar) {
                var rest = UInt(bitPattern: value)
                for digit in stride(from: place + count - 1, through: place, by: -1) {
                    text[digit] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
                text[place + count] = UInt8(ascii: after)
                place += count + 1
            }
            digits(time.year, 4, "-")
            digits(time.month, 2, "-")
            digits(time.day, 2, "T")
            digits(time.hour, 2, ":")
            digits(time.minute, 2, ":")
            digits(time.second, 2, time.millisecond == 0 ? "Z" : ".")
            if time.millisecond != 0 { digits(time.millisecond, 3, "Z") }
            bytes.append(contentsOf: text[first..<place])
        }
    }

    /// Parses RFC 3339: `2026-11-20T06:00:00Z`, `2026-11-20T06:00:00.25+01:00`; returns `nil` for
    /// any other text. Drops digits after the milliseconds and refuses a leap second (`:60`).
    public init?(rfc3339 text: String) {
        var rest = Array(text.utf8)[...]
        func number(_ digits: Int) -> Int? {
            guard rest.count >= digits else { return nil }
            var value = 0
            for _ in 0..<digits {
                guard let byte = rest.popFirst(), (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int(byte - 0x30)
            }
            return value
        }
        func take(_ characters: String) -> Bool {
            guard let byte = rest.first, characters.utf8.contains(byte) else { return false }
            rest.removeFirst()
            return true
        }
        guard let year = number(4), take("-"), let month = number(2), take("-"),
            let day = number(2), take("Tt "), let hour = number(2), take(":"),
            let minute = number(2), take(":"), let second = number(2)
        else { return nil }
        var millisecond = 0
        if take(".") {
            var scale = 100
            var digits = 0
            while let byte = rest.first, (0x30...0x39).contains(byte) {
                millisecond += Int(byte - 0x30) * scale
                scale /= 10
                digits += 1
                rest.removeFirst()
            }
            guard digits > 0 else { return nil }
        }
        var offsetMinutes = 0
        if !take("Zz") {
            let sign = rest.first == UInt8(ascii: "-") ? -1 : 1
            guard take("+-"), let hours = number(2), take(":"), let minutes = number(2),
                hours < 24, minutes < 60
            else { return nil }
            offsetMinutes = sign * (hours * 60 + minutes)
        }
        let time = CivilTime(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second,
            millisecond: millisecond)
        guard rest.isEmpty, time.isValid else { return nil }
        self.init(millisecondsSince1970: time.millisecondsSince1970 - Int64(offsetMinutes) * 60_000)
    }
}

func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value.magnitude)
    let zeros = String(repeating: "0", count: max(0, width - digits.count))
    return (value < 0 ? "-" : "") + zeros + digits
}

/// One reading of both clocks: wall time for schedules and people, elapsed time for spans.
public struct Moment: Hashable, Sendable {
    public var wall: Instant
    /// The time since some fixed instant, including suspend; never steps.
    public var elapsed: Duration

    /// Creates a reading.
    public init(wall: Instant, elapsed: Duration) {
        self.wall = wall
        self.elapsed = elapsed
    }
}

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
