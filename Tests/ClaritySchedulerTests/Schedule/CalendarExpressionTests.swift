import Testing

@testable import ClarityScheduler

struct CalendarExpressionTests {
    @Test(arguments: ["Mon..Fri *-*-* 06:00", " daily\t", "2026-11-20", "*:*:*"])
    func `an expression keeps its text`(text: String) throws {
        #expect(try CalendarExpression(text).description == text)
    }

    /// The examples of systemd.time(7), and the short names.
    @Test(arguments: [
        ("Sat,Thu,Mon..Wed,Sat..Sun", "Mon..Thu,Sat,Sun *-*-* 00:00:00"),
        ("Mon,Sun 12-*-* 2,1:23", "Mon,Sun 2012-*-* 01,02:23:00"),
        ("Wed *-1", "Wed *-*-01 00:00:00"), ("Wed..Wed,Wed *-1", "Wed *-*-01 00:00:00"),
        ("Wed, 17:48", "Wed *-*-* 17:48:00"),
        ("Wed..Sat,Tue 12-10-15 1:2:3", "Tue..Sat 2012-10-15 01:02:03"),
        ("*-*-7 0:0:0", "*-*-07 00:00:00"), ("10-15", "*-10-15 00:00:00"),
        ("monday *-12-* 17:00", "Mon *-12-* 17:00:00"),
        ("Mon,Fri *-*-3,1,2 *:30:45", "Mon,Fri *-*-01,02,03 *:30:45"),
        ("12,14,13,12:20,10,30", "*-*-* 12,13,14:10,20,30:00"),
        ("12..14:10,20,30", "*-*-* 12,13,14:10,20,30:00"),
        ("mon,fri *-1/2-1,3 *:30:45", "Mon,Fri *-01/2-01,03 *:30:45"),
        ("03-05 08:05:40", "*-03-05 08:05:40"), ("08:05:40", "*-*-* 08:05:40"),
        ("05:40", "*-*-* 05:40:00"), ("Sat,Sun 12-05 08:05:40", "Sat,Sun *-12-05 08:05:40"),
        ("Sat,Sun 08:05:40", "Sat,Sun *-*-* 08:05:40"),
        ("2003-03-05 05:40", "2003-03-05 05:40:00"),
        ("2003-02..04-05", "2003-02,03,04-05 00:00:00"),
        ("2003-03-05", "2003-03-05 00:00:00"), ("03-05", "*-03-05 00:00:00"),
        ("minutely", "*-*-* *:*:00"), ("hourly", "*-*-* *:00:00"), ("daily", "*-*-* 00:00:00"),
        ("monthly", "*-*-01 00:00:00"), ("weekly", "Mon *-*-* 00:00:00"),
        ("yearly", "*-01-01 00:00:00"), ("annually", "*-01-01 00:00:00"),
        ("quarterly", "*-01,04,07,10-01 00:00:00"), ("semiannually", "*-01,07-01 00:00:00"),
        ("Semi-Annually", "*-01,07-01 00:00:00"), ("biannually", "*-01,07-01 00:00:00"),
        ("bi-annually", "*-01,07-01 00:00:00"), ("Mon-Fri", "Mon,Tue,Wed,Thu,Fri *-*-*"),
        ("9..17/2:00", "9,11,13,15,17:00:00"), ("*:0/15", "*:0,15,30,45"),
        ("*-02~01", "*-2~1"), ("*~07/1", "*-*~7,6,5,4,3,2,1"), ("*~7/3", "*-*~1,4,7"),
        ("*~2..7/2", "*~2,4,6"), ("09..14/9:00", "9:00"), ("9..17/20:00", "9:00"),
        ("*-*~5..7/9", "*-*~5"), ("9..9/1:00", "9:00"), ("*:*:0/20.0", "*:*:0,20,40"),
        ("*:*:1.5..3", "*:*:1.5,2.5"), ("*:*:59/0.5", "*:*:59,59.500000"),
        ("*:*:1.5/29.25", "*:*:1.50,30.75"), ("05:40 Europe/London", "5:40"),
        ("monthly utc", "*-*-1 0:0"), ("Mon,Fri Etc/GMT+5", "Mon,Fri 00:00"),
        ("70-1-1", "1970-01-01"), ("69-1-1", "2069-01-01"),
        (
            "2026/2-1-1 0:0",
            "\(stride(from: 2026, through: 2199, by: 2).map { "\($0)" }.joined(separator: ","))-1-1"
        ),
    ])
    func `two ways of writing name the same times`(text: String, same: String) throws {
        let (a, b) = (try CalendarExpression(text).times, try CalendarExpression(same).times)

        #expect(a == b)
    }

    @Test(arguments: [
        ("*:00", true), ("*:30:15", true), ("1:*", true), ("minutely", true), ("hourly", true),
        ("1:30", false), ("0..23:0..59", false), ("0/2:00", false), ("1:30:*", false),
        ("daily", false),
    ])
    func `a star at the start of hour or minute makes a wildcard`(
        text: String, isWildcard: Bool
    ) throws {
        #expect(try CalendarExpression(text).times.isWildcard == isWildcard)
    }

    @Test(arguments: [
        ("*-02-30", true), ("*-02~30", true), ("*-4,6-31", true), ("2027-02-29", true),
        ("Mon 2026-11-20", true), ("2027/4-02-29", true), ("Mon *-02-29", false),
        ("*-02-29", false), ("*-02~29", false), ("Fri 2026-11-20", false), ("2100-02-29", true),
        ("2100,2104-02-29", false), ("2012-11-23", false),
    ])
    func `an expression without a date never fires`(text: String, neverFires: Bool) throws {
        let expression = try CalendarExpression(text)
        let start = try Instant("1970-01-01T00:00:00Z")

        let next = Schedule.calendar(expression, .utc).next(after: start, anchor: start)

        #expect(expression.neverFires == neverFires)
        #expect((next == nil) == neverFires)
    }

