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
    /// - Throws: `WindowError` if the text is not a window.
    public init(_ text: String) throws(WindowError) {
        var words = text.split { $0 == " " || $0 == "\t" }[...]
        var weekdays = NumberSet(0..<7)
        if words.count == 2, let word = words.popFirst() {
            do throws(CalendarError) {
                weekdays = NumberSet(try calendarWeekdays(word))
            } catch {
                throw WindowError(got: text, wanted: "weekdays such as `Mon..Fri` or `Sat,Sun`")
            }
        }
        guard words.count == 1, let ends = words.first?.ends(around: "-") else {
            throw WindowError(got: text, wanted: Window.form)
        }
        guard let start = Window.minute(ends.0), let end = Window.minute(ends.1) else {
            throw WindowError(got: text, wanted: "two times from `00:00` to `24:00`")
        }
        guard start < Window.day, end > 0 else {
            throw WindowError(got: text, wanted: "a start before `24:00` and an end after `00:00`")
        }
        guard start != end else {
            throw WindowError(
                got: text, wanted: "an end other than the start; the whole day is `00:00-24:00`")
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

    static var form: String { "a time of day such as `22:00-06:00` or `Mon..Fri 09:00-17:00`" }

    /// Returns the minute of the day of a text `HH:MM`, 0 to 1440; `nil` for any other text.
    private static func minute(_ text: Substring) -> Int? {
        let digits = Array(text.utf8)
        guard digits.count == 5, digits[2] == UInt8(ascii: ":") else { return nil }
        let places = [digits[0], digits[1], digits[3], digits[4]].map { Int($0) - 0x30 }
        guard places.allSatisfy((0...9).contains), places[2] < 6 else { return nil }
        let minute = (places[0] * 10 + places[1]) * 60 + places[2] * 10 + places[3]
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

/// The reason why a text is not a window.
public struct WindowError: Error, Hashable, Sendable {
    /// The text, truncated to 60 characters.
    public var got: String
    public var wanted: String

    init(got: String, wanted: String) {
        self.got = got.count > 60 ? got.prefix(59) + "…" : got
        self.wanted = wanted
    }
}
