import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("What a step of the wall clock does")
struct SteppedClockTests {
    @Test func `a clock set back a little waits until it is where it was`() throws {
        var desk = PlanningDesk([try job(schedule: .every(.seconds(60)))])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.moment.wall = .noon - .seconds(600)
        let set = try desk.handle(.tick)

        #expect(set.started == [])
        #expect(set.wakeAfter == .seconds(660))
        #expect(try desk.store.ledger().jobs[try id("a")]?.clock?.considered == .noon)
    }

    @Test(arguments: [
        (Duration.seconds(3 * 3600), Instant.noon),
        (.seconds(3 * 3600) + .milliseconds(1), .noon - .milliseconds(10_800_001)),
        (.seconds(80 * 366 * 86_400), .noon - .seconds(80 * 366 * 86_400)),
    ])
    func `a clock set back by more than three hours takes the schedules along`(
        step: Duration, considered: Instant
    ) throws {
        var desk = PlanningDesk([try job(schedule: .every(.seconds(900)))])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.moment.wall = .noon - step
        try desk.handle(.tick)

        #expect(try desk.store.ledger().jobs[try id("a")]?.clock?.considered == considered)
    }

    @Test func `a schedule goes on from the clock that was set back`() throws {
        var desk = PlanningDesk([try job(schedule: .every(.seconds(900)))])
        desk.moment.wall = .noon + .seconds(1_000_000_000)
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.moment.wall = .noon
        let set = try desk.handle(.tick)
        desk.pass(.seconds(900))
        let next = try desk.handle(.tick)

        #expect(set.started == [])
        #expect(set.wakeAfter == .seconds(900))
        #expect(next.started.map(\.scheduledFor) == [.noon + .seconds(900)])
    }

    @Test func `an occurrence that a wrong clock passed runs when it really comes`() throws {
        var desk = PlanningDesk([try job(schedule: .every(.seconds(7200)))])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        desk.moment.wall = .noon + .seconds(14_400)
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(2), .success()))

        desk.moment.wall = .noon
        try desk.handle(.tick)
        desk.pass(.seconds(14_400))
        let again = try desk.handle(.tick)

        #expect(again.started.map(\.scheduledFor) == [.noon + .seconds(14_400)])
    }

    @Test func `a backoff from a clock that was set back is over`() throws {
        var desk = PlanningDesk([try job(schedule: nil)])
        try desk.handle(.requested([try id("a")], isForced: false))
        try desk.handle(.finished(RunID(1), .retry(after: RetryPolicy.longestMaximum)))

        desk.moment.wall = .noon - .milliseconds(1)
        let again = try desk.handle(.tick)

        #expect(again.started.map(\.attempt) == [2])
    }

    @Test func `an earliest begin from a clock that was set back is over`() throws {
        var desk = PlanningDesk(
            [try job(schedule: nil, earliestBegin: .seconds(900), events: [.sourceChanged])])
        try desk.handle(.requested([try id("a")], isForced: false))
        try desk.handle(.finished(RunID(1), .success()))

        desk.moment.wall = .noon - .seconds(1)
        let next = try desk.handle(.happened(.sourceChanged))

        #expect(next.started.map(\.run) == [RunID(2)])
    }

    @Test func `the list follows a clock that was set back`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.moment.wall = .noon - .seconds(86_400)
        let statuses = desk.planner.statuses(
            at: desk.moment, conditions: desk.conditions, ledger: try desk.store.ledger())

        #expect(statuses.map(\.next) == [.noon - .seconds(86_400 - 4 * 3600)])
    }

    @Test(arguments: [(Duration.seconds(600), true), (.seconds(4 * 3600), false)])
    func `the status says until when a schedule waits for a clock that was set back`(
        step: Duration, waits: Bool
    ) throws {
        var desk = PlanningDesk(
            [try job(schedule: .every(.seconds(3600))), try job("b", schedule: nil)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        func statuses() throws -> [JobStatus] {
            desk.planner.statuses(
                at: desk.moment, conditions: desk.conditions, ledger: try desk.store.ledger())
        }
        let before = try statuses()

        desk.moment.wall = .noon - step
        let after = try statuses()

        #expect(before.map(\.setBackUntil) == [nil, nil])
        #expect(after.map(\.setBackUntil) == [waits ? .noon : nil, nil])
    }

    @Test func `an occurrence that flex started early does not look like a clock set back`() throws
    {
        let schedule = Schedule(.every(.seconds(3600), phase: nil), flex: .seconds(1800))
        var desk = PlanningDesk([try job(schedule: schedule)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        desk.pass(.seconds(1800))
        try desk.handle(.tick)

        let status = desk.planner.statuses(
            at: desk.moment, conditions: desk.conditions, ledger: try desk.store.ledger())

        #expect(status.map(\.next) == [.noon + .seconds(7200)])
        #expect(status.map(\.setBackUntil) == [nil])
    }
}
