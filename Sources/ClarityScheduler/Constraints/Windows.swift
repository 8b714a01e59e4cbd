/// The times of day at which a job may run, on one zone's clock.
///
/// A window follows what the clock shows: `01:00-02:30` is open whenever the clock shows such a
/// time. It opens twice when the clock is set back over it, and not at all when the clock skips it.
public struct Windows: Hashable, Sendable {
    public let windows: [Window]
    public let zone: Zone

    /// Creates a set of windows, which is open while any of them is open.
    public init(_ windows: [Window], in zone: Zone) {
        self.windows = windows
        self.zone = zone
    }

    /// Whether any of the windows is open at an instant.
    public func isOpen(at instant: Instant) -> Bool {
        let time = zone.civilTime(at: instant)
        return windows.contains { $0.contains(time) }
    }

    /// Returns the first instant after `instant` at which the set opens or closes; `nil` if it
    /// never does.
    ///
    /// Searches a bit more than a week ahead. After that the clock's days repeat, apart from
    /// changes of the clock, so a set that does not change until then counts as never changing.
    public func nextChange(after instant: Instant) -> Instant? {
        let isOpen = isOpen(at: instant)
        let today = zone.civilTime(at: instant)
        let day = CivilTime.daysSince1970(year: today.year, month: today.month, day: today.day)
        // A clock enters or leaves a window at one of its ends, or when it is put forward or back.
        var candidates = zone.changes(in: instant..<instant + Windows.horizon).map(\.at)
        for offset in 0...Windows.days {
            let date = CivilTime.date(daysSince1970: day + offset)
            // A window that ends at midnight ends at the first minute of the next day.
            for minute in Set(windows.flatMap { [$0.start, $0.end % Window.day] }) {
                candidates += zone.instants(date, minute: minute)
            }
        }
        return candidates.filter { $0 > instant }.sorted().first { self.isOpen(at: $0) != isOpen }
    }

    private static let days = 8
    private static let horizon: Duration = .seconds(Int64(days) * 86_400)
}

extension Windows: CustomStringConvertible {
    /// The windows as the job file writes them.
    public var description: String { windows.map(\.description).joined(separator: ", ") }
}

extension Zone {
    /// Returns the time that the zone's clocks show at an instant.
    func civilTime(at instant: Instant) -> CivilTime {
        CivilTime(instant.millisecondsSince1970 + offset(at: instant).milliseconds)
    }

    /// Returns the instants at which a clock shows a minute of a date, or the change of the clock
    /// if it skips the minute.
    fileprivate func instants(
        _ date: (year: Int, month: Int, day: Int), minute: Int
    ) -> [Instant] {
        let time = CivilTime(
            year: date.year, month: date.month, day: date.day, hour: minute / 60,
            minute: minute % 60)
        return switch resolve(time) {
        case .once(let instant): [instant]
        case .twice(let earlier, let later): [earlier, later]
        case .skipped(let until): [until]
        }
    }
}

/// A span of the day, on every day or on some days of the week.
public struct Window: Hashable, Sendable {
    /// The weekdays on which the window opens, 0 for Sunday.
    let weekdays: NumberSet
    /// The minute of the day at which the window opens, 0 to 1439.
    let start: Int
    /// The minute at which the window closes, 1 to 1440; on the next day unless it is after
    /// `start`.
    let end: Int

    static let day = 24 * 60

    /// Parses `22:00-06:00`, with weekdays in front if the window does not open on all of them:
    /// `Mon..Fri 09:00-17:30`, `Sat,Sun 00:00-24:00`.
    ///
    /// Weekdays are those of systemd.time(7). A window whose end is not after its start ends on the
    /// next day.
    ///
    /// - Throws: `ExpressionError` if the text is not a window.
    public init(_ text: String) throws(ExpressionError) {
        var words = text.split { $0 == " " || $0 == "\t" }[...]
        var weekdays = NumberSet(0..<7)
        if words.count == 2, let word = words.popFirst() {
            do throws(ExpressionError) {
                weekdays = NumberSet(try calendarWeekdays(word))
            } catch {
                throw ExpressionError(
                    .window, got: text, wanted: "weekdays such as `Mon..Fri` or `Sat,Sun`")
            }
        }
        guard words.count == 1, let ends = words.first?.ends(around: "-") else {
            throw ExpressionError(.window, got: text, wanted: Window.syntax)
        }
        guard let start = Window.minute(ends.0), let end = Window.minute(ends.1) else {
            throw ExpressionError(.window, got: text, wanted: "two times from `00:00` to `24:00`")
        }
        guard start < Window.day, end > 0 else {
            throw ExpressionError(
                .window, got: text, wanted: "a start before `24:00` and an end after `00:00`")
        }
        guard start != end else {
            throw ExpressionError(
                .window, got: text,
                wanted: "an end other than the start; the whole day is `00:00-24:00`")
        }
        self.weekdays = weekdays
        self.start = start
        self.end = end
    }

    /// Whether a clock that shows `time` is within the window.
    func contains(_ time: CivilTime) -> Bool {
        let minute = time.hour * 60 + time.minute
        if start < end { return weekdays.contains(time.weekday) && start <= minute && minute < end }
        let yesterday = (time.weekday + 6) % 7
        return weekdays.contains(time.weekday) && start <= minute
            || weekdays.contains(yesterday) && minute < end
    }

    static var syntax: String { "a time of day such as `22:00-06:00` or `Mon..Fri 09:00-17:00`" }

    /// Returns the minute of the day of a text `HH:MM`, 0 to 1440; `nil` for any other text.
    private static func minute(_ text: Substring) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        let digits = [bytes[0], bytes[1], bytes[3], bytes[4]].map { Int($0) - 0x30 }
        guard digits.allSatisfy((0...9).contains), digits[2] < 6 else { return nil }
        let minute = (digits[0] * 10 + digits[1]) * 60 + digits[2] * 10 + digits[3]
        return minute <= day ? minute : nil
    }
}

extension Window: CustomStringConvertible {
    /// The window as the job file writes it.
    public var description: String {
        let names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let days = [1, 2, 3, 4, 5, 6, 0].filter(weekdays.contains).map { names[$0] }
        let times = "\(Window.text(start))-\(Window.text(end))"
        return days.count == 7 ? times : "\(days.joined(separator: ",")) \(times)"
    }

    private static func text(_ minute: Int) -> String {
        "\(padded(minute / 60, 2)):\(padded(minute % 60, 2))"
    }
}