    @Test(
        arguments: [
            ("", nil, "", CalendarExpression.syntax), ("  ", nil, "  ", CalendarExpression.syntax),
            ("6", nil, "6", CalendarExpression.syntax), ("*", nil, "*", CalendarExpression.syntax),
            ("1-2-3-4", nil, "1-2-3-4", CalendarExpression.syntax),
            ("1~2-3", nil, "1~2-3", CalendarExpression.syntax),
            ("06:00 Mon", nil, "06:00 Mon", CalendarExpression.syntax),
            ("UTC", .dayOfWeek, "UTC", weekdays),
            ("Mon Tue", nil, "Mon Tue", CalendarExpression.syntax),
            ("06:00 UTC UTC", nil, "06:00 UTC UTC", CalendarExpression.syntax),
            ("dayly", .dayOfWeek, "dayly", weekdays),
            ("06:00 *-*-*", nil, "06:00 *-*-*", CalendarExpression.syntax),
            ("@5", nil, "@5", CalendarExpression.syntax),
            ("2026-11-20T06:00", nil, "2026-11-20T06:00", "a blank between date and time"),
            ("1:2:3:4", nil, "1:2:3:4", "a time such as `06:00` or `06:00:30`"),
            ("Sun..Mon", .dayOfWeek, "Sun..Mon", "a range that rises; the week ends with `Sun`"),
            ("Mon,,Tue", .dayOfWeek, "Mon,,Tue", weekdays),
            ("Mon..", .dayOfWeek, "Mon..", weekdays),
            ("Mon, Wed 06:00", nil, "Mon, Wed 06:00", CalendarExpression.syntax),
            ("24:00", .hour, "24", "0 to 23"), ("06:60", .minute, "60", "0 to 59"),
            ("06:00:60", .second, "60", "0 to 59.999"), ("*-13-01", .month, "13", "1 to 12"),
            ("*-*-0", .dayOfMonth, "0", "1 to 31"), ("2200-1-1", .year, "2200", "1970 to 2199"),
            ("1969-1-1", .year, "1969", "1970 to 2199"), ("+5:00", .hour, "+5", "0 to 23"),
            ("00005:00", .hour, "00005", "0 to 23"), ("٣:00", .hour, "٣", "0 to 23"),
            ("05:00:10.0005", .second, "10.0005", "whole milliseconds, such as `10.5`"),
            ("05:00:.5", .second, ".5", "0 to 59.999"), ("05:00:5.", .second, "5.", "0 to 59.999"),
            ("05.5:00", .hour, "05.5", "0 to 23"), ("05:00.5", .minute, "00.5", "0 to 59"),
            ("05:00:0/0.01", .second, "0/0.01", "a step of 0.1 to 59.999"),
            ("05:00:58.25/2", .second, "58.25/2", "a step of 0.1 to 1.749"),
            ("05:00:1..5/0", .second, "1..5/0", "a step of 0.1 to 9999"),
            ("9..14/0:00", .hour, "9..14/0", "a step of 1 to 9999"),
            ("9..5:00", .hour, "9..5", "a range that rises, such as `5..9`"),
            ("*~3..1", .dayOfMonth, "3..1", "a range that rises, such as `1..3`"),
            ("1,,2:00", .hour, "", "a value on each side of every `,`"),
            ("1,*:00", .hour, "*", "0 to 23"),
            ("*/2:00", .hour, "*/2", "the first value before `/`, such as `0/2`"),
            ("*-*/2-1", .month, "*/2", "the first value before `/`, such as `1/2`"),
            ("0/24:00", .hour, "0/24", "a step of 1 to 23"),
            ("*:0/0", .minute, "0/0", "a step of 1 to 59"),
            ("*:30/30", .minute, "30/30", "a step of 1 to 29"),
            ("0:0:59/1", .second, "59/1", "a step of 0.1 to 0.999"),
            ("23/1:00", .hour, "23/1", "no `/` where nothing follows the value"),
        ] as [(String, ExpressionError.Field?, String, String)])
    func `an expression that cannot be read is refused with field, got and wanted`(
        text: String, field: ExpressionError.Field?, got: String, wanted: String
    ) {
        let error = #expect(throws: ExpressionError.self) { try CalendarExpression(text) }

        #expect(error?.field == field)
        #expect(error?.got == got)
        #expect(error?.wanted == wanted)
    }

    @Test func `an error says where, what it got and what is wanted`() {
        let inHour = #expect(throws: ExpressionError.self) { try CalendarExpression("24:00") }
        let whole = #expect(throws: ExpressionError.self) {
            try CalendarExpression(String(repeating: "9", count: 61))
        }

        #expect(inHour?.description == "hour of the calendar expression: got `24`, wanted 0 to 23")
        #expect(
            whole?.description
                == "calendar expression: got `\(String(repeating: "9", count: 59))…`, "
                + "wanted weekdays, a date and a time, such as `Mon..Fri *-*-* 06:00`")
    }

    private static let weekdays =
        "`Mon` to `Sun`, or one of `minutely`, `hourly`, `daily`, `weekly`, `monthly`, "
        + "`quarterly`, `semiannually` and `yearly` alone"
}
