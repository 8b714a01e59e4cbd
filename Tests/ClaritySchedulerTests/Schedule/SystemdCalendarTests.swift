import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

private let systemdAnalyze = "/usr/bin/systemd-analyze"

/// Compares calendar expressions with `systemd-analyze calendar`, the reference implementation.
@Suite(.enabled(if: access(systemdAnalyze, X_OK) == 0, "no `systemd-analyze` to compare with"))
struct SystemdCalendarTests {
    private static let base = "2026-11-20T06:00:00Z"
    private static let iterations = 12

    @Test func `expressions elapse when systemd says`() async throws {
        let expressions = [
            "minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually",
            "semi-annually", "biannually", "bi-annually", "yearly", "annually", "DAILY", "mon",
            "Mon-Fri", "Mon..Fri *-*-* 06:00", "Sat,Thu,Mon..Wed,Sat..Sun",
            "Mon,Sun 29-*-* 2,1:23", "Wed *-1", "Wed..Wed,Wed *-1", "Wed, 17:48",
            "Wed..Sat,Tue 12-10-15 1:2:3", "*-*-7 0:0:0", "10-15", "monday *-12-* 17:00",
            "Mon,Fri *-*-3,1,2 *:30:45", "12,14,13,12:20,10,30", "12..14:10,20,30",
            "mon,fri *-1/2-1,3 *:30:45", "03-05 08:05:40", "08:05:40", "05:40",
            "Sat,Sun 12-05 08:05:40", "Sat,Sun 08:05:40", "2003-03-05 05:40", "2027-02..04-05",
            "2003-03-05", "03-05", "*-02~01", "*-02~03", "*-*~1", "*-*~1..3", "*-*~1,3,5",
            "*-05~07/1", "Mon *-05~07/1", "*~7/2", "*~1..7/2", "*~2..7/2", "*-02-29", "*-02-30",
            "Mon 2026-11-20", "Fri 2026-11-20 6:0:1", "2026-11-20 06:00:00", "9..17/2:00",
            "*:0/15", "*-*-* 00/2:10", "00:05:40..59/3", "00:00:00..59/7,3", "*:*:*", "*:*:0/13",
            "*:30/29", "0/23:00", "*-1/11-*", "*-*-1/30", "2026/2-*-*", "2030..2199/3-7-4",
            "70-1-2", "1-2-3", "*-*", "*-*-31", "*-2,4-30,29", "1..3,7/2:10", "007:00",
            "Sun..Sun 23:59:59", "Mon,Wed, 06:00", "2026-2..4/2-1..7", "09..14/9:00",
            "9..17/20:00", "*-*~5..7/9", "*-*-1..5/100", "12:00:00.5", "12:00:00.500000",
            "*:*:0/0.25", "*:*:59/0.5", "*:*:1.5..3", "*:*:1..3.5/0.5", "*:*:1.5/1.25",
            "*:*:0.5,1.25,3..5/0.7", "*:*:0.3..2.2/5", "*:*:0..59/80", "23:59:59.999", "*:*:5.0",
        ]

        let compared = try await compare(expressions)

        #expect(compared == expressions.count)
    }

    @Test(.enabled(if: SystemZones.isInstalled, "no tz database"))
    func `expressions with a zone elapse when systemd says`() async throws {
        let expressions = [
            "Mon *-*-* 03:00 Europe/Zurich", "daily UTC", "daily utc", "Mon UTC", "weekly GMT",
            "hourly America/New_York", "monthly Europe/Zurich", "Mon,Fri Asia/Kathmandu",
            "yearly Asia/Kathmandu", "2026-12-24 18:00 Europe/Zurich", "*:0/20 Etc/GMT+5",
            "23:59:59.5 Asia/Tokyo", "*~1 12:00 America/New_York",
        ]

        let compared = try await compare(expressions)

        #expect(compared == expressions.count)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `random expressions elapse when systemd says`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)

        let expressions = (0..<80).map { _ in Self.expression(&random) }

        let compared = try await compare(expressions, "seed \(seed)")

        // systemd refuses some lists of days counted from the month's end, such as `*~1,26`.
        #expect(compared > 60, "seed \(seed)")
    }

    @Test func `what systemd refuses is refused`() async throws {
        let expressions = [
            "", "6", "*", "Mon *", "Mon 5", "Mon..", "Mon,,Tue", ",Mon", "Mon, Wed 06:00",
            "Sun..Mon",
            "Fri..Mon 12:00", "*/5", "*/2:00", "06:00,", "06:30..00", "06:00:60", "24:00", "*,3:00",
            "1,*:00", "+5:00", "*:0/60", "*:0/0", "*:30/30", "0/24:00", "0/90:00", "23:59:59/1",
            "*-1/12-*", "*-*-1/31", "2020/200-*-*", "1994..2300/3-*-*", "*-*-0", "*-13-1",
            "2200-1-1",
            "1969-1-1", "*-*-5/10~", "*-*~3..1", "*-*-*T06:00", "2026-11-20T06:00", "*:*:.5",
            "*:*:5.", "12:00.5", "12.5:00", "*:*:58.5/2", "UTC", "Europe/Zurich", "03:00 UTC UTC",
            "03:00 +01:00", "0..5/0:00",
        ]

        let answers = try await Self.answers(expressions).answers
        let accepted = expressions.filter { (try? CalendarExpression($0)) != nil }

        #expect(answers == [])
        #expect(accepted == [])
    }

