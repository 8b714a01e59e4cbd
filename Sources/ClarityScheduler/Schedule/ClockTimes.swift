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
            if let time = first(ofDay: part(of: range, in: day)) {
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
                if let time = last(ofDay: part(of: range, in: day)) {
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
        let ofWholeDay = hours.count * minutes.count * seconds.count
        var count = 0
        var days = Self.days(of: range)
        while let day = Self.firstDay(of: dates, in: days) {
            let ofDay = part(of: range, in: day)
            count += ofDay.count == Int(aDay) ? ofWholeDay : self.count(ofDay: ofDay)
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

    private func first(ofDay range: Range<Int>) -> Int? {
        var left = range
        while let hour = hours.first(in: left.parts(of: anHour)) {
            var ofHour = range.part(from: hour * anHour, of: anHour)
            while let minute = minutes.first(in: ofHour.parts(of: aMinute)) {
                let ofMinute = ofHour.part(from: minute * aMinute, of: aMinute)
                if let second = seconds.first(in: ofMinute) {
                    return hour * anHour + minute * aMinute + second
                }
                ofHour = ofHour.from((minute + 1) * aMinute)
            }
            left = left.from((hour + 1) * anHour)
        }
        return nil
    }

    private func last(ofDay range: Range<Int>) -> Int? {
        var left = range
        while let hour = hours.last(in: left.parts(of: anHour)) {
            var ofHour = range.part(from: hour * anHour, of: anHour)
            while let minute = minutes.last(in: ofHour.parts(of: aMinute)) {
                let ofMinute = ofHour.part(from: minute * aMinute, of: aMinute)
                if let second = seconds.last(in: ofMinute) {
                    return hour * anHour + minute * aMinute + second
                }
                ofHour = ofHour.before(minute * aMinute)
            }
            left = left.before(hour * anHour)
        }
        return nil
    }

    private func count(ofDay range: Range<Int>) -> Int {
        (0..<24).reduce(0) { count, hour in
            let ofHour = range.part(from: hour * anHour, of: anHour)
            guard hours.contains(hour), !ofHour.isEmpty else { return count }
            if ofHour.count == anHour { return count + minutes.count * seconds.count }
            return (0..<60).reduce(count) { count, minute in
                let ofMinute = ofHour.part(from: minute * aMinute, of: aMinute)
                return minutes.contains(minute) ? count + seconds.count(in: ofMinute) : count
            }
        }
    }
}

private let aDay: Int64 = 86_400_000
private let anHour = 3_600_000
private let aMinute = 60_000

extension Range<Int> {
    /// Returns the part of a range within the `length` numbers from `start` on, relative to
    /// `start`.
    fileprivate func part(from start: Int, of length: Int) -> Range<Int> {
        let clipped = clamped(to: start..<start + length)
        return clipped.lowerBound - start..<clipped.upperBound - start
    }

    /// Returns the hours or minutes that a range touches; the range begins at 0 or later.
    fileprivate func parts(of length: Int) -> Range<Int> {
        isEmpty ? 0..<0 : lowerBound / length..<(upperBound - 1) / length + 1
    }

    fileprivate func from(_ start: Int) -> Range<Int> {
        Swift.max(lowerBound, start)..<Swift.max(upperBound, start)
    }

    fileprivate func before(_ end: Int) -> Range<Int> {
        Swift.min(lowerBound, end)..<Swift.min(upperBound, end)
    }
}

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
