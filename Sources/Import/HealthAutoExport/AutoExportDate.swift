import HealthStore
import HealthModel
import ClarityScheduler
import JSON

/// A date of Health Auto Export, in any of its known forms.
///
/// | form | seen |
/// |---|---|
/// | `2024-02-06 14:30:00 -0800` | the app's own |
/// | `2024-02-06 2:30:00 PM -0800`, `... p. m. ...` | the same on a phone with a 12-hour clock |
/// | `2024-02-06` | days, aggregated sleep |
/// | `2024-02-06T14:30:00Z`, `...00.123+01:00` | copies that a server has made |
/// | `1707258600`, `1707258600.5`, `1707258600000` | notifications: seconds or milliseconds |
///
/// A date without an offset is on the clock of the source's zone. Of a time that this clock shows
/// twice, the first counts; a time that it skips is the instant at which it goes on.
///
/// A number of a time before 2001 is no date: Apple's programs also count the seconds since 2001,
/// and such a number may be one of those.
struct AutoExportDate: Hashable {
    var instant: Instant
    /// What its own clock shows, in seconds since 1970-01-01T00:00:00.
    var clock: Int64
    /// Whether a day begins then: its own clock shows midnight, as for a date without a time, or the
    /// zone's clock goes on after a midnight that it skips.
    var isMidnight: Bool
    /// Whether it is a date without a time.
    var isDay: Bool

    /// Reads a date; `nil` for anything else, and for a year before 1900 or after 2199.
    init?(_ json: JSON, zone: Zone) {
        switch json {
        case .string(let text): self.init(text: text, zone: zone)
        case .integer(let number): self.init(epoch: Double(number), zone)
        case .number(let number): self.init(epoch: number, zone)
        case .null, .bool, .array, .object: return nil
        }
    }

    /// 2001-01-01 in milliseconds since 1970.
    private static let start2001 = 978_307_200_000.0

    private init?(epoch: Double, _ zone: Zone) {
        // Seconds up to the year 2199 are below this limit; milliseconds above it begin in 1973.
        let milliseconds = epoch < 1e11 ? epoch * 1000 : epoch
        guard milliseconds >= AutoExportDate.start2001, milliseconds < 7.258e12 else { return nil }
        instant = Instant(millisecondsSince1970: Int64(milliseconds))
        clock = LocalDays.clock(at: instant.secondsSince1970, in: zone)
        isMidnight = false
        isDay = false
    }

    private init?(text: String, zone: Zone) {
        guard text.utf8.count <= 64 else { return nil }
        // Since iOS 17, a narrow or no-break space precedes AM and PM.
        var reader = Reader(
            text.replacing("\u{202F}", with: " ").replacing("\u{A0}", with: " "))
        if let number = reader.wholeNumber {
            self.init(epoch: number, zone)
        } else {
            self.init(&reader, zone)
        }
    }

    private init?(_ reader: inout Reader, _ zone: Zone) {
        guard var time = reader.date(), (1900...2199).contains(time.year), time.isValid else {
            return nil
        }
        isDay = reader.isAtEnd
        var offset: Int64?
        if !isDay {
            guard reader.time(&time), time.isValid, reader.offset(&offset) else { return nil }
        }
        if let offset {
            instant = Instant(millisecondsSince1970: time.millisecondsSince1970 - offset * 1000)
        } else {
            instant = zone.first(time)
        }
        clock = time.millisecondsSince1970 / 1000
        isMidnight = clock.isMultiple(of: 86_400)
        // No clock has skipped more than two hours there.
        if time.hour < 3, !isMidnight { isMidnight = day.start(in: zone) == instant }
    }

    /// How far its own clock is ahead of UTC, in seconds.
    var offset: Int64 { clock - instant.secondsSince1970 }

    fileprivate var day: CivilDay {
        CivilDay(daysSince1970: Int(LocalDays.quotient(clock, 86_400)))
    }
}

extension Zone {
    /// Returns the end of the day that begins at `date`: that of the zone's day if it is one of the
    /// zone's, else the next midnight of the date's own clock.
    func endOfDay(from date: AutoExportDate) -> Instant {
        guard date.day.start(in: self) == date.instant else {
            return date.instant + .seconds(86_400 - date.clock % 86_400)
        }
        return CivilDay(daysSince1970: date.day.daysSince1970 + 1).start(in: self)
    }
}

/// Parses the text of a date from its front.
private struct Reader {
    private let text: String
    private var rest: Substring.UTF8View

    init(_ text: String) {
        self.text = text
        rest = text[...].utf8
    }

    var isAtEnd: Bool { rest.allSatisfy { $0 == 0x20 } }

    /// The text as a number of seconds or milliseconds; `nil` unless it is 9 digits or more.
    var wholeNumber: Double? {
        text.utf8.count >= 9 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            ? Double(text) : nil
    }

    mutating func date() -> CivilTime? {
        guard let year = number(4...4), take("-"), let month = number(1...2), take("-"),
            let day = number(1...2)
        else { return nil }
        return CivilTime(year: year, month: month, day: day)
    }

    /// Reads the time of day into `time`: `14:30`, `14:30:00.123`, `2:30:00 PM`, `2:30 p. m.`.
    mutating func time(_ time: inout CivilTime) -> Bool {
        guard take("T") || take("t") || take(" "), let hour = number(1...2), take(":"),
            let minute = number(2...2)
        else { return false }
        (time.hour, time.minute) = (hour, minute)
        if take(":") {
            guard let second = number(2...2) else { return false }
            time.second = second
            if take(".") || take(",") {
                let digits = rest.prefix { (0x30...0x39).contains($0) }
                guard !digits.isEmpty, digits.count <= 9 else { return false }
                for (digit, weight) in zip(digits, [100, 10, 1]) {
                    time.millisecond += Int(digit - 0x30) * weight
                }
                rest = rest.dropFirst(digits.count)
            }
        }
        let saved = rest
        while take(" ") {}
        for (half, shift) in [("a", 0), ("A", 0), ("p", 12), ("P", 12)] where take(half) {
            // Spanish has a blank there: `p. m.`
            if take(".") { _ = take(" ") }
            guard take("m") || take("M"), (1...12).contains(hour) else { return false }
            _ = take(".")
            time.hour = hour % 12 + shift
            return true
        }
        rest = saved
        return true
    }

    /// Reads the rest as an offset from UTC into `offset`: `Z`, `-0800`, `+01:00`, or nothing.
    mutating func offset(_ offset: inout Int64?) -> Bool {
        while take(" ") {}
        if rest.isEmpty { return true }
        if take("Z") || take("z") {
            offset = 0
            return isAtEnd
        }
        let isWest = rest.first == UInt8(ascii: "-")
        guard take("-") || take("+"), let hours = number(2...2) else { return false }
        _ = take(":")
        let minutes = rest.isEmpty ? 0 : number(2...2) ?? 60
        let seconds = Int64(hours * 3600 + minutes * 60)
        offset = isWest ? -seconds : seconds
        return hours < 24 && minutes < 60 && isAtEnd
    }

    private mutating func number(_ digits: ClosedRange<Int>) -> Int? {
        var (value, count) = (0, 0)
        while count < digits.upperBound, let byte = rest.first, (0x30...0x39).contains(byte) {
            value = value * 10 + Int(byte - 0x30)
            rest = rest.dropFirst()
            count += 1
        }
        return digits.contains(count) ? value : nil
    }

    private mutating func take(_ character: String) -> Bool {
        guard rest.starts(with: character.utf8) else { return false }
        rest = rest.dropFirst()
        return true
    }
}
