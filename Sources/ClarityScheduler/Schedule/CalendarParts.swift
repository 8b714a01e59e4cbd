/// The date of a calendar expression; every day by default.
struct CalendarDate {
    var years: [Int]?
    var months = NumberSet(1...12)
    var days = NumberSet(1...31)
    var countsFromMonthEnd = false

    init() {}

    /// Parses `year-month-day` or `month-day`; the last `-` may be `~`.
    init(_ word: Substring, of text: String) throws(CalendarError) {
        let parts = word.split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "~" }
        let tilde = word.firstIndex(of: "~")
        // Only the day can count from the end of the month.
        let isLast = tilde.map { !word[$0...].dropFirst().contains { "-~".contains($0) } } ?? true
        guard (2...3).contains(parts.count), isLast else {
            throw CalendarError(nil, got: text, wanted: CalendarExpression.form)
        }
        if parts.count == 3 { years = try CalendarError.Field.year.values(parts[0])?.sorted() }
        if let months = try CalendarError.Field.month.values(parts[parts.count - 2]) {
            self.months = NumberSet(months)
        }
        countsFromMonthEnd = tilde != nil
        let last = parts[parts.count - 1]
        if let days = try CalendarError.Field.dayOfMonth.values(last, isFromEnd: tilde != nil) {
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
    init(_ word: Substring) throws(CalendarError) {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        // RFC 3339 has a `T` between date and time.
        guard !parts[0].contains("T") else {
            throw CalendarError(nil, got: word, wanted: "a blank between date and time")
        }
        guard parts.count <= 3 else {
            throw CalendarError(nil, got: word, wanted: "a time such as `06:00` or `06:00:30`")
        }
        hours = NumberSet(try CalendarError.Field.hour.values(parts[0]) ?? Array(0...23))
        minutes = NumberSet(try CalendarError.Field.minute.values(parts[1]) ?? Array(0...59))
        if parts.count == 3 {
            let values = try CalendarError.Field.second.values(parts[2])
            seconds = SecondSet(milliseconds: values ?? (0...59).map { $0 * 1000 })
        }
        isWildcard = parts[0].first == "*" || parts[1].first == "*"
    }
}

/// Returns the weekdays in a list of names and ranges, 0 for Sunday.
func calendarWeekdays(_ word: Substring) throws(CalendarError) -> [Int] {
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
            throw CalendarError(
                .dayOfWeek, got: item, wanted: "a range that rises; the week ends with `Sun`")
        }
        days += first...last
    }
    return days.map { $0 % 7 }
}

/// Returns 1 for Monday to 7 for Sunday, from the whole name or its first three letters.
private func weekday(_ text: Substring, of word: Substring) throws(CalendarError) -> Int {
    let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    let typed = text.lowercased()
    if let index = names.firstIndex(where: { $0 == typed || $0.prefix(3) == typed }) {
        return index + 1
    }
    throw CalendarError(
        .dayOfWeek, got: word,
        wanted: "`Mon` to `Sun`, or one of `minutely`, `hourly`, `daily`, `weekly`, `monthly`, "
            + "`quarterly`, `semiannually` and `yearly` alone")
}
