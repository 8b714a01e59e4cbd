import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("How jobs are paused and go on")
struct PauseTests {
    private let hour = Duration.seconds(3600)

    /// Makes a desk whose job ran once, at noon.
    private func desk(_ job: Job) throws -> PlanningDesk {
        var desk = PlanningDesk([job])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        return desk
    }

    @Test func `what is due during a pause is caught up after it, once`() throws {
        var desk = try desk(try job(schedule: .every(hour)))
        try desk.handle(.pause([try id("a")], until: nil, reason: "holidays"))

        desk.pass(hour * 3)
        let during = try desk.handle(.tick)
        let resumed = try desk.handle(.resume([try id("a")]))

        #expect(during.started == [])
        #expect(during.waiting.first?.deferrals.map(\.reason) == [.paused])
        #expect(resumed.started.map(\.scheduledFor) == [.noon + hour * 3])
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .coalesced, first: .noon + hour, latest: .noon + hour * 2,
                    count: 2, run: RunID(2))
            ])
    }

    @Test func `without catch-up what is due during a pause is recorded as paused`() throws {
        var desk = try desk(try job(schedule: .every(hour), catchUp: .none))
        try desk.handle(.pause([try id("a")], until: nil, reason: "holidays"))

        desk.pass(hour * 3)
        let during = try desk.handle(.tick)
        let resumed = try desk.handle(.resume([try id("a")]))
        desk.pass(hour)
        let after = try desk.handle(.tick)

        #expect(during.started == [])
        #expect(resumed.started == [])
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .paused, first: .noon + hour, latest: .noon + hour * 2, count: 2,
                    run: nil),
                .recordOutcome(
                    try id("a"), .paused, first: .noon + hour * 3, latest: .noon + hour * 3,
                    count: 1, run: nil),
            ])
        #expect(after.started.map(\.scheduledFor) == [.noon + hour * 4])
    }

    @Test func `of a paused job the conditions are not read`() throws {
        var desk = try desk(try job(schedule: .every(hour), constraints: [.idle]))
        desk.conditions.idle = Conditions.Reading(false, source: "test")
        try desk.handle(.pause([try id("a")], until: nil, reason: ""))

        desk.pass(hour)
        let plan = try desk.handle(.tick)

        #expect(plan.waiting.first?.deferrals.map(\.reason) == [.paused])
    }

    @Test func `what was due before a pause goes its way when the pause is over`() throws {
        var desk = try desk(try job(schedule: .every(hour)))

        desk.pass(hour)
        let paused = try desk.handle(.pause([try id("a")], until: nil, reason: "holidays"))
        let resumed = try desk.handle(.resume([try id("a")]))

        #expect(paused.started == [])
        #expect(
            paused.waiting.first?.deferrals == [
                Deferral(
                    .paused, subject: "pause", wanted: "a resume",
                    measured: "paused since 2026-11-20T13:00:00Z", source: "holidays")
            ])
        #expect(resumed.started.map(\.scheduledFor) == [.noon + hour])
    }

    @Test func `a pause with an end is over without anybody's word`() throws {
        var desk = try desk(try job(schedule: .every(hour)))
        try desk.handle(.pause([try id("a")], until: .noon + hour * 2, reason: ""))

        // The planner does not run during the pause.
        desk.pass(hour * 4)
        let plan = try desk.handle(.tick)

        #expect(plan.started.map(\.scheduledFor) == [.noon + hour * 4])
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .coalesced, first: .noon + hour, latest: .noon + hour * 3,
                    count: 3, run: RunID(2))
            ])
        #expect(try desk.store.ledger().jobs[try id("a")]?.pause == nil)
    }

    @Test func `an event and a request wait for the end of a pause, and force does not`() throws {
        var desk = PlanningDesk([try job(schedule: nil, events: [.sourceChanged])])
        try desk.handle(.pause([try id("a")], until: .noon + hour, reason: ""))

        let event = try desk.handle(.happened(.sourceChanged))
        let request = try desk.handle(.requested([try id("a")], isForced: false))
        let forced = try desk.handle(.requested([try id("a")], isForced: true))

        #expect(event.waiting.first?.deferrals.map(\.reason) == [.paused])
        #expect(event.wakeAfter == hour)
        #expect(request.started == [])
        #expect(forced.started.map(\.run) == [RunID(1)])
    }

    @Test func `an attempt that runs is not touched by a pause`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)

        let plan = try desk.handle(.pause([try id("a")], until: nil, reason: ""))

        #expect(plan.acts == [])
    }
}
