import ClarityScheduler

/// A date of an export.
struct HealthKitDate {
    /// The seconds since 1970-01-01T00:00:00Z.
    let seconds: Int64
    /// How far the clock that wrote it was ahead of UTC, in minutes.
    let offset: Int16

    /// Parses what `seconds(_:)` parses.
    init?(_ bytes: Bytes) {
        guard let seconds = HealthKitDate.seconds(bytes) else { return nil }
        self.seconds = seconds
        // Both forms end in a sign and four digits.
        func digit(_ index: Int) -> Int16 { Int16(bytes[bytes.count - index] &- 0x30) }
        let minutes = (digit(4) * 10 + digit(3)) * 60 + digit(2) * 10 + digit(1)
        offset = bytes[bytes.count - 5] == UInt8(ascii: "-") ? -minutes : minutes
    }

    /// The first second in UTC of a day, counted from 1970-01-01.
    init(midnightOf day: Int) {
        seconds = Int64(day) * 86_400
        offset = 0
    }

    /// Parses `2024-01-21 08:30:00 -0500`, or iOS 8's `20150616071916-0700`, into seconds since
    /// 1970-01-01T00:00:00Z. Returns `nil` for anything else, and for a year before 1900, which
    /// devices use for "no date".
    static func seconds(_ bytes: Bytes) -> Int64? {
        // The numbers are the indices of month, day, hour, minute, second and sign.
        switch bytes.count {
        case 25:
            guard bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[10] == 0x20,
                bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"), bytes[19] == 0x20
            else { return nil }
            return seconds(bytes, 5, 8, 11, 14, 17, 20)
        case 19: return seconds(bytes, 4, 6, 8, 10, 12, 14)
        default: return nil
        }
    }

    /// Parses `2024-01-21` into the days since 1970-01-01; returns `nil` for anything else and for
    /// a year before 1900.
    static func day(_ bytes: Bytes) -> Int? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard bytes.count == 10, let midnight = Instant(rfc3339: "\(text)T00:00:00Z"),
            CivilTime(midnight.millisecondsSince1970).year >= 1900
        else { return nil }
        return Int(midnight.secondsSince1970 / 86_400)
    }

    @inline(__always)
    private static func seconds(
        _ bytes: Bytes, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int,
        _ sign: Int
    ) -> Int64? {
        var areDigits = true
        func two(_ index: Int) -> Int {
            let tens = bytes[index] &- 0x30
            let ones = bytes[index + 1] &- 0x30
            areDigits = areDigits && tens <= 9 && ones <= 9
            return Int(tens) &* 10 &+ Int(ones)
        }
        let time = CivilTime(
            year: two(0) * 100 + two(2), month: two(month), day: two(day), hour: two(hour),
            minute: two(minute), second: two(second))
        let offset = (two(sign + 1), two(sign + 3))
        let isEast = bytes[sign] == UInt8(ascii: "+")
        guard areDigits, isEast || bytes[sign] == UInt8(ascii: "-"), offset.0 < 24,
            offset.1 < 60, time.year >= 1900, time.isValid
        else { return nil }
        let shift = Int64(offset.0 * 3600 + offset.1 * 60)
        return time.millisecondsSince1970 / 1000 + (isEast ? -shift : shift)
    }
}
