/// The times that an expression names on a clock that never changes, in milliseconds from
/// 1970-01-01T00:00:00 on that clock.
///
/// Cron and calendar expressions both convert to this type. Each method walks the days of its range
/// and passes years and months that are not named in one step. A second of the range therefore
/// costs nothing, and a year some microseconds.
struct ClockTimes: Hashable, Sendable {
    let dates: ClockDates
    let hours: NumberSet
    let minutes: NumberSet
    let seconds: SecondSet
    /// Whether the times follow elapsed time when a zone's clock changes; otherwise they are fixed.
    let isWildcard: Bool
    /// Whether the expression names no date of any year.
    let neverFires: Bool

    init(
        dates: ClockDates, hours: NumberSet, minutes: NumberSet, seconds: SecondSet,
        isWildcard: Bool
    ) {
        self.dates = dates
        self.hours = hours
        self.minutes = minutes
        self.seconds = seconds
        self.isWildcard = isWildcard
        neverFires = Self.firstDay(of: dates, in: dates.search(from: 0)) == nil
    }

    /// Returns the first named time in a range.
    func first(in range: Range<Int64>) -> Int64? {
        var days = Self.days(of: range)
        while let day = Self.firstDay(of: dates, in: days) {
            let ofDay = part(of: range, in: day)
            if let time = first(from: ofDay.lowerBound), time < ofDay.upperBound {
                return day * aDay + Int64(time)
            }
            days = day + 1..<days.upperBound
        }
        return nil
    }

    /// Returns the last named time in a range.
    func last(in range: Range<Int64>) -> Int64? {
        let days = Self.days(of: range)
        var day = days.upperBound - 1
        while day >= days.lowerBound {
            switch dates.state(ofDay: day) {
            case .named:
                let ofDay = part(of: range, in: day)
                if let time = last(before: ofDay.upperBound), time >= ofDay.lowerBound {
                    return day * aDay + Int64(time)
                }
                day -= 1
            case .notNamed(let before, _): day = before
            }
        }
        return nil
    }

    /// Returns the number of named times in a range.
    func count(in range: Range<Int64>) -> Int {
        var count = 0
        var days = Self.days(of: range)
        while let day = Self.firstDay(of: dates, in: days) {
            let ofDay = part(of: range, in: day)
            count += self.count(before: ofDay.upperBound) - self.count(before: ofDay.lowerBound)
            days = day + 1..<days.upperBound
        }
        return count
    }

    // MARK: Days

    private static func firstDay(of dates: ClockDates, in days: Range<Int64>) -> Int64? {
        var day = days.lowerBound
        while day < days.upperBound {
            switch dates.state(ofDay: day) {
            case .named: return day
            case .notNamed(_, let after): day = after
            }
        }
        return nil
    }

    /// Returns the days that a range touches.
    private static func days(of range: Range<Int64>) -> Range<Int64> {
        guard !range.isEmpty else { return 0..<0 }
        let last = (range.upperBound - 1).flooredQuotient(aDay)
        return range.lowerBound.flooredQuotient(aDay)..<last + 1
    }

    // MARK: Times of a day

    /// Returns the part of a range that lies in a day, counted from the start of the day.
    private func part(of range: Range<Int64>, in day: Int64) -> Range<Int> {
        let start = day * aDay
        let clipped = range.clamped(to: start..<start + aDay)
        return Int(clipped.lowerBound - start)..<Int(clipped.upperBound - start)
    }

    /// Returns the first named time of a day from `start` on.
    private func first(from start: Int) -> Int? {
        let (hour, minute, rest) = parts(of: start)
        if hours.contains(hour) {
            if minutes.contains(minute), let second = seconds.first(in: rest..<aMinute) {
                return time(hour, minute, second)
            }
            if let minute = minutes.first(in: minute + 1..<60) {
                return time(hour, minute, seconds.first(in: 0..<aMinute))
            }
        }
        guard let hour = hours.first(in: hour + 1..<24) else { return nil }
        return time(hour, minutes.first(in: 0..<60), seconds.first(in: 0..<aMinute))
    }