    /// Compares the expressions that systemd accepts, and returns how many there are.
    private func compare(_ expressions: [String], _ about: String = "") async throws -> Int {
        let start = try Instant(Self.base)
        let (answers, errors) = try await Self.answers(expressions)
        let taken = expressions.filter { !errors.contains("specification '\($0)'") }
        try #require(answers.count == taken.count, "\(about)")

        for (expression, answer) in zip(taken, answers) {
            let zone = try Self.zones.first { expression.hasSuffix(" \($0)") }
                .map(SystemZones.zone)
            let schedule = Schedule.calendar(try CalendarExpression(expression), zone ?? .utc)
            var found: [String] = []
            var last = start
            while found.count < Self.iterations,
                let next = schedule.next(after: last, anchor: start)
            {
                // systemd prints whole seconds.
                found.append("\(Instant(secondsSince1970: next.secondsSince1970))")
                last = next
            }

            #expect(found == answer, "\(expression) \(about)")
        }
        return taken.count
    }

    /// The zones other than UTC that the expressions use.
    private static let zones = [
        "Europe/Zurich", "America/New_York", "Asia/Kathmandu", "Asia/Tokyo", "Etc/GMT+5",
    ]

    /// Returns systemd's instants, one list for each accepted expression, and its error output.
    private static func answers(
        _ expressions: [String]
    ) async throws -> (answers: [[String]], errors: String) {
        let result = try await ChildProgram.run(
            systemdAnalyze,
            ["calendar", "--iterations=\(iterations)", "--base-time=2026-11-20 06:00:00 UTC", "--"]
                + expressions,
            environment: ["TZ": "UTC", "LC_ALL": "C"])
        var answers: [[String]] = []
        for line in result.outputLines {
            if line.contains("Normalized form:") {
                answers.append([])
            } else if line.contains("Next elapse:") || line.contains("Iter. #") {
                let words = line.split(separator: " ")
                guard words.count >= 4, words.last == "UTC" else { continue }
                answers[answers.count - 1]
                    .append("\(words[words.count - 3])T\(words[words.count - 2])Z")
            }
        }
        return (answers, result.errors)
    }

    /// Draws an expression that uses the whole syntax, except days that only some months have.
    ///
    /// For a month without such a day, systemd's results are not sensible. The clock of the zone
    /// never changes.
    private static func expression(_ random: inout SeededGenerator) -> String {
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        func list(_ range: ClosedRange<Int>, isFromEnd: Bool = false) -> String {
            (0..<number(1...3)).map { _ in
                let first = number(range)
                let last = number(first...range.upperBound)
                return switch number(0...3) {
                case 0 where last > first: "\(first)..\(last)/\(number(1...(last - first)))"
                case 1 where last > first: "\(first)..\(last)"
                case 2 where first < range.upperBound && !isFromEnd:
                    "\(first)/\(number(1...(range.upperBound - first)))"
                default: "\(first)"
                }
            }.joined(separator: ",")
        }
        func field(_ range: ClosedRange<Int>) -> String { number(0...2) == 0 ? "*" : list(range) }
        /// Formats a number of twentieths of a second.
        func fraction(_ twentieths: Int) -> String {
            let hundredths = twentieths % 20 * 5
            return "\(twentieths / 20).\(hundredths < 10 ? "0" : "")\(hundredths)"
        }
        func seconds() -> String {
            (0..<number(1...3)).map { _ in
                let first = number(0...1199)
                let last = number(first...1199)
                return switch number(0...3) {
                case 0 where last > first + 20: "\(fraction(first))..\(fraction(last))"
                case 1 where last > first + 20:
                    "\(fraction(first))..\(fraction(last))/\(fraction(number(2...300)))"
                case 2 where first < 1190:
                    "\(fraction(first))/\(fraction(number(2...1199 - first)))"
                default: fraction(first)
                }
            }.joined(separator: ",")
        }
        func day() -> String {
            let isFromEnd = number(0...2) == 0
            return isFromEnd ? "~" + list(1...27, isFromEnd: true) : "-" + field(1...28)
        }
        let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        var words: [String] = []
        if number(0...2) == 0 {
            let first = number(0...6)
            words.append("\(days[number(0...6)]),\(days[first])..\(days[number(first...6)])")
        }
        if words.isEmpty || number(0...2) > 0 {
            let year = number(0...3) == 0 ? list(2020...2199) + "-" : ""
            words.append("\(year)\(field(1...12))\(day())")
        }
        if number(0...3) > 0 {
            let second = ["", ":" + field(0...59), ":" + seconds()][number(0...2)]
            words.append("\(field(0...23)):\(field(0...59))\(second)")
        }
        if SystemZones.isInstalled, number(0...3) == 0 { words.append(zones[number(2...4)]) }
        return words.joined(separator: " ")
    }
}
