import ClarityScheduler
import Testing

struct CalendarScheduleTests {
    @Test(arguments: [
        ("Mon..Fri *-*-* 06:00", "2026-11-20T06:00:00Z", "2026-11-23T06:00:00Z"),
        ("*-02~01", "2026-11-20T06:00:00Z", "2027-02-28T00:00:00Z"),
        ("*-02~01", "2027-11-20T06:00:00Z", "2028-02-29T00:00:00Z"),
        ("*~07/1 12:00", "2026-11-20T06:00:00Z", "2026-11-24T12:00:00Z"),
        ("Mon *-05~07/1", "2026-11-20T06:00:00Z", "2027-05-31T00:00:00Z"),
        ("*-*-13", "2026-11-20T06:00:00Z", "2026-12-13T00:00:00Z"),
        ("Fri *-*-13", "2026-11-20T06:00:00Z", "2027-08-13T00:00:00Z"),
        ("06:00:00..59/20", "2026-11-20T06:00:20Z", "2026-11-20T06:00:40Z"),
        ("06:00:00..59/20", "2026-11-20T06:00:40Z", "2026-11-21T06:00:00Z"),
        ("*:*:59", "2026-11-20T06:00:59.001Z", "2026-11-20T06:01:59Z"),
        ("12:00:00.5", "2026-11-20T06:00:00Z", "2026-11-20T12:00:00.500Z"),
        ("12:00:00.5", "2026-11-20T12:00:00.499Z", "2026-11-20T12:00:00.500Z"),
        ("12:00:00.5", "2026-11-20T12:00:00.500Z", "2026-11-21T12:00:00.500Z"),
        ("*:*:0/0.25", "2026-11-20T06:00:59.999Z", "2026-11-20T06:01:00Z"),
        ("23:59:59.999", "2026-11-20T06:00:00Z", "2026-11-20T23:59:59.999Z"),
        ("2190-07-04 10:11:12", "2026-11-20T06:00:00Z", "2190-07-04T10:11:12Z"),
        ("2026..2199/50-*-* 0:0", "2026-12-31T06:00:00Z", "2076-01-01T00:00:00Z"),
        ("Mon *-02-29", "2088-03-01T00:00:00Z", "2112-02-29T00:00:00Z"),
        ("yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    ])
    func `the next occurrence is the first strictly after`(
        text: String, after: String, next: String
    ) throws {
        let schedule = Schedule.calendar(try CalendarExpression(text), .utc)

        let found = try schedule.next(after: Instant(after), anchor: Instant(next))

        #expect(try found == Instant(next))
    }

    @Test func `a schedule of past years has no next occurrence`() throws {
        let schedule = Schedule.calendar(try CalendarExpression("2012,2025-11-23"), .utc)
        let (then, now) = (try Instant("2020-01-01T00:00:00Z"), try Instant("2026-01-01T00:00:00Z"))

        let due = schedule.due(
            after: Instant(millisecondsSince1970: .min),
            through: Instant(millisecondsSince1970: .max),
            anchor: then)

        #expect(try schedule.next(after: then, anchor: then) == Instant("2025-11-23T00:00:00Z"))
        #expect(schedule.next(after: now, anchor: then) == nil)
        #expect(due?.count == 2)
    }

    @Test(arguments: [
        ("*:*:*", "2026-11-20T06:00:00Z", "2026-11-20T07:00:00Z", 3600),
        ("*:*:0/7", "2026-11-20T06:00:01Z", "2026-11-20T06:02:08Z", 19),
        ("12:30:05..10", "2026-11-20T12:30:07Z", "2026-11-22T12:30:06Z", 11),
        ("*:*:0/0.25", "2026-11-20T06:00:00.250Z", "2026-11-20T07:00:00Z", 14399),
        ("12:30:05.5,6.125", "2026-11-20T12:30:05.500Z", "2026-11-21T12:30:06.125Z", 3),
        ("Sat,Sun *-*-* 06:00", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", 104),
    ])
    func `what is due is counted by seconds`(
        text: String, after: String, through: String, count: Int
    ) throws {
        let schedule = Schedule.calendar(try CalendarExpression(text), .utc)

        let due = try schedule.due(
            after: Instant(after), through: Instant(through), anchor: Instant(after))

        #expect(due?.count == count)
    }

    /// London's clock skips 01:00 to 02:00 on 29 March 2026 and repeats it on 25 October.
    @Test(
        arguments: [
            (
                "01:30:15,45", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z",
                ["2026-03-29T01:00:00Z", "2026-03-30T00:30:15Z", "2026-03-30T00:30:45Z"]
            ),
            (
                "00:59:59", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", ["2026-03-29T00:59:59Z"]
            ),
            (
                "Sun 01,02:00", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z",
                ["2026-03-29T01:00:00Z"]
            ),
            (
                "Mon 01:30", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z",
                ["2026-03-30T00:30:00Z"]
            ),
            (
                "01:30:15", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z",
                ["2026-10-25T00:30:15Z", "2026-10-26T01:30:15Z"]
            ),
            (
                "*:30:15", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z",
                ["2026-10-25T00:30:15Z", "2026-10-25T01:30:15Z"]
            ),
            (
                "*:30:15", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z",
                ["2026-03-29T00:30:15Z", "2026-03-29T01:30:15Z"]
            ),
            (
                "01:30:15.5", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z",
                ["2026-03-29T01:00:00Z", "2026-03-30T00:30:15.500Z"]
            ),
            (
                "Sun 01,02:00:0,0.5", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z",
                ["2026-03-29T01:00:00Z", "2026-03-29T01:00:00.500Z"]
            ),
            (
                "0/2:00", "2026-10-24T22:00:00Z", "2026-10-25T05:00:00Z",
                ["2026-10-24T23:00:00Z", "2026-10-25T02:00:00Z", "2026-10-25T04:00:00Z"]
            ),
        ] as [(String, String, String, [String])])
    func `a change of the clock drops and doubles nothing`(
        text: String, after: String, through: String, occurrences: [String]
    ) throws {
        let zone = try TZifFile(footer: "GMT0BST,M3.5.0/1,M10.5.0").zone()
        let schedule = Schedule.calendar(try CalendarExpression(text), zone)
        let (start, end) = (try Instant(after), try Instant(through))
        let expected = try occurrences.map { try Instant($0) }

        var found: [Instant] = []
        var last = start
        while let next = schedule.next(after: last, anchor: start), next <= end {
            found.append(next)
            last = next
        }
        let due = schedule.due(after: start, through: end, anchor: start)

        #expect(found == expected)
        #expect(due?.count == expected.count)
        #expect(schedule.latest(9, after: start, through: end, anchor: start) == expected)
    }
}