    /// Returns the last named time of a day before `end`.
    private func last(before end: Int) -> Int? {
        let (hour, minute, rest) = parts(of: end)
        if hours.contains(hour) {
            if minutes.contains(minute), let second = seconds.last(in: 0..<rest) {
                return time(hour, minute, second)
            }
            if let minute = minutes.last(in: 0..<minute) {
                return time(hour, minute, seconds.last(in: 0..<aMinute))
            }
        }
        guard let hour = hours.last(in: 0..<hour) else { return nil }
        return time(hour, minutes.last(in: 0..<60), seconds.last(in: 0..<aMinute))
    }

    /// Returns the number of named times of a day before `end`.
    private func count(before end: Int) -> Int {
        let (hour, minute, rest) = parts(of: end)
        var count = hours.count(in: 0..<hour) * minutes.count * seconds.count
        guard hours.contains(hour) else { return count }
        count += minutes.count(in: 0..<minute) * seconds.count
        return minutes.contains(minute) ? count + seconds.count(in: 0..<rest) : count
    }

    /// Returns the hour, the minute and the milliseconds of a time of day; the end of a day is hour
    /// 24.
    private func parts(of time: Int) -> (hour: Int, minute: Int, rest: Int) {
        (time / anHour, time / aMinute % 60, time % aMinute)
    }

    private func time(_ hour: Int, _ minute: Int?, _ second: Int?) -> Int? {
        guard let minute, let second else { return nil }
        return hour * anHour + minute * aMinute + second
    }
}

private let aDay: Int64 = 86_400_000
private let anHour = 3_600_000
private let aMinute = 60_000

/// The dates that an expression names. Days are counted from 1970-01-01.
struct ClockDates: Hashable, Sendable {
    /// The years in ascending order; `nil` for every year.
    var years: [Int]?
    /// 1 to 12.
    var months: NumberSet
    /// 1 to 31.
    var days: NumberSet
    /// Whether `days` count from the end of the month, whose last day is 1.
    var countsFromMonthEnd = false
    /// 0 for Sunday to 6 for Saturday.
    var weekdays: NumberSet
    /// Whether a match of either the day of the month or the weekday is enough, as in cron(8) when
    /// both are restricted.
    var isEitherDayEnough = false

    /// Whether the expression names a day.
    enum State {
        case named
        /// The expression does not name the day; `before` and `after` are the nearest days that it
        /// may name.
        case notNamed(before: Int64, after: Int64)
    }

    func state(ofDay day: Int64) -> State {
        let date = CivilTime.date(daysSince1970: Int(day))
        if let years {
            let next = years.first { $0 >= date.year }
            guard next == date.year else {
                let previous = years.last { $0 < date.year }
                return .notNamed(
                    before: previous.map { Self.firstDay(of: $0 + 1) - 1 } ?? Self.noDay.before,
                    after: next.map { Self.firstDay(of: $0) } ?? Self.noDay.after)
            }
        }
        let length = CivilTime.daysIn(month: date.month, year: date.year)
        guard months.contains(date.month) else {
            let first = day - Int64(date.day - 1)
            return .notNamed(before: first - 1, after: first + Int64(length))
        }
        // 1970-01-01 was a Thursday.
        let weekday = Int(((day + 4) % 7 + 7) % 7)
        let number = countsFromMonthEnd ? length - date.day + 1 : date.day
        return names(day: number, weekday: weekday)
            ? .named : .notNamed(before: day - 1, after: day + 1)
    }

    /// Whether the expression names a day of a named month; `day` counts like `days`.
    func names(day: Int, weekday: Int) -> Bool {
        let ofMonth = days.contains(day)
        let ofWeek = weekdays.contains(weekday)
        return isEitherDayEnough ? ofMonth || ofWeek : ofMonth && ofWeek
    }

    /// Returns the days in which there is a named one if there is any: up to the last named year,
    /// or 40 years from `day` on if the expression names no years. That is the longest wait for a
    /// date that exists (29 February on a given weekday, across the year 2100).
    func search(from day: Int64) -> Range<Int64> {
        guard let years else { return day..<day + 40 * 366 }
        return day..<max(day, years.last.map { Self.firstDay(of: $0 + 1) } ?? day)
    }

    /// Days before and after every possible `Instant`.
    private static let noDay: (before: Int64, after: Int64) = (-1 << 40, 1 << 40)

    private static func firstDay(of year: Int) -> Int64 {
        Int64(CivilTime.daysSince1970(year: year, month: 1, day: 1))
    }
}

