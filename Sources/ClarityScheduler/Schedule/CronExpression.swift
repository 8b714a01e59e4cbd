/// A cron expression: the minutes that five fields name, as in crontab(5).
///
/// The fields are minute, hour, day of month, month and day of week. Each is `*`, a number, a
/// range `9-17`, either range with a step `*/5` or `9-17/2`, or a list of these joined by `,`.
/// Months and days of the week may be names (`jan`, `MON`); 0 and 7 are Sunday. When day of month
/// and day of week are both restricted, that is neither begins with `*`, either is enough.
/// `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` and `@annually` stand for
/// what they say.
///
/// Where the clock of the zone changes, the rule of Debian's cron(8) holds, for every change
/// however large. Fixed times, where neither minute nor hour begins with `*`, fire once a day that
/// they name: at the change when it skips them (once for all that it skips), and the first time
/// when it repeats them. Wildcards fire whenever a clock on the wall would show a minute they name,
/// so that `*/15 * * * *` stays a quarter of an hour apart across a change.
public struct CronExpression: Hashable, Sendable, CustomStringConvertible {
    /// The expression as it was written.
    public let description: String
    let minutes: CronField
    let hours: CronField
    private let daysOfMonth: CronField
    private let months: CronField
    private let daysOfWeek: CronField

    /// Reads an expression; blanks around it and between its fields do not count.
    ///
    /// - Throws: `CronError` with the field at fault. An expression that is well formed and names
    ///   no date (30 February) is not an error here; see `neverFires`.
    public init(_ text: String) throws(CronError) {
        var fields = text.split { $0 == " " || $0 == "\t" }
        if fields.count == 1, let name = fields.first, name.hasPrefix("@") {
            guard let meaning = CronExpression.names[String(name)] else {
                throw CronError(
                    nil, got: name,
                    wanted: "`@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` "
                        + "or `@annually`")
            }
            fields = meaning.split(separator: " ")
        }
        guard fields.count == 5 else {
            throw CronError(
                nil, got: text,
                wanted: "five fields: minute, hour, day of month, month and day of week")
        }
        description = text
        minutes = try CronField(fields[0], as: .minute)
        hours = try CronField(fields[1], as: .hour)
        daysOfMonth = try CronField(fields[2], as: .dayOfMonth)
        months = try CronField(fields[3], as: .month)
        daysOfWeek = try CronField(fields[4], as: .dayOfWeek)
    }

    /// Whether no date of any year has the day and month that the expression names.
    public var neverFires: Bool {
        if isEitherDayEnough { return false }
        // A date that exists falls on each day of the week in some year, 29 February included, and
        // a day of the week that begins with `*` names Sunday at least.
        return !(1...12).contains { month in
            // 2000 was a leap year.
            months.contains(month)
                && (1...CivilTime.daysIn(month: month, year: 2000)).contains {
                    daysOfMonth.contains($0)
                }
        }
    }

    /// Whether the expression follows elapsed time where the clock changes, as cron(8) has it for
    /// jobs with `*` in hour or minute.
    var isWildcard: Bool { minutes.isWildcard || hours.isWildcard }

    func names(month: Int) -> Bool { months.contains(month) }

    /// Whether the expression names a date of a month that it names; `weekday` is 0 for Sunday.
    func names(day: Int, weekday: Int) -> Bool {
        let ofMonth = daysOfMonth.contains(day)
        let ofWeek = daysOfWeek.contains(weekday)
        return isEitherDayEnough ? ofMonth || ofWeek : ofMonth && ofWeek
    }

    private var isEitherDayEnough: Bool { !daysOfMonth.isWildcard && !daysOfWeek.isWildcard }

    private static var names: [String: String] {
        [
            "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
            "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
            "@annually": "0 0 1 1 *",
        ]
    }
}
