/// A cron expression as in crontab(5): the minutes that five fields name.
///
/// The fields are minute, hour, day of month, month and day of week. Each is `*`, a number, a range
/// `9-17`, either range with a step `*/5` or `9-17/2`, or a list of these joined by `,`. A step
/// larger than its range names only the first value: `*/90` is minute 0, as in cron. Months and
/// days of the week may be names (`jan`, `MON`); 0 and 7 are Sunday. If day of month and day of
/// week are both restricted, so that neither begins with `*`, a match of either is enough.
/// `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` and `@annually` are
/// shorthands.
///
/// When the zone's clock changes, the rule of Debian's cron(8) applies, however large the change
/// is. Fixed times, where neither minute nor hour begins with `*`, fire once on each day that they
/// name: at the change if the clock skips them (once for all that it skips), and the first time if
/// the clock repeats them. Wildcards fire whenever a wall clock would show a minute that they name,
/// so that `*/15 * * * *` stays a quarter of an hour apart across a change.
public struct CronExpression: Hashable, Sendable, CustomStringConvertible {
    /// The expression as it was written.
    public let description: String
    /// An error for a step of minute, hour or month that is larger than its range and so names only
    /// the first value, most likely by mistake. Steps of days are not checked: `*/100,1-7 * mon` is
    /// a way to say that both days must match.
    public let overstep: ExpressionError?
    let times: ClockTimes

    /// Parses an expression; ignores blanks around it and between its fields.
    ///
    /// - Throws: `ExpressionError` with the field at fault. A well-formed expression that names no date
    ///   (30 February) is not an error; see `neverFires`.
    public init(_ text: String) throws(ExpressionError) {
        var fields = text.split { $0 == " " || $0 == "\t" }
        if fields.count == 1, let name = fields.first, name.hasPrefix("@") {
            guard let meaning = CronExpression.names[String(name)] else {
                throw ExpressionError(
                    .cron, got: name,
                    wanted: "`@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` "
                        + "or `@annually`")
            }
            fields = meaning.split(separator: " ")
        }
        guard fields.count == 5 else {
            throw ExpressionError(
                .cron, got: text,
                wanted: "five fields: minute, hour, day of month, month and day of week")
        }
        description = text
        let minutes = try CronField(fields[0], as: .minute)
        let hours = try CronField(fields[1], as: .hour)
        let daysOfMonth = try CronField(fields[2], as: .dayOfMonth)
        let months = try CronField(fields[3], as: .month)
        let daysOfWeek = try CronField(fields[4], as: .dayOfWeek)
        overstep = minutes.overstep ?? hours.overstep ?? months.overstep
        let dates = ClockDates(
            months: months.values, days: daysOfMonth.values, weekdays: daysOfWeek.values,
            isEitherDayEnough: !daysOfMonth.isWildcard && !daysOfWeek.isWildcard)
        times = ClockTimes(
            dates: dates, hours: hours.values, minutes: minutes.values, seconds: .zero,
            isWildcard: minutes.isWildcard || hours.isWildcard)
    }

    /// Whether no date of any year has the day and month that the expression names.
    public var neverFires: Bool { times.neverFires }

    private static var names: [String: String] {
        [
            "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
            "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
            "@annually": "0 0 1 1 *",
        ]
    }
}

/// The values that one field of a cron expression names.
struct CronField: Hashable, Sendable {
    /// Sunday is 0.
    private(set) var values = NumberSet()
    /// Whether the text begins with `*`. crontab(5) and cron(8) look at nothing else to tell a
    /// wildcard from a restriction: `*/2` is a wildcard, `0-59` is not.
    let isWildcard: Bool
    /// An error for the first step that is larger than its range; `nil` without one.
    private(set) var overstep: ExpressionError?

    /// Parses a field: a list of values and ranges, each range with an optional step.
    init(_ text: Substring, as field: ExpressionError.Field) throws(ExpressionError) {
        isWildcard = text.first == "*"
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            if item.isEmpty {
                throw ExpressionError(
                    .cron, field, got: text, wanted: "a value on each side of every `,`")
            }
            let parts = item.split(
                separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            let range = try field.range(parts[0], in: item)
            var step = 1
            if parts.count == 2 {
                if range.isSingle {
                    let rest = "\(parts[0])-\(field.bounds.upperBound)/\(parts[1])"
                    throw ExpressionError(
                        .cron, field, got: item,
                        wanted: "a range before the `/`, such as `\(rest)`")
                }
                guard let number = decimalNumber(parts[1], digits: 4), number > 0 else {
                    throw ExpressionError(.cron, field, got: item, wanted: "a step of 1 to 9999")
                }
                step = number
                let room = range.last - range.first
                if overstep == nil, room > 0, number > room {
                    overstep = ExpressionError(
                        .cron, field, got: item, wanted: "a step of 1 to \(room)")
                }
            }
            for value in stride(from: range.first, through: range.last, by: step) {
                values.insert(field == .dayOfWeek ? value % 7 : value)
            }
        }
    }
}

extension ExpressionError.Field {
    fileprivate typealias Range = (first: Int, last: Int, isSingle: Bool)

    fileprivate func range(
        _ text: Substring, in item: Substring
    ) throws(ExpressionError) -> Range {
        if text == "*" { return (bounds.lowerBound, bounds.upperBound, false) }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try value(ends[0], in: item)
        guard ends.count == 2 else { return (first, first, true) }
        var last = try value(ends[1], in: item)
        // Sunday can end a range as well as begin one: `sat-sun`.
        if self == .dayOfWeek, last == 0, first > 0 { last = 7 }
        guard first <= last else {
            throw ExpressionError(
                .cron, self, got: item,
                wanted: "a range that rises, such as `\(ends[1])-\(ends[0])`")
        }
        return (first, last, false)
    }

    private func value(_ text: Substring, in item: Substring) throws(ExpressionError) -> Int {
        // 7 is Sunday too, but `*` does not need it.
        let accepted = self == .dayOfWeek ? 0...7 : bounds
        if let number = decimalNumber(text, digits: 3), accepted.contains(number) { return number }
        if let index = names.firstIndex(of: text.lowercased()) {
            return index + bounds.lowerBound
        }
        var wanted = "\(accepted.lowerBound) to \(accepted.upperBound)"
        if let first = names.first, let last = names.last {
            wanted += " or `\(first)` to `\(last)`"
        }
        throw ExpressionError(.cron, self, got: item, wanted: wanted)
    }

    private var names: [String] {
        switch self {
        case .minute, .hour, .dayOfMonth, .year, .second: []
        case .month:
            [
                "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov",
                "dec",
            ]
        case .dayOfWeek: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
        }
    }
}
