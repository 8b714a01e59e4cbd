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
    /// - Throws: `ExpressionError` with the part at fault. A well-formed expression that names no
    ///   date (30 February) is not an error; see `neverFires`.
    public init(_ text: String) throws(ExpressionError) {
        description = text
        var words = text.split { $0 == " " || $0 == "\t" }[...]
        timeZone = Self.takeZone(from: &words)
        if words.count == 1, let meaning = words.first.flatMap({ Self.names[$0.lowercased()] }) {
            words = meaning.split(separator: " ")[...]
        }
        guard !words.isEmpty else {
            throw ExpressionError(.calendar, got: text, wanted: Self.syntax)
        }
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
        guard words.isEmpty else {
            throw ExpressionError(.calendar, got: text, wanted: Self.syntax)
        }
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
        do throws(ExpressionError) {
            _ = try calendarWeekdays(last)
            return nil
        } catch {
            words.removeLast()
            return last.uppercased() == "UTC" ? "UTC" : String(last)
        }
    }

    /// The expected syntax, for error messages.
    static var syntax: String { "weekdays, a date and a time, such as `Mon..Fri *-*-* 06:00`" }

    private static var names: [String: String] {
        [
            "minutely": "*:*", "hourly": "*:00", "daily": "*-*-*", "weekly": "Mon",
            "monthly": "*-*-01", "quarterly": "*-01,04,07,10-01", "semiannually": "*-01,07-01",
            "semi-annually": "*-01,07-01", "biannually": "*-01,07-01",
            "bi-annually": "*-01,07-01", "yearly": "*-01-01", "annually": "*-01-01",
        ]
    }
}

/// The date of a calendar expression; every day by default.
struct CalendarDate {
    var years: [Int]?
    var months = NumberSet(1...12)
    var days = NumberSet(1...31)
    var countsFromMonthEnd = false

    init() {}

    /// Parses `year-month-day` or `month-day`; the last `-` may be `~`.
    init(_ word: Substring, of text: String) throws(ExpressionError) {
        let parts = word.split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "~" }
        let tilde = word.firstIndex(of: "~")
        // Only the day can count from the end of the month.
        let isLast = tilde.map { !word[$0...].dropFirst().contains { "-~".contains($0) } } ?? true
        guard (2...3).contains(parts.count), isLast else {
            throw ExpressionError(.calendar, got: text, wanted: CalendarExpression.syntax)
        }
        if parts.count == 3 { years = try ExpressionError.Field.year.values(parts[0])?.sorted() }
        if let months = try ExpressionError.Field.month.values(parts[parts.count - 2]) {
            self.months = NumberSet(months)
        }
        countsFromMonthEnd = tilde != nil
        let last = parts[parts.count - 1]
        if let days = try ExpressionError.Field.dayOfMonth.values(last, isFromEnd: tilde != nil) {
            self.days = NumberSet(days)
        }
    }
}

/// The time of day of a calendar expression; midnight by default.
struct CalendarTime {
    var hours = NumberSet([0])
    var minutes = NumberSet([0])
    var seconds = SecondSet.zero
    var isWildcard = false

    init() {}

    /// Parses `hour:minute` or `hour:minute:second`; the second may have a fraction.
    init(_ word: Substring) throws(ExpressionError) {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        // RFC 3339 has a `T` between date and time.
        guard !parts[0].contains("T") else {
            throw ExpressionError(.calendar, got: word, wanted: "a blank between date and time")
        }
        guard parts.count <= 3 else {
            throw ExpressionError(
                .calendar, got: word, wanted: "a time such as `06:00` or `06:00:30`")
        }
        hours = NumberSet(try ExpressionError.Field.hour.values(parts[0]) ?? Array(0...23))
        minutes = NumberSet(try ExpressionError.Field.minute.values(parts[1]) ?? Array(0...59))
        if parts.count == 3 {
            let values = try ExpressionError.Field.second.values(parts[2])
            seconds = SecondSet(milliseconds: values ?? (0...59).map { $0 * 1000 })
        }
        isWildcard = parts[0].first == "*" || parts[1].first == "*"
    }
}

/// Returns the weekdays in a list of names and ranges, 0 for Sunday.
func calendarWeekdays(_ word: Substring) throws(ExpressionError) -> [Int] {
    var list = word
    // systemd.time(7) has `Wed, 17:48` among its examples.
    if list.last == "," { list.removeLast() }
    var days: [Int] = []
    for item in list.split(separator: ",", omittingEmptySubsequences: false) {
        // `Mon-Fri` is the older way to write a range.
        let ends = item.ends(around: "..") ?? item.ends(around: "-") ?? (item, item)
        let first = try weekday(ends.0, of: word)
        let last = try weekday(ends.1, of: word)
        guard first <= last else {
            throw ExpressionError(
                .calendar, .dayOfWeek, got: item,
                wanted: "a range that rises; the week ends with `Sun`")
        }
        days += first...last
    }
    return days.map { $0 % 7 }
}

/// Returns 1 for Monday to 7 for Sunday, from the whole name or its first three letters.
private func weekday(_ text: Substring, of word: Substring) throws(ExpressionError) -> Int {
    let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    let typed = text.lowercased()
    if let index = names.firstIndex(where: { $0 == typed || $0.prefix(3) == typed }) {
        return index + 1
    }
    throw ExpressionError(
        .calendar, .dayOfWeek, got: word,
        wanted: "`Mon` to `Sun`, or one of `minutely`, `hourly`, `daily`, `weekly`, `monthly`, "
            + "`quarterly`, `semiannually` and `yearly` alone")
}
