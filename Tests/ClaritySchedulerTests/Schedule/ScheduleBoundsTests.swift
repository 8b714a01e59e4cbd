import ClarityScheduler
import Testing

struct ScheduleBoundsTests {
    private static func at(_ milliseconds: Int64) -> Instant {
        Instant(millisecondsSince1970: milliseconds)
    }

    private static func seconds(
        _ notBefore: Int64?, _ notAfter: Int64?, delay: Int64 = 0
    ) -> Schedule {
        Schedule(
            .every(.seconds(1), phase: .zero), notBefore: notBefore.map(at),
            notAfter: notAfter.map(at), delay: .milliseconds(delay))
    }

    @Test(
        arguments: [
            // not before, not after, delay, after, next
            (5000, nil, 0, 0, 5000), (5001, nil, 0, 0, 6000), (5000, nil, 0, 5000, 6000),
            (nil, 5000, 0, 3999, 4000), (nil, 5000, 0, 4999, 5000), (nil, 5000, 0, 5000, nil),
            (nil, 4999, 0, 4000, nil),
            // The bounds apply before the delay; the results include it.
            (5000, nil, 300, 0, 5300), (5000, nil, 300, 5299, 5300), (5000, nil, 300, 5300, 6300),
            (nil, 5000, 300, 4300, 5300), (nil, 5000, 300, 5300, nil), (nil, nil, 300, 1000, 1300),
            (nil, nil, 2500, 1000, 2500), (nil, nil, 2500, 2500, 3500),
            // The earliest and the latest instants.
            (nil, nil, 300, .max, nil), (.min, .max, 0, 0, 1000), (nil, nil, 300, .min, 300),
        ] as [(Int64?, Int64?, Int64, Int64, Int64?)])
    func `the next occurrence is within the bounds and delayed`(
        notBefore: Int64?, notAfter: Int64?, delay: Int64, after: Int64, next: Int64?
    ) {
        let schedule = ScheduleBoundsTests.seconds(notBefore, notAfter, delay: delay)

        let found = schedule.next(
            after: ScheduleBoundsTests.at(after), anchor: ScheduleBoundsTests.at(0))

        #expect(found == next.map(ScheduleBoundsTests.at))
    }

    @Test(
        arguments: [
            // not before, not after, delay, after, through, first, latest, count
            (5000, 7000, 0, 0, 100_000, 5000, 7000, 3), (5001, 6999, 0, 0, 100_000, 6000, 6000, 1),
            (5000, 7000, 250, 0, 100_000, 5250, 7250, 3),
            (5000, 7000, 250, 5250, 7250, 6250, 7250, 2),
            (5000, 7000, 250, 5249, 7249, 5250, 6250, 2),
            (5000, 7000, 250, 6000, 6250, 6250, 6250, 1),
        ] as [(Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int)])
    func `what is due is within the bounds and delayed`(
        notBefore: Int64, notAfter: Int64, delay: Int64, after: Int64, through: Int64, first: Int64,
        latest: Int64, count: Int
    ) {
        let schedule = ScheduleBoundsTests.seconds(notBefore, notAfter, delay: delay)
        let (start, end) = (ScheduleBoundsTests.at(after), ScheduleBoundsTests.at(through))

        let due = schedule.due(after: start, through: end, anchor: start)
        let last = schedule.latest(1, after: start, through: end, anchor: start)

        #expect(
            due
                == DueOccurrences(
                    first: ScheduleBoundsTests.at(first), latest: ScheduleBoundsTests.at(latest),
                    count: count))
        #expect(last == [ScheduleBoundsTests.at(latest)])
    }

    @Test(
        arguments: [
            (5000, 7000, 0, 7000, 100_000), (5000, 7000, 0, 0, 4999), (5000, 7000, 250, 0, 5249),
            (5000, 7000, 250, 7250, 100_000), (7000, 5000, 0, 0, 100_000),
            (5001, 5999, 0, 0, 100_000),
        ] as [(Int64, Int64, Int64, Int64, Int64)])
    func `nothing is due outside the bounds`(
        notBefore: Int64, notAfter: Int64, delay: Int64, after: Int64, through: Int64
    ) {
        let schedule = ScheduleBoundsTests.seconds(notBefore, notAfter, delay: delay)
        let (start, end) = (ScheduleBoundsTests.at(after), ScheduleBoundsTests.at(through))

        #expect(schedule.due(after: start, through: end, anchor: start) == nil)
        #expect(schedule.latest(9, after: start, through: end, anchor: start) == [])
    }

    @Test(
        arguments: [
            ("daily", nil, nil, false), ("*-02-30", nil, nil, true),
            ("2012-11-23", nil, nil, false),
            ("daily", "2026-11-20T00:00:01Z", "2026-11-20T23:59:59Z", true),
            ("daily", "2026-11-20T00:00:01Z", "2026-11-21T00:00:00Z", false),
            ("2012-11-23", "2026-11-20T00:00:00Z", nil, true),
            ("2012-11-23", nil, "2026-11-20T00:00:00Z", false),
            ("2030-01-01", nil, "2026-11-20T00:00:00Z", true),
            ("2199-12-31 23:59:59", "2026-11-20T00:00:00Z", nil, false),
            ("daily", "2026-11-21T00:00:00Z", "2026-11-20T00:00:00Z", true),
        ] as [(String, String?, String?, Bool)])
    func `a schedule without any occurrence says so`(
        text: String, notBefore: String?, notAfter: String?, neverFires: Bool
    ) throws {
        let schedule = Schedule(
            .calendar(try CalendarExpression(text), .utc),
            notBefore: try notBefore.map { try Instant($0) },
            notAfter: try notAfter.map { try Instant($0) })

        #expect(schedule.neverFires == neverFires)
    }

    @Test func `an interval without a phase depends on its anchor`() {
        let (first, last) = (ScheduleBoundsTests.at(1), ScheduleBoundsTests.at(2))
        func schedule(_ phase: Duration?) -> Schedule {
            Schedule(.every(.seconds(9), phase: phase), notBefore: first, notAfter: last)
        }

        #expect(!schedule(nil).neverFires)
        #expect(schedule(.zero).neverFires)
        #expect(
            Schedule(.every(.seconds(9), phase: nil), notBefore: last, notAfter: first).neverFires)
    }

    @Test func `a schedule is written as people write it`() throws {
        let london = try Zone(
            identifier: "Europe/London", tzif: TZifFile(footer: "GMT0BST,M3.5.0/1,M10.5.0").bytes)
        let noon = try Instant("2026-11-20T12:00:00Z")

        let texts = [
            Schedule.every(.seconds(4 * 3600)),
            .every(.seconds(5400), phase: .seconds(600)),
            Schedule(
                .every(.seconds(3600), phase: nil), delay: .milliseconds(61_005),
                flex: .seconds(300)),
            .cron(try CronExpression("0 6,18 * * *"), london),
            Schedule(
                .calendar(try CalendarExpression("Mon..Fri *-*-* 06:00"), .utc), notBefore: noon,
                notAfter: noon + .seconds(1), delay: .seconds(7)),
            .at(noon),
        ].map(\.description)

        #expect(
            texts == [
                "every 4h", "every 1h30m phase 10m", "every 1h flex 5m +1m1s5ms",
                "cron 0 6,18 * * * Europe/London",
                "calendar Mon..Fri *-*-* 06:00 UTC +7s not before 2026-11-20T12:00:00Z "
                    + "not after 2026-11-20T12:00:01Z",
                "at 2026-11-20T12:00:00Z",
            ])
    }
}
