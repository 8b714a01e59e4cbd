import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("What a scheduler that runs what is due starts")
struct DueScopeTests {
    private let done = EventName("half-done")

    @Test func `a run that falls due later waits for the next scheduler`() throws {
        let jobs = [try job(schedule: .every(.seconds(60)), overlap: .queue)]
        var desk = PlanningDesk(jobs, scope: .due)
        let first = try desk.handle(.tick)
        desk.pass(.seconds(90))
        try desk.handle(.tick)
        desk.pass(.seconds(60))

        let end = try desk.handle(.finished(RunID(1), .success()))
        var next = PlanningDesk(jobs, store: desk.store, owner: "next", scope: .due)
        next.moment = desk.moment
        let later = try next.handle(.tick)

        #expect(first.started.map(\.run) == [RunID(1)])
        #expect(end.started == [])
        #expect(end.waiting == [])
        #expect(end.isIdle)
        #expect(later.started.map(\.run) == [RunID(2)])
        #expect(later.started.map(\.scheduledFor) == [.noon + .seconds(120)])
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .coalesced, first: .noon + .seconds(120),
                    latest: .noon + .seconds(120), count: 1, run: RunID(2))
            ])
    }

    @Test func `followers, events and retries of its runs belong to it`() throws {
        var desk = PlanningDesk(
            [
                try job("a", then: [try id("b")]), try job("b", schedule: nil),
                try job("c", schedule: nil, events: [done]), try job("d"),
                try job("e", schedule: .at(.noon + .seconds(60)), then: [try id("b")]),
            ], scope: .due)
        try desk.handle(.tick)
        var success = AttemptEnd.success()
        success.events = [done]

        let next = try desk.handle(.finished(RunID(1), success), .finished(RunID(2), .retry()))
        desk.pass(.seconds(60))
        let again = try desk.handle(.tick)

        #expect(next.started.map(\.job) == [try id("c"), try id("b")])
        #expect(again.started.map(\.job) == [try id("d")])
        #expect(again.started.map(\.attempt) == [2])
    }

    @Test func `a waiting run that a follower stands for starts as well`() throws {
        var desk = PlanningDesk(
            [
                try job("a", then: [try id("b")]),
                try job("b", schedule: .at(.noon + .seconds(60))),
            ], scope: .due)
        try desk.handle(.tick)
        desk.pass(.seconds(60))
        let due = try desk.handle(.tick)

        let next = try desk.handle(.finished(RunID(1), .success()))

        #expect(due.started == [])
        #expect(next.started.map(\.job) == [try id("b")])
    }

    @Test func `a backfill goes on while a later occurrence waits`() throws {
        var desk = PlanningDesk(
            [try job(schedule: .at(.noon + .seconds(60)), overlap: .queue)], scope: .due)
        let past = [.noon - .seconds(7200), .noon - .seconds(3600)]
        let first = try desk.handle(.backfill(try id("a"), past))
        desk.pass(.seconds(60))
        try desk.handle(.tick)

        let second = try desk.handle(.finished(RunID(1), .success()))
        let end = try desk.handle(.finished(RunID(2), .success()))

        #expect(first.started.map(\.scheduledFor) == [past[0]])
        #expect(second.started.map(\.scheduledFor) == [past[1]])
        #expect(end.started == [])
    }

    @Test func `flex starts a run at the beginning and not later`() throws {
        let early = Schedule(.every(.seconds(3600), phase: nil), flex: .seconds(1800))
        var desk = PlanningDesk([try job(schedule: early)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        var inTime = PlanningDesk([try job(schedule: early)], store: desk.store, scope: .due)
        inTime.moment.wall = .noon + .seconds(1800)

        let atOnce = try inTime.handle(.tick)
        inTime.pass(.seconds(3600))
        let later = try inTime.handle(.finished(RunID(2), .success()))

        #expect(atOnce.started.map(\.scheduledFor) == [.noon + .seconds(3600)])
        #expect(later.started == [])
        #expect(try inTime.store.ledger().open.isEmpty)
    }
}
