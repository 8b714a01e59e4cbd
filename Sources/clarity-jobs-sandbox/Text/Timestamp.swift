import JSON
import Glibc
// If a target also imports C libraries, `timeval` belongs to this module of the toolchain.
import SwiftOverlayShims

/// An instant in milliseconds since 1970-01-01T00:00:00Z.
///
/// The server parses and writes dates with the calendar of the C library, so that it does not share
/// the client's bugs.
struct Timestamp: Hashable, Comparable, Sendable {
    var milliseconds: Int64

    /// Returns the machine's wall time.
    static func now() -> Timestamp {
        var time = timeval()
        gettimeofday(&time, nil)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_usec) / 1000)
    }

    static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    static func + (time: Timestamp, span: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds + span.wholeMilliseconds)
    }

    static func - (time: Timestamp, span: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds - span.wholeMilliseconds)
    }

    /// The hour of the day in UTC, 0 to 23.
    var hour: Int {
        let day: Int64 = 86_400_000
        return Int(((milliseconds % day + day) % day) / 3_600_000)
    }
}

extension Timestamp: CustomStringConvertible {
    /// The instant as `2026-11-20T06:00:00Z`, with `.123` only if there is a fraction.
    var description: String {
        let fraction = (milliseconds % 1000 + 1000) % 1000
        var seconds = time_t((milliseconds - fraction) / 1000)
        var time = tm()
        gmtime_r(&seconds, &time)
        let date = [
            digits(time.tm_year + 1900, 4), digits(time.tm_mon + 1, 2), digits(time.tm_mday, 2),
        ]
        let clock = [time.tm_hour, time.tm_min, time.tm_sec].map { digits($0, 2) }
        return date.joined(separator: "-") + "T" + clock.joined(separator: ":")
            + (fraction == 0 ? "Z" : ".\(digits(fraction, 3))Z")
    }

