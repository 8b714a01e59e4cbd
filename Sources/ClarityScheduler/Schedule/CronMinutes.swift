/// The minutes that an expression names on a clock that never changes, counted from
/// 1970-01-01T00:00 on that clock.
///
/// Each walks the days of its range, months that are not named in one step, so that a minute of
/// the range costs nothing and a year of it some microseconds.
extension CronExpression {
    /// The first named minute of a range.
    func firstMinute(in range: Range<Int64>) -> Int64? {
        var day = range.lowerBound.flooredQuotient(minutesADay)
        while day * minutesADay < range.upperBound {
            switch standing(ofDay: day) {
            case .named:
                let ofDay = part(of: range, in: day)
                if let minute = firstMinute(ofDay: ofDay) {
                    return day * minutesADay + Int64(minute)
                }
                day += 1
            case .dayNotNamed: day += 1
            case .monthNotNamed(_, let next): day = next
            }
        }
        return nil
    }

    /// The last named minute of a range.
    func lastMinute(in range: Range<Int64>) -> Int64? {
        guard !range.isEmpty else { return nil }
        var day = (range.upperBound - 1).flooredQuotient(minutesADay)
        while (day + 1) * minutesADay > range.lowerBound {
            switch standing(ofDay: day) {
            case .named:
                let ofDay = part(of: range, in: day)
                if let minute = lastMinute(ofDay: ofDay) {
                    return day * minutesADay + Int64(minute)
                }
                day -= 1
            case .dayNotNamed: day -= 1
            case .monthNotNamed(let first, _): day = first - 1
            }
        }
        return nil
    }

    /// The number of named minutes in a range.
    func countMinutes(in range: Range<Int64>) -> Int {
        let aDay = minutes.values.nonzeroBitCount * hours.values.nonzeroBitCount
        var count = 0
        var day = range.lowerBound.flooredQuotient(minutesADay)
        while day * minutesADay < range.upperBound {
            switch standing(ofDay: day) {
            case .named:
                let ofDay = part(of: range, in: day)
                count += ofDay.count == minutesADay ? aDay : countMinutes(ofDay: ofDay)
                day += 1
            case .dayNotNamed: day += 1
            case .monthNotNamed(_, let next): day = next
            }
        }
        return count
    }

    private enum Standing {
        case named
        case dayNotNamed
        /// With the first day of the month, and of the next.
        case monthNotNamed(first: Int64, next: Int64)
    }

    private func standing(ofDay day: Int64) -> Standing {
        let date = CivilTime.date(daysSince1970: Int(day))
        guard names(month: date.month) else {
            let first = day - Int64(date.day - 1)
            let length = CivilTime.daysIn(month: date.month, year: date.year)
            return .monthNotNamed(first: first, next: first + Int64(length))
        }
        // 1970-01-01 was a Thursday.
        let weekday = Int(((day + 4) % 7 + 7) % 7)
        return names(day: date.day, weekday: weekday) ? .named : .dayNotNamed
    }

    /// The part of a range that lies in a day, as minutes of the day.
    private func part(of range: Range<Int64>, in day: Int64) -> Range<Int> {
        let start = day * minutesADay
        let clipped = range.clamped(to: start..<start + minutesADay)
        return Int(clipped.lowerBound - start)..<Int(clipped.upperBound - start)
    }

    private func firstMinute(ofDay range: Range<Int>) -> Int? {
        for hour in range.lowerBound / 60..<24 where hours.contains(hour) {
            let left = named(inHour: hour, of: range)
            if left != 0 { return hour * 60 + left.trailingZeroBitCount }
        }
        return nil
    }

    private func lastMinute(ofDay range: Range<Int>) -> Int? {
        for hour in (0..<24).reversed() where hours.contains(hour) {
            let left = named(inHour: hour, of: range)
            if left != 0 { return hour * 60 + 63 - left.leadingZeroBitCount }
        }
        return nil
    }

    private func countMinutes(ofDay range: Range<Int>) -> Int {
        (0..<24).reduce(0) { count, hour in
            hours.contains(hour)
                ? count + named(inHour: hour, of: range).nonzeroBitCount : count
        }
    }

    /// The named minutes of an hour that lie in a range of the day's minutes, as bits.
    private func named(inHour hour: Int, of range: Range<Int>) -> UInt64 {
        let lower = UInt64(min(max(range.lowerBound - hour * 60, 0), 60))
        let upper = UInt64(min(max(range.upperBound - hour * 60, 0), 60))
        let below = { (end: UInt64) in (1 as UInt64) << end - 1 }
        return minutes.values & below(upper) & ~below(lower)
    }
}

private let minutesADay: Int64 = 1440
