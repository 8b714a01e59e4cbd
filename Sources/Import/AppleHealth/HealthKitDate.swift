import ClarityScheduler

/// A date of an export.
struct HealthKitDate: Hashable {
    /// The seconds since 1970-01-01T00:00:00Z.
    let seconds: Int64
    /// How far the clock that wrote it was ahead of UTC, in minutes.
    let offset: Int16

    /// The years of dates. Devices use earlier ones for "no date", and later ones are of another
    /// calendar, such as 2569 of the Buddhist one.
    private static let years = 1900...2199

    init(seconds: Int64, offset: Int16) {
        self.seconds = seconds
        self.offset = offset
    }

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
    /// 1970-01-01T00:00:00Z. Returns `nil` for anything else, and for a year outside of `years`.
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
    /// a year outside of `years`.
    static func day(_ bytes: Bytes) -> Int? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard bytes.count == 10, let midnight = Instant(rfc3339: "\(text)T00:00:00Z"),
            years.contains(CivilTime(midnight.millisecondsSince1970).year)
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
            offset.1 < 60, years.contains(time.year), time.isValid
        else { return nil }
        let shift = Int64(offset.0 * 3600 + offset.1 * 60)
        return time.millisecondsSince1970 / 1000 + (isEast ? -shift : shift)
    }
}

/// Reads the dates of an export, of which neighbours nearly always have the same day and offset.
struct DateReader {
    /// The bytes of the last date's day, and those of its offset.
    private var day: (UInt64, UInt16) = (0, 0)
    private var zone: UInt64 = 0
    /// That day's midnight on its clock.
    private var midnight: Int64 = 0
    private var offset: Int16 = 0

    /// Reads what `HealthKitDate` reads, with references of XML in it if there are any.
    @inline(__always)
    mutating func date(_ bytes: Bytes) -> HealthKitDate? {
        guard bytes.count == 25, let base = bytes.baseAddress.map({ UnsafeRawPointer($0) }) else {
            return Reference.decoded(bytes, HealthKitDate.init)
        }
        let day = (
            base.loadUnaligned(as: UInt64.self),
            base.loadUnaligned(fromByteOffset: 8, as: UInt16.self)
        )
        // The last eight bytes without the digits of the second.
        let zone = base.loadUnaligned(fromByteOffset: 17, as: UInt64.self).littleEndian >> 16
        var areDigits = true
        func two(_ index: Int) -> Int64 {
            let (tens, ones) = (bytes[index] &- 0x30, bytes[index + 1] &- 0x30)
            areDigits = areDigits && tens <= 5 && ones <= 9
            return Int64(tens) &* 10 &+ Int64(ones)
        }
        let (hour, minute, second) = (two(11), two(14), two(17))
        if day == self.day, zone == self.zone, areDigits, hour < 24, bytes[10] == 0x20,
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":")
        {
            return HealthKitDate(
                seconds: midnight + hour * 3600 + minute * 60 + second, offset: offset)
        }
        guard let date = Reference.decoded(bytes, HealthKitDate.init) else { return nil }
        guard areDigits, hour < 24 else { return date }
        (self.day, self.zone, offset) = (day, zone, date.offset)
        midnight = date.seconds - (hour * 3600 + minute * 60 + second)
        return date
    }
}
