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
