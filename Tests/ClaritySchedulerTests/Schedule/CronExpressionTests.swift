import Testing

@testable import ClarityScheduler

struct CronExpressionTests {
    @Test(arguments: [
        "* * * * *", "0 6,18 * * *", "*/15 9-17/2 1-7 jan-mar,DEC mon-fri", "  5 4 * * sun\t",
        "59 23 31 12 7", "@daily",
    ])
    func `an expression keeps its text`(text: String) throws {
        let expression = try CronExpression(text)

        #expect(expression.description == text)
    }

    @Test(arguments: ["*", "*/1", "0-59", "0-59/1"])
    func `a star names every minute`(field: String) throws {
        let values = try CronExpression("\(field) * * * *").times.minutes

        #expect((0..<64).filter { values.contains($0) } == Array(0...59))
    }

    @Test(arguments: [
        ("0", [0]), ("59", [59]), ("05", [5]), ("1,3,2,3", [1, 2, 3]), ("7-9", [7, 8, 9]),
        ("5-5", [5]), ("*/20", [0, 20, 40]), ("*/59", [0, 59]), ("10-30/10", [10, 20, 30]),
        ("10-29/10", [10, 20]), ("0-4/2,50-52,59", [0, 2, 4, 50, 51, 52, 59]),
        ("*/30,1", [0, 1, 30]), ("*/60", [0]), ("*/90", [0]), ("*/1440,7", [0, 7]),
        ("10-30/99", [10]),
    ])
    func `lists, ranges and steps name minutes`(field: String, minutes: [Int]) throws {
        let values = try CronExpression("\(field) * * * *").times.minutes

        #expect((0..<60).filter { values.contains($0) } == minutes)
    }

    @Test func `a step beyond the field names the first value of each field`() throws {
        let beyond = try CronExpression("*/90 */24 */32 */12 */7")

        #expect(try beyond.times.dates.months == CronExpression("0 0 1 1 0").times.dates.months)
        #expect(try beyond.times.dates.days == CronExpression("0 0 1 1 0").times.dates.days)
        #expect(try beyond.times.hours == CronExpression("0 0 1 1 0").times.hours)
        #expect(beyond.times.isWildcard)
    }

    @Test(arguments: [
        ("sun", [0]), ("0", [0]), ("7", [0]), ("SAT", [6]), ("mon-fri", [1, 2, 3, 4, 5]),
        ("fri-sun", [0, 5, 6]), ("5-7", [0, 5, 6]), ("0-7", [0, 1, 2, 3, 4, 5, 6]),
        ("sun-tue", [0, 1, 2]), ("sun-sun", [0]), ("*/2", [0, 2, 4, 6]), ("Tue,thu", [2, 4]),
    ])
    func `days of the week have numbers and names`(field: String, days: [Int]) throws {
        let expression = try CronExpression("0 0 * * \(field)")

        #expect((0..<7).filter { expression.times.dates.names(day: 1, weekday: $0) } == days)
    }

    @Test func `months have numbers and names`() throws {
        let expression = try CronExpression("0 0 1 2,apr-JUN,Dec *")

        #expect((1...12).filter { expression.times.dates.months.contains($0) } == [2, 4, 5, 6, 12])
    }

    @Test(arguments: [
        ("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"), ("@monthly", "0 0 1 * *"), ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
    ])
    func `a name stands for five fields`(name: String, fields: String) throws {
        let named = Schedule.cron(try CronExpression(name), .utc)
        let written = Schedule.cron(try CronExpression(fields), .utc)
        let start = try Instant("2026-01-01T00:00:01Z")

        var (a, b) = (start, start)
        for _ in 0..<30 {
            a = try #require(named.next(after: a, anchor: start))
            b = try #require(written.next(after: b, anchor: start))
            #expect(a == b)
        }

        #expect(try CronExpression(name).times == CronExpression(fields).times)
    }

    @Test(arguments: [
        // One day field is restricted: only that one counts.
        ("13 * *", 13, 1, true), ("13 * *", 12, 5, false),
        ("* * fri", 12, 5, true), ("* * fri", 13, 1, false),
        // Both day fields are restricted: one match is enough.
        ("13 * fri", 13, 1, true), ("13 * fri", 12, 5, true), ("13 * fri", 12, 1, false),
        ("1-31 * fri", 12, 1, true),
        // A field that begins with `*` is not restricted: both must match.
        ("*/2 * fri", 13, 5, true), ("*/2 * fri", 12, 5, false), ("*/2 * fri", 13, 1, false),
        ("13 * */2", 13, 4, true), ("13 * */2", 13, 5, false), ("13 * */2", 12, 4, false),
        ("*/100,2-7 * mon", 7, 1, true), ("*/100,2-7 * mon", 8, 1, false),
        ("*/100,2-7 * mon", 7, 2, false),
        ("1-7 * */7", 7, 0, true), ("1-7 * */7", 8, 0, false), ("1-7 * */7", 7, 1, false),
    ])
    func `either day is enough when both are restricted`(
        days: String, day: Int, weekday: Int, isNamed: Bool
    ) throws {
        let expression = try CronExpression("0 0 \(days)")

        #expect(expression.times.dates.names(day: day, weekday: weekday) == isNamed)
    }

    @Test(arguments: [
        ("* 1 * * *", true), ("1 * * * *", true), ("*/5 1 * * *", true), ("1 */2 * * *", true),
        ("*,1 1 * * *", true), ("0-59 1 * * *", false), ("1,*/5 1 * * *", false),
        ("1 1 * * *", false), ("@hourly", true), ("@daily", false),
    ])
    func `a star at the start of minute or hour makes a wildcard`(
        text: String, isWildcard: Bool
    ) throws {
        #expect(try CronExpression(text).times.isWildcard == isWildcard)
    }

