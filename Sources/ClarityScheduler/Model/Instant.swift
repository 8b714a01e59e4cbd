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
        func pair(_ value: Int, _ after: Unicode.Scalar) {
            bytes.append(0x30 + UInt8(truncatingIfNeeded: value / 10))
            bytes.append(0x30 + UInt8(truncatingIfNeeded: value % 10))
            bytes.append(UInt8(ascii: after))
        }
        if (0...9999).contains(time.year) {
            bytes.append(0x30 + UInt8(truncatingIfNeeded: time.year / 1000))
            bytes.append(0x30 + UInt8(truncatingIfNeeded: time.year / 100 % 10))
            pair(time.year % 100, "-")
        } else {
            bytes.append(contentsOf: "\(padded(time.year, 4))-".utf8)
        }
        pair(time.month, "-")
        pair(time.day, "T")
        pair(time.hour, ":")
        pair(time.minute, ":")
        if time.millisecond == 0 {
            pair(time.second, "Z")
        } else {
            pair(time.second, ".")
            bytes.append(0x30 + UInt8(truncatingIfNeeded: time.millisecond / 100))
            pair(time.millisecond % 100, "Z")
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
