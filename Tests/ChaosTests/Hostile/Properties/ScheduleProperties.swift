import ClarityScheduler
import Platform

/// Checks that an expression of a job file names ascending instants or is refused, and that the
/// search for the next instant ends.
enum ScheduleProperties {
    static func makeCheck() throws -> FuzzTarget.Check {
        let zones = try KeptZones().zones
        return { text in try check(text, zones) }
    }

    /// Checks a text. Its first byte selects what the text is, the second the zone, and eight more
    /// the instant.
    private static func check(_ bytes: UnsafeBufferPointer<UInt8>, _ zones: [Zone]) throws {
        guard bytes.count > 10 else { return }
        let zone = zones[Int(bytes[1]) % zones.count]
        let drawn = bytes[2..<10].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let text = String(decoding: bytes[10...], as: UTF8.self)
        // Most are within three centuries around 1970, and some at the limits of what can be
        // represented.
        let within = Int64(truncatingIfNeeded: drawn) % 4_733_510_400_000
        let ends: [Int64] = [.min, .max, -62_167_219_200_000, 253_402_300_799_999]
        let instant = Instant(
            millisecondsSince1970: drawn % 16 == 0 ? ends[Int(drawn >> 4 % 4)] : within)
        switch bytes[0] % 6 {
        case 0: try cron(text, zone, from: instant)
        case 1: try calendar(text, zone, from: instant)
        case 2: try duration(text, from: instant)
        case 3: try window(text, zone, from: instant)
        case 4: try zoneFile(Array(bytes[10...]), from: instant)
        default: try moment(text)
        }
    }

    private static func cron(_ text: String, _ zone: Zone, from instant: Instant) throws {
        let expression: CronExpression
        do throws(ExpressionError) {
            expression = try CronExpression(text)
        } catch {
            return
        }
        let schedule = Schedule.cron(expression, zone)
        try require(
            expression.neverFires == schedule.neverFires || schedule.neverFires,
            "an expression that never fires has an occurrence")
        try check(schedule, from: instant)
    }

    private static func calendar(_ text: String, _ zone: Zone, from instant: Instant) throws {
        let expression: CalendarExpression
        do throws(ExpressionError) {
            expression = try CalendarExpression(text)
        } catch {
            return
        }
        try check(Schedule.calendar(expression, zone), from: instant)
    }

    private static func duration(_ text: String, from instant: Instant) throws {
        guard let span = Duration(text: text) else { return }
        try require(span >= .zero && span <= .seconds(100 * 366 * 86_400), "a span out of bounds")
        try require(Duration(text: span.text.filter { $0 != " " }) == span, "a span read otherwise")
        guard span >= .milliseconds(1), !instant.isExtreme else { return }
        try check(.every(span), from: instant)
        try check(.every(span, phase: .seconds(1)), from: instant)
    }

    private static func window(_ text: String, _ zone: Zone, from instant: Instant) throws {
        let window: Window
        do throws(ExpressionError) {
            window = try Window(text)
        } catch {
            return try require(error.got.count <= 60, "a message without end")
        }
        try require(try Window(window.description) == window, "a window that is read otherwise")
        guard !instant.isExtreme else { return }
        let windows = Windows([window], in: zone)
        var place = instant
        for _ in 0..<6 {
            guard let next = windows.nextChange(after: place) else { return }
            try require(next > place, "a change that is not later")
            try require(
                windows.isOpen(at: next) != windows.isOpen(at: place), "a change of nothing")
            try require(
                windows.isOpen(at: next - .milliseconds(1)) == windows.isOpen(at: place),
                "a change that comes late")
            place = next
        }
    }

    private static func zoneFile(_ bytes: [UInt8], from instant: Instant) throws {
        let zone: Zone
        do throws(ZoneError) {
            zone = try Zone(identifier: "Made/Up", tzif: bytes)
        } catch {
            return
        }
        guard !instant.isExtreme else { return }
        try require(
            abs(zone.offset(at: instant).milliseconds) < 30 * 3_600_000, "an offset of days")
        try check(.cron(try CronExpression("30 2 * * *"), zone), from: instant)
    }

    /// Checks an instant in the form of RFC 3339.
    private static func moment(_ text: String) throws {
        guard let instant = Instant(rfc3339: text) else { return }
        let shown = "\(instant)"
        guard shown.utf8.first != UInt8(ascii: "-"), shown.utf8.count <= 24 else { return }
        try require(Instant(rfc3339: shown) == instant, "an instant that is read otherwise")
    }

    /// Checks a schedule: the next occurrence is later, is the first one that is due by then, and
    /// is among the latest.
    static func check(_ schedule: Schedule, from start: Instant) throws {
        var place = start
        for _ in 0..<5 {
            guard let next = schedule.next(after: place, anchor: start) else { return }
            try require(next > place, "the next occurrence is not later")
            // A search that starts just before the occurrence finds the same one.
            let before = next - .milliseconds(1)
            if before > place {
                try require(
                    schedule.next(after: before, anchor: start) == next, "another occurrence")
            }
            let due = schedule.due(after: place, through: next, anchor: start)
            try require(
                due == DueOccurrences(first: next, latest: next, count: 1), "not due when it is")
            try require(
                schedule.latest(2, after: place, through: next, anchor: start) == [next],
                "not the latest when it is")
            place = next
        }
        let all = schedule.due(after: start, through: place, anchor: start)
        try require(all?.count == 5 && all?.latest == place, "due by another count")
    }
}

extension Instant {
    /// Whether other instants around this one cannot be represented.
    fileprivate var isExtreme: Bool {
        !(-62_167_219_200_000...253_402_300_799_999).contains(millisecondsSince1970)
    }
}