    @Test(arguments: [
        ("0 0 30 2 *", true), ("0 0 30,31 feb *", true), ("0 0 31 2,4,6,9,11 *", true),
        ("0 0 30 2 */2", true), ("0 0 29 2 *", false), ("0 0 31 2-4 *", false),
        ("0 0 30 2 mon", false), ("0 0 29 2 */6", false), ("* * * * *", false),
    ])
    func `an expression without a date never fires`(text: String, neverFires: Bool) throws {
        let expression = try CronExpression(text)
        let start = try Instant("2026-11-20T06:00:00Z")

        let next = Schedule.cron(expression, .utc).next(after: start, anchor: start)

        #expect(expression.neverFires == neverFires)
        #expect((next == nil) == neverFires)
    }
}

struct CronErrorTests {
    private static let five =
        "wanted five fields: minute, hour, day of month, month and day of week"
    private static let names =
        "wanted `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` or `@annually`"

    @Test(arguments: [
        ("", "cron expression: got ``, \(five)"),
        ("   ", "cron expression: got `   `, \(five)"),
        ("* * * *", "cron expression: got `* * * *`, \(five)"),
        ("* * * * * *", "cron expression: got `* * * * * *`, \(five)"),
        ("@reboot", "cron expression: got `@reboot`, \(names)"),
        ("@Daily", "cron expression: got `@Daily`, \(names)"),
        ("@daily *", "cron expression: got `@daily *`, \(five)"),
        ("60 * * * *", "minute of the cron expression: got `60`, wanted 0 to 59"),
        ("-5 * * * *", "minute of the cron expression: got `-5`, wanted 0 to 59"),
        ("+5 * * * *", "minute of the cron expression: got `+5`, wanted 0 to 59"),
        ("5.5 * * * *", "minute of the cron expression: got `5.5`, wanted 0 to 59"),
        ("0005 * * * *", "minute of the cron expression: got `0005`, wanted 0 to 59"),
        ("٣ * * * *", "minute of the cron expression: got `٣`, wanted 0 to 59"),
        ("** * * * *", "minute of the cron expression: got `**`, wanted 0 to 59"),
        ("*-5 * * * *", "minute of the cron expression: got `*-5`, wanted 0 to 59"),
        ("1-2-3 * * * *", "minute of the cron expression: got `1-2-3`, wanted 0 to 59"),
        ("0,61 * * * *", "minute of the cron expression: got `61`, wanted 0 to 59"),
        (
            "1,,2 * * * *",
            "minute of the cron expression: got `1,,2`, wanted a value on each side of every `,`"
        ),
        (
            ", * * * *",
            "minute of the cron expression: got `,`, wanted a value on each side of every `,`"
        ),
        ("*/0 * * * *", "minute of the cron expression: got `*/0`, wanted a step of 1 to 9999"),
        (
            "*/10000 * * * *",
            "minute of the cron expression: got `*/10000`, wanted a step of 1 to 9999"
        ),
        ("*/ * * * *", "minute of the cron expression: got `*/`, wanted a step of 1 to 9999"),
        ("*/5/5 * * * *", "minute of the cron expression: got `*/5/5`, wanted a step of 1 to 9999"),
        (
            "5/15 * * * *",
            "minute of the cron expression: got `5/15`, "
                + "wanted a range before the `/`, such as `5-59/15`"
        ),
        ("0 24 * * *", "hour of the cron expression: got `24`, wanted 0 to 23"),
        (
            "0 22-2 * * *",
            "hour of the cron expression: got `22-2`, wanted a range that rises, such as `2-22`"
        ),
        (
            "0 0 */0 * *",
            "day of month of the cron expression: got `*/0`, wanted a step of 1 to 9999"
        ),
        ("0 0 0 * *", "day of month of the cron expression: got `0`, wanted 1 to 31"),
        ("0 0 32 * *", "day of month of the cron expression: got `32`, wanted 1 to 31"),
        ("0 0 L * *", "day of month of the cron expression: got `L`, wanted 1 to 31"),
        ("0 0 ? * *", "day of month of the cron expression: got `?`, wanted 1 to 31"),
        (
            "0 0 1 13 *",
            "month of the cron expression: got `13`, wanted 1 to 12 or `jan` to `dec`"
        ),
        (
            "0 0 1 january *",
            "month of the cron expression: got `january`, wanted 1 to 12 or `jan` to `dec`"
        ),
        (
            "0 0 * * 8",
            "day of week of the cron expression: got `8`, wanted 0 to 7 or `sun` to `sat`"
        ),
        (
            "0 0 * * jan",
            "day of week of the cron expression: got `jan`, wanted 0 to 7 or `sun` to `sat`"
        ),
        (
            "0 0 * * sat-mon",
            "day of week of the cron expression: got `sat-mon`, "
                + "wanted a range that rises, such as `mon-sat`"
        ),
        (
            "\(String(repeating: "9", count: 61)) * * * *",
            "minute of the cron expression: got `\(String(repeating: "9", count: 59))…`, "
                + "wanted 0 to 59"
        ),
    ])
    func `an expression that cannot be read is refused with field, got and wanted`(
        text: String, message: String
    ) {
        let error = #expect(throws: ExpressionError.self) { try CronExpression(text) }

        #expect(error?.description == message)
    }

    @Test func `an error carries its field`() {
        let inHour = #expect(throws: ExpressionError.self) { try CronExpression("0 24 * * *") }
        let whole = #expect(throws: ExpressionError.self) { try CronExpression("0 24") }

        #expect(inHour?.field == .hour)
        #expect(whole?.field == nil)
    }
}