/// The occurrences of an expression's times on the clock of a zone.
///
/// Each method walks the spans of constant offset, within which the clock runs evenly. At a change,
/// a fixed time depends on the furthest time that the clock has shown before. Times that the clock
/// skips from there fire at the change, and times that it repeats do not fire again.
struct ClockOccurrences {
    let times: ClockTimes
    let zone: Zone

    /// Returns the first occurrence in a range of milliseconds since 1970.
    func first(in window: Range<Int64>) -> Int64? {
        var next = firstSpan(of: window)
        while let span = next {
            let part = part(of: span, in: window)
            if let change = part.change { return change }
            if let time = times.first(in: part.times) { return time - span.offset }
            next = self.span(after: span, in: window)
        }
        return nil
    }

    /// Returns the last occurrence in a range of milliseconds since 1970.
    func last(in window: Range<Int64>) -> Int64? {
        var previous = window.isEmpty ? nil : span(at: window.upperBound - 1)
        while let span = previous {
            let part = part(of: span, in: window)
            if let time = times.last(in: part.times) { return time - span.offset }
            if let change = part.change { return change }
            previous = span.start > window.lowerBound ? self.span(at: span.start - 1) : nil
        }
        return nil
    }

    /// Returns the number of occurrences in a range of milliseconds since 1970.
    func count(in window: Range<Int64>) -> Int {
        var count = 0
        var next = firstSpan(of: window)
        while let span = next {
            let part = part(of: span, in: window)
            count += times.count(in: part.times) + (part.change == nil ? 0 : 1)
            next = self.span(after: span, in: window)
        }
        return count
    }

    private func firstSpan(of window: Range<Int64>) -> Span? {
        window.isEmpty ? nil : span(at: window.lowerBound)
    }

    private func span(after span: Span, in window: Range<Int64>) -> Span? {
        span.end < window.upperBound ? self.span(at: span.end) : nil
    }

    /// A span of constant offset, in milliseconds.
    private struct Span {
        var start: Int64
        var end: Int64
        var offset: Int64
    }

    private func span(at instant: Int64) -> Span {
        let span = zone.span(at: instant.flooredQuotient(1000))
        return Span(
            start: max(span.start, Self.bounds.lowerBound) * 1000,
            end: min(span.end, Self.bounds.upperBound) * 1000, offset: span.offset * 1000)
    }

    /// The seconds to which an offset can be added in milliseconds without overflow; far beyond
    /// every window.
    private static var bounds: ClosedRange<Int64> {
        let most = max(-Zone.offsetSeconds.lowerBound, Zone.offsetSeconds.upperBound)
        return Zone.earliest + most...Zone.latest - most
    }

    /// The occurrences within a span of constant offset.
    private struct Part {
        /// The span's start, if fixed times that the clock skipped fire there; `nil` otherwise.
        var change: Int64?
        /// The range of the clock's time in which the named times fire.
        var times: Range<Int64>
    }

    private func part(of span: Span, in window: Range<Int64>) -> Part {
        var lower = max(window.lowerBound, span.start) + span.offset
        let upper = min(window.upperBound, span.end) + span.offset
        guard !times.isWildcard else { return Part(times: lower..<upper) }
        let reached = furthest(before: span)
        lower = max(lower, reached)
        let start = span.start + span.offset
        var change: Int64?
        if window.contains(span.start), reached < start, times.first(in: reached..<start) != nil {
            change = span.start
            // A time that is due at the change itself is the same occurrence.
            if lower == start { lower += 1 }
        }
        return Part(change: change, times: lower..<max(lower, upper))
    }

    /// Returns the furthest time that the clock showed before a span; the span's own start if it is
    /// the first span.
    private func furthest(before span: Span) -> Int64 {
        // A span that ended longer ago than the largest difference of two offsets cannot have shown
        // a later time.
        let reach = (Zone.offsetSeconds.upperBound - Zone.offsetSeconds.lowerBound) * 1000
        let earliest = Self.bounds.lowerBound * 1000
        var result: Int64?
        var start = span.start
        while start > earliest, start > span.start - reach {
            let earlier = self.span(at: start - 1)
            result = max(result ?? .min, earlier.end + earlier.offset)
            start = earlier.start
        }
        return result ?? span.start + span.offset
    }
}
