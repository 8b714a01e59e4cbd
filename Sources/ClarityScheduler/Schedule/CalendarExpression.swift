/// A calendar expression as in systemd.time(7), which names times by weekday, date and time of day.
///
/// The form is `[weekdays] [[year-]month-day] [hour:minute[:second]] [zone]`, with at least one of
/// the first three parts. Without weekdays every weekday counts, without a date every day, and
/// without a time midnight. Weekdays are names and ranges of names: `Mon..Fri`, `Mon,Wed`.
///
/// Each number is `*`, a value, a range `9..17`, a value or range with a step `0/15` or `9..17/2`,
/// or a list of these joined by `,`. A value with a step continues to the end of the field. Seconds
/// may have a fraction of whole milliseconds: `12:00:00.5`, `*:*:0/0.25`. `~` before the day counts
/// it from the end of the month: `*-02~01` is the last day of February, `*~07/1` each of a month's
/// last seven days. `minutely`, `hourly`, `daily`, `weekly`, `monthly`, `quarterly`, `semiannually`
/// and `yearly` are shorthands.
///
/// Weekdays and date must both match, unlike in cron. The expression only names its zone; the code
/// that makes a schedule of it looks up `timeZone`.
///
/// When the zone's clock changes, the rule of `CronExpression` applies; an expression is a wildcard
/// if its hour or minute begins with `*`.
public struct CalendarExpression: Hashable, Sendable, CustomStringConvertible {
    /// The expression as it was written.
    public let description: String
    /// The time zone at the end of the expression, such as `Europe/Zurich`; `nil` without one.
    public let timeZone: String?
    let times: ClockTimes

    /// Parses an expression; ignores blanks around it.
    ///
    /// - Throws: `CalendarError` with the part at fault. A well-formed expression that names no
    ///   date (30 February) is not an error; see `neverFires`.
    public init(_ text: String) throws(CalendarError) {
        description = text
        var words = text.split { $0 == " " || $0 == "\t" }[...]
        timeZone = Self.takeZone(from: &words)
        if words.count == 1, let meaning = words.first.flatMap({ Self.names[$0.lowercased()] }) {
            words = meaning.split(separator: " ")[...]
        }
        guard !words.isEmpty else { throw CalendarError(nil, got: text, wanted: Self.form) }
        var weekdays = NumberSet(0..<7)
        var date = CalendarDate()
        var time = CalendarTime()
        if let word = words.first, word.first?.isLetter == true {
            weekdays = try NumberSet(calendarWeekdays(word))
            words.removeFirst()
        }
        if let word = words.first, !word.contains(":"), word.first?.isLetter != true {
            date = try CalendarDate(word, of: text)
            words.removeFirst()
        }
        if let word = words.first, word.contains(":") {
            time = try CalendarTime(word)
            words.removeFirst()
        }
        guard words.isEmpty else { throw CalendarError(nil, got: text, wanted: Self.form) }
        let dates = ClockDates(
            years: date.years, months: date.months, days: date.days,
            countsFromMonthEnd: date.countsFromMonthEnd, weekdays: weekdays)
        times = ClockTimes(
            dates: dates, hours: time.hours, minutes: time.minutes, seconds: time.seconds,
            isWildcard: time.isWildcard)
    }

    /// Whether no date of any year has the day, month and weekday that the expression names.
    public var neverFires: Bool { times.neverFires }

    /// Removes and returns the last word if it follows another word and can only be a zone.
    private static func takeZone(from words: inout ArraySlice<Substring>) -> String? {
        guard words.count > 1, let last = words.last, last.first?.isLetter == true,
            !last.contains(":")
        else { return nil }
        do throws(CalendarError) {
            _ = try calendarWeekdays(last)
            return nil
        } catch {
            words.removeLast()
            return last.uppercased() == "UTC" ? "UTC" : String(last)
        }
    }

    /// The expected form, for error messages.
    static var form: String { "weekdays, a date and a time, such as `Mon..Fri *-*-* 06:00`" }

    private static var names: [String: String] {
        [
            "minutely": "*:*", "hourly": "*:00", "daily": "*-*-*", "weekly": "Mon",
            "monthly": "*-*-01", "quarterly": "*-01,04,07,10-01", "semiannually": "*-01,07-01",
            "semi-annually": "*-01,07-01", "biannually": "*-01,07-01",
            "bi-annually": "*-01,07-01", "yearly": "*-01-01", "annually": "*-01-01",
        ]
    }
}
