import ClarityScheduler
import Testing

struct ScheduleTests {
    private static func at(_ milliseconds: Int64) -> Instant {
        Instant(millisecondsSince1970: milliseconds)
    }

    @Test(arguments: [
        // period, anchor, after, next
        (1000, 0, -1, 0), (1000, 0, 0, 1000), (1000, 0, 999, 1000), (1000, 0, 1000, 2000),
        (1000, 300, 299, 300), (1000, 300, 300, 1300), (1000, 300, 5000, 5300),
        // The anchor is in the future, and becomes the first occurrence.
        (1000, 10_000, 0, 10_000), (1000, 10_000, -86_400_000, 10_000),
        // Before 1970, and across it.
        (1000, -1500, -1501, -1500), (1000, -1500, -1500, -500), (1000, -1500, -1, 500),
        (14_400_000, 1_795_154_400_000, 1_795_168_800_001, 1_795_183_200_000),
        (1, 0, .max - 1, .max), (.max, 0, 0, .max), (.max, .min, .min, -1),
    ])
    func `an interval counts from its anchor`(
        period: Int64, anchor: Int64, after: Int64, next: Int64
    ) {
        let schedule = Schedule.every(.milliseconds(period))

        let found = schedule.next(after: ScheduleTests.at(after), anchor: ScheduleTests.at(anchor))

        #expect(found == ScheduleTests.at(next))
    }

    @Test func `an interval ends where instants end`() {
        let schedule = Schedule.every(.seconds(1))
        let latest = ScheduleTests.at(.max)

        let found = schedule.next(after: latest, anchor: ScheduleTests.at(0))

        #expect(found == nil)
    }

    @Test(arguments: [
        // period, anchor, after, through, first, latest, count
        (1000, 0, 0, 1000, 1000, 1000, 1), (1000, 0, 0, 3999, 1000, 3000, 3),
        (1000, 0, -1, 0, 0, 0, 1), (1000, 0, -5000, 2500, 0, 2000, 3),
        (1000, -250, -5000, 2500, -250, 1750, 3), (1000, 0, 2500, 5000, 3000, 5000, 3),
        (1, .min, .min, .max, .min + 1, .max, .max),
        (3_600_000, 0, 0, 31_557_600_000_000, 3_600_000, 31_557_600_000_000, 8_766_000),
    ])
    func `what is due of an interval is counted with its ends`(
        period: Int64, anchor: Int64, after: Int64, through: Int64, first: Int64, latest: Int64,
        count: Int
    ) {
        let schedule = Schedule.every(.milliseconds(period))

        let due = schedule.due(
            after: ScheduleTests.at(after), through: ScheduleTests.at(through),
            anchor: ScheduleTests.at(anchor))

        #expect(
            due
                == DueOccurrences(
                    first: ScheduleTests.at(first), latest: ScheduleTests.at(latest),
                    count: count))
    }

    @Test(arguments: [(0, 999, 0), (0, 5000, 5001), (1000, 1000, 0), (2000, 1000, 0)])
    func `nothing of an interval is due between occurrences or backwards`(
        after: Int64, through: Int64, anchor: Int64
    ) {
        let schedule = Schedule.every(.seconds(1))

        let due = schedule.due(
            after: ScheduleTests.at(after), through: ScheduleTests.at(through),
            anchor: ScheduleTests.at(anchor))

        #expect(due == nil)
    }

    @Test func `a single occurrence comes once`() {
        let once = ScheduleTests.at(5000)
        let schedule = Schedule.at(once)
        func due(_ after: Int64, _ through: Int64) -> DueOccurrences? {
            schedule.due(
                after: ScheduleTests.at(after), through: ScheduleTests.at(through), anchor: once)
        }

        #expect(schedule.next(after: ScheduleTests.at(4999), anchor: once) == once)
        #expect(schedule.next(after: once, anchor: once) == nil)
        #expect(due(4999, 5000) == DueOccurrences(first: once, latest: once, count: 1))
        #expect(due(0, 4999) == nil)
        #expect(due(5000, 9000) == nil)
    }

    @Test(arguments: [
        // period, phase, after, next: the anchor of 7 ms has no effect.
        (3_600_000, 600_000, 0, 600_000), (3_600_000, 600_000, 600_000, 4_200_000),
        (3_600_000, 600_000, 1_795_154_400_000, 1_795_155_000_000), (1000, 0, -5, 0),
    ])
    func `an interval with a phase counts from 1970`(
        period: Int64, phase: Int64, after: Int64, next: Int64
    ) {
        let schedule = Schedule.every(.milliseconds(period), phase: .milliseconds(phase))

        let found = schedule.next(after: ScheduleTests.at(after), anchor: ScheduleTests.at(7))
        let due = schedule.due(
            after: ScheduleTests.at(after), through: ScheduleTests.at(next),
            anchor: ScheduleTests.at(7))

        #expect(found == ScheduleTests.at(next))
        #expect(due?.first == ScheduleTests.at(next))
    }

    @Test(
        arguments: [
            // count, after, through, latest
            (3, 0, 10_000, [8000, 9000, 10_000]), (2, 0, 9999, [8000, 9000]),
            (5, 0, 2000, [1000, 2000]),
            (5, -1, 2000, [0, 1000, 2000]), (0, 0, 9000, []), (1, 5000, 5000, []),
            (1, 5000, 4000, []),
            (2, 0, .max, [9_223_372_036_854_774_000, 9_223_372_036_854_775_000]),
        ] as [(Int, Int64, Int64, [Int64])])
    func `the latest of an interval are its last, oldest first`(
        count: Int, after: Int64, through: Int64, latest: [Int64]
    ) {
        let schedule = Schedule.every(.seconds(1))

        let found = schedule.latest(
            count, after: ScheduleTests.at(after), through: ScheduleTests.at(through),
            anchor: ScheduleTests.at(0))

        #expect(found == latest.map { ScheduleTests.at($0) })
    }

    @Test func `the latest of a decade of minutes are found without walking it`() throws {
        let schedule = Schedule.cron(try CronExpression("* * * * *"), .utc)
        let (start, end) = (
            try Instant("2014-05-13T16:53:20Z"), try Instant("2024-05-10T16:53:20Z")
        )

        let found = schedule.latest(3, after: start, through: end, anchor: start)

        #expect(
            try found == [
                Instant("2024-05-10T16:51:00Z"), Instant("2024-05-10T16:52:00Z"),
                Instant("2024-05-10T16:53:00Z"),
            ])
    }
}
