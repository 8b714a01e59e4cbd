import ClarityScheduler
import Testing

struct CronScheduleTests {
    private static func schedule(_ text: String, _ zone: Zone = .utc) throws -> Schedule {
        .cron(try CronExpression(text), zone)
    }

    @Test(arguments: [
        ("* * * * *", "2026-11-20T05:59:59.999Z", "2026-11-20T06:00:00Z"),
        ("* * * * *", "2026-11-20T06:00:00Z", "2026-11-20T06:01:00Z"),
        ("* * * * *", "2026-11-20T06:00:00.001Z", "2026-11-20T06:01:00Z"),
        ("0 6,18 * * *", "2026-11-20T06:00:00Z", "2026-11-20T18:00:00Z"),
        ("0 6,18 * * *", "2026-11-20T18:00:00Z", "2026-11-21T06:00:00Z"),
        ("30 3 * * *", "2026-12-31T12:00:00Z", "2027-01-01T03:30:00Z"),
        ("59 23 * * *", "2026-11-20T23:59:00Z", "2026-11-21T23:59:00Z"),
        ("0 0 1 * *", "2026-11-20T06:00:00Z", "2026-12-01T00:00:00Z"),
        ("0 0 31 * *", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z"),
        ("0 0 1 1 *", "2026-11-20T06:00:00Z", "2027-01-01T00:00:00Z"),
        ("0 12 13 * 5", "2026-11-20T06:00:00Z", "2026-11-20T12:00:00Z"),
        ("0 12 13 * 5", "2026-12-12T06:00:00Z", "2026-12-13T12:00:00Z"),
        ("0 12 */2 * 5", "2026-11-20T13:00:00Z", "2026-11-27T12:00:00Z"),
        ("0 0 29 2 *", "2026-11-20T06:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"),
        ("0 0 29 2 */7", "2004-02-29T00:00:00Z", "2032-02-29T00:00:00Z"),
        ("0 0 29 2 */7", "2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"),
        ("59 23 31 12 *", "1969-06-01T00:00:00Z", "1969-12-31T23:59:00Z"),
        ("0 0 * * *", "1969-12-30T23:59:59.999Z", "1969-12-31T00:00:00Z"),
        ("0 0 1 1 *", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ])
    func `the next occurrence is the first strictly after`(
        text: String, after: String, next: String
    ) throws {
        let schedule = try CronScheduleTests.schedule(text)

        let found = try schedule.next(after: Instant(after), anchor: Instant(next))

        #expect(try found == Instant(next))
    }

    @Test(arguments: ["0 0 30 2 *", "0 0 31 4,6,9,11 *"])
    func `an expression without a date has no next occurrence`(text: String) throws {
        let schedule = try CronScheduleTests.schedule(text)
        let epoch = Instant(millisecondsSince1970: 0)

        let next = schedule.next(after: epoch, anchor: epoch)
        let due = schedule.due(
            after: epoch, through: Instant(millisecondsSince1970: .max), anchor: epoch)

        #expect(next == nil)
        #expect(due == nil)
    }

    @Test func `occurrences lie in the years 0 to 9999`() throws {
        let schedule = try CronScheduleTests.schedule("0 12 * * *")
        let earliest = Instant(millisecondsSince1970: .min)
        let latest = Instant(millisecondsSince1970: .max)

        let first = schedule.next(after: earliest, anchor: earliest)
        let none = try schedule.next(after: Instant("9999-12-31T12:00:00Z"), anchor: earliest)

        #expect(try first == Instant("0000-01-01T12:00:00Z"))
        #expect(none == nil)
        #expect(schedule.next(after: latest, anchor: earliest) == nil)
    }

    @Test(arguments: [
        // One occurrence a day; the instant at which the window starts is excluded.
        (
            "0 6 * * *", "2026-11-20T06:00:00Z", "2026-11-23T05:59:59Z", "2026-11-21T06:00:00Z",
            "2026-11-22T06:00:00Z", 2
        ),
        // The instant at which the window ends is included.
        (
            "0 6 * * *", "2026-11-20T05:59:59.999Z", "2026-11-20T06:00:00Z",
            "2026-11-20T06:00:00Z", "2026-11-20T06:00:00Z", 1
        ),
        // The window covers parts of an hour, of a day and of a month.
        (
            "*/10 9-17 * * mon-fri", "2026-11-20T16:35:00Z", "2026-11-23T09:10:00Z",
            "2026-11-20T16:40:00Z", "2026-11-23T09:10:00Z", 10
        ),
        // The schedule skips months.
        (
            "0 0 1,15 jan,jul *", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z",
            "2026-01-15T00:00:00Z", "2027-01-01T00:00:00Z", 4
        ),
        // Ten years of minutes, with two leap days.
        (
            "* * * * *", "2014-05-13T16:53:20Z", "2024-05-10T16:53:20Z", "2014-05-13T16:54:00Z",
            "2024-05-10T16:53:00Z", 5_256_000
        ),
    ])
    func `what is due is counted with its ends`(
        text: String, after: String, through: String, first: String, latest: String, count: Int
    ) throws {
        let schedule = try CronScheduleTests.schedule(text)

        let due = try schedule.due(
            after: Instant(after), through: Instant(through), anchor: Instant(first))

        #expect(
            try due
                == DueOccurrences(first: Instant(first), latest: Instant(latest), count: count))
    }

    @Test(arguments: [
        ("2026-11-20T06:00:00Z", "2026-11-21T05:59:59.999Z"),
        ("2026-11-20T06:00:00Z", "2026-11-20T06:00:00Z"),
        ("2026-11-21T06:00:00Z", "2026-11-20T05:00:00Z"),
    ])
    func `nothing is due between occurrences or backwards`(after: String, through: String) throws {
        let schedule = try CronScheduleTests.schedule("0 6 * * *")

        let due = try schedule.due(
            after: Instant(after), through: Instant(through), anchor: Instant(after))

        #expect(due == nil)
    }
}

/// Schedules around clock changes of real zones. Each row lists every occurrence in its window.
@Suite(.enabled(if: SystemZones.isInstalled))
struct CronClockChangeTests {
    @Test(
        arguments: [
            // London, 29 March 2026, 01:00Z: 01:00 to 02:00 is skipped.
            (
                "Europe/London", "30 1 * * *", "2026-03-28T00:00:00Z", "2026-03-30T12:00:00Z",
                ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
            ),
            // Several fixed times in the skipped hour, and one at its end, become one occurrence.
            (
                "Europe/London", "0,30 1,2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z",
                ["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]
            ),
            (
                "Europe/London", "59 0 * * *", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z",
                ["2026-03-29T00:59:00Z", "2026-03-29T23:59:00Z"]
            ),
            // Minutes and hours from a range count as fixed too.
            (
                "Europe/London", "15 0-2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z",
                ["2026-03-29T00:15:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:15:00Z"]
            ),
            // Wildcards do not fire for the skipped hour, and stay evenly apart.
            (
                "Europe/London", "0 * * * *", "2026-03-28T23:30:00Z", "2026-03-29T03:30:00Z",
                [
                    "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z",
                    "2026-03-29T03:00:00Z",
                ]
            ),
            (
                "Europe/London", "*/30 1 * * *", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z",
                ["2026-03-30T00:00:00Z", "2026-03-30T00:30:00Z"]
            ),
            (
                "Europe/London", "30 */1 * * *", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z",
                ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"]
            ),
            // London, 25 October 2026, 01:00Z: 01:00 to 02:00 is repeated.
            (
                "Europe/London", "30 1 * * *", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z",
                ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
            ),
            (
                "Europe/London", "0 1,2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z",
                ["2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"]
            ),
            (
                "Europe/London", "*/30 1 * * *", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z",
                [
                    "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z",
                    "2026-10-25T01:30:00Z",
                ]
            ),
            (
                "Europe/London", "@hourly", "2026-10-24T23:30:00Z", "2026-10-25T02:30:00Z",
                ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]
            ),
            // New York, 8 March and 1 November 2026, 02:00 on the clock.
            (
                "America/New_York", "30 2 * * *", "2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z",
                ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]
            ),
            (
                "America/New_York", "30 1 * * *", "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z",
                ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]
            ),
            // Lord Howe's clock changes by half an hour.
            (
                "Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00:00Z", "2026-10-05T00:00:00Z",
                ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"]
            ),
            (
                "Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z",
                ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"]
            ),
            (
                "Australia/Lord_Howe", "*/15 1 * * *", "2026-04-04T13:59:59Z",
                "2026-04-04T16:00:00Z",
                [
                    "2026-04-04T14:00:00Z", "2026-04-04T14:15:00Z", "2026-04-04T14:30:00Z",
                    "2026-04-04T14:45:00Z", "2026-04-04T15:00:00Z", "2026-04-04T15:15:00Z",
                ]
            ),
            // Dublin's daylight saving is negative, in winter; its clock shows London's time.
            (
                "Europe/Dublin", "30 1 * * *", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z",
                ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
            ),
            // Kolkata's clock never changes, and its offset has a half hour.
            (
                "Asia/Kolkata", "0 6 * * *", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z",
                ["2026-03-29T00:30:00Z", "2026-03-30T00:30:00Z"]
            ),
            // Apia had no 30 December 2011: the occurrences of that day become one, at its end.
            (
                "Pacific/Apia", "0 6,18 * * *", "2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z",
                [
                    "2011-12-29T16:00:00Z", "2011-12-30T04:00:00Z", "2011-12-30T10:00:00Z",
                    "2011-12-30T16:00:00Z", "2011-12-31T04:00:00Z",
                ]
            ),
            (
                "Pacific/Apia", "0 12 30 12 *", "2011-12-29T12:00:00Z", "2011-12-31T12:00:00Z",
                ["2011-12-30T10:00:00Z"]
            ),
            // Kwajalein had 30 September 1969 almost twice.
            (
                "Pacific/Kwajalein", "0 12 * * *", "1969-09-29T12:00:00Z", "1969-10-02T12:00:00Z",
                ["1969-09-30T01:00:00Z", "1969-10-02T00:00:00Z"]
            ),
        ] as [(String, String, String, String, [String])])
    func `a change of the clock drops and doubles nothing`(
        identifier: String, text: String, after: String, through: String, occurrences: [String]
    ) throws {
        let schedule = Schedule.cron(try CronExpression(text), try SystemZones.zone(identifier))
        let expected = try occurrences.map { try Instant($0) }
        let (after, through) = (try Instant(after), try Instant(through))

        var found: [Instant] = []
        var last = after
        while let next = schedule.next(after: last, anchor: after), next <= through {
            found.append(next)
            last = next
        }
        let due = schedule.due(after: after, through: through, anchor: after)

        #expect(found == expected)
        #expect(due?.first == expected.first)
        #expect(due?.latest == expected.last)
        #expect(due?.count == expected.count)
    }
}