    private func digits(_ number: some BinaryInteger, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

extension Timestamp {
    /// The instant as `Fri, 20 Nov 2026 06:00:00 GMT` (RFC 9110, section 5.6.7).
    var httpDate: String {
        var seconds = time_t(milliseconds / 1000)
        var time = tm()
        gmtime_r(&seconds, &time)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let clock = [time.tm_hour, time.tm_min, time.tm_sec].map { digits($0, 2) }
        return "\(days[Int(time.tm_wday)]), \(digits(time.tm_mday, 2)) "
            + "\(months[Int(time.tm_mon)]) \(digits(time.tm_year + 1900, 4)) "
            + "\(clock.joined(separator: ":")) GMT"
    }

    /// Parses `2026-11-20T06:00:00Z`; `nil` for anything else.
    ///
    /// The fraction may have any length; digits after the milliseconds are dropped. An offset such
    /// as `+01:00` may replace `Z`.
    init?(iso8601 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 64, bytes[4] == UInt8(ascii: "-"),
            bytes[7] == UInt8(ascii: "-"), bytes[10] == UInt8(ascii: "T"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":")
        else { return nil }
        func number(_ range: Range<Int>) -> Int64? {
            guard range.upperBound <= bytes.count,
                bytes[range].allSatisfy({ (0x30...0x39).contains($0) })
            else { return nil }
            return bytes[range].reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16),
            let second = number(17..<19), (1...12).contains(month),
            hour < 24, minute < 60, second < 60
        else { return nil }
        var end = 19
        var fraction: Int64 = 0
        if bytes[end] == UInt8(ascii: ".") {
            let start = end + 1
            end = bytes[start...].firstIndex { !(0x30...0x39).contains($0) } ?? bytes.count
            guard end > start else { return nil }
            for index in start..<start + 3 {
                fraction = fraction * 10 + (index < end ? Int64(bytes[index] - 0x30) : 0)
            }
        }
        var offset: Int64 = 0
        switch bytes[end...].first {
        case UInt8(ascii: "Z"): guard end + 1 == bytes.count else { return nil }
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            guard end + 6 == bytes.count, bytes[end + 3] == UInt8(ascii: ":"),
                let hours = number(end + 1..<end + 3), let minutes = number(end + 4..<end + 6),
                hours < 24, minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * (bytes[end] == UInt8(ascii: "-") ? -1 : 1)
        default: return nil
        }
        var time = tm()
        (time.tm_year, time.tm_mon, time.tm_mday) = (
            Int32(year - 1900), Int32(month - 1), Int32(day)
        )
        (time.tm_hour, time.tm_min, time.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
        let seconds = Int64(timegm(&time))
        // `timegm` turns a day that the month does not have into another date.
        guard time.tm_mday == day else { return nil }
        self.init(milliseconds: (seconds - 60 * offset) * 1000 + fraction)
    }
}

/// A clock that stands still until it is set, for tests that span months.
///
/// Like the service, it belongs to one thread at a time.
final class SettableClock {
    var now: Timestamp

    init(_ now: Timestamp) { self.now = now }
}

extension JSON {
    /// Returns an instant in ISO 8601.
    static func time(_ time: Timestamp) -> JSON { .string(time.description) }
}

extension Duration {
    /// The duration in whole milliseconds, rounded towards zero; spans here are far too short to
    /// overflow.
    var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// Parses `250ms`, `30s`, `15m`, `6h` or `30d`, at most 3650 days; `nil` for anything else.
    init?(span text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units: [Substring: Int64] = [
            "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000,
        ]
        guard let count = Int64(digits), let unit = units[text.dropFirst(digits.count)],
            count <= 3650 * 86_400_000 / unit
        else { return nil }
        self = .milliseconds(count * unit)
    }
}

extension Timestamp {
    /// The instant as `2026-11-20T15:01:45.487000+00:00`; without microseconds if they are zero.
    var offsetText: String { microsecondText + "+00:00" }

    /// The instant as `2026-11-20T15:01:45.487000Z`; without microseconds if they are zero.
    var zuluText: String { microsecondText + "Z" }

    private var microsecondText: String {
        let text = description.dropLast()
        return text.contains(".") ? text + "000" : String(text)
    }

    /// Parses a date as the deployed backend does; `nil` for anything else.
    ///
    /// Accepted is ISO 8601 with a space for the `T`, and without seconds, a fraction or a zone
    /// (then UTC); a date alone; and seconds since 1970 as text, or milliseconds above 2e10.
    init?(lax text: String) {
        if let number = Double(text) {
            self.init(unix: number)
            return
        }
        var text = text
        if text.utf8.count == 10 { text += "T00:00" }
        guard text.utf8.count >= 16, text.allSatisfy(\.isASCII) else { return nil }
        var bytes = Array(text.utf8)
        if [UInt8(ascii: " "), UInt8(ascii: "t"), UInt8(ascii: "_")].contains(bytes[10]) {
            bytes[10] = UInt8(ascii: "T")
        }
        let isClock: (UInt8) -> Bool = {
            (0x30...0x39).contains($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
        let end = bytes[11...].firstIndex { !isClock($0) } ?? bytes.count
        var clock = String(decoding: bytes[11..<end], as: UTF8.self)
        if clock.utf8.count == 5 { clock += ":00" }
        var zone = String(decoding: bytes[end...], as: UTF8.self)
        if zone.isEmpty || zone == "z" { zone = "Z" }
        // `+0100` means `+01:00`.
        if zone.utf8.count == 5, zone != "Z" { zone = "\(zone.prefix(3)):\(zone.suffix(2))" }
        let day = String(decoding: bytes[..<11], as: UTF8.self)
        self.init(iso8601: day + clock + zone)
    }

    /// Creates the instant so many seconds after 1970, or milliseconds if the magnitude of the
    /// number is above 2e10.
    ///
    /// The result is `nil` outside the years 1 to 9999.
    init?(unix number: Double) {
        let milliseconds = abs(number) > 2e10 ? number : number * 1000
        guard milliseconds.isFinite,
            (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds)
        else { return nil }
        self.init(milliseconds: Int64(milliseconds))
    }
}

extension UUIDText {
    /// Returns the UUID in lower case with hyphens, or `nil` if `text` is not a UUID.
    ///
    /// In `text`, the hyphens may be missing, and there may be braces and `urn:uuid:`.
    static func lax(_ text: String) -> String? {
        var digits = text.lowercased()
        if digits.hasPrefix("urn:uuid:") { digits.removeFirst(9) }
        if digits.hasPrefix("{"), digits.hasSuffix("}") {
            digits.removeFirst()
            digits.removeLast()
        }
        if let uuid = canonical(digits) { return uuid }
        guard digits.utf8.count == 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            return nil
        }
        let characters = Array(digits)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(characters[$0]) }
            .joined(separator: "-")
    }
}
