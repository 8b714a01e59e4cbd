import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("How long runs wait and how they give way")
struct PatienceTests {
    private let hour = Duration.seconds(3600)
    private let busy = Conditions.Reading(false, source: "test")

    @Test func `a run that does not start within its time is skipped and says what it waited for`()
        throws
    {
        var desk = PlanningDesk(
            [try job(constraints: [.idle], startWithin: .seconds(3600))])
        desk.conditions.idle = busy
        let first = try desk.handle(.tick)

        desk.pass(hour)
        let last = try desk.handle(.tick)
        desk.pass(.milliseconds(1))
        try desk.handle(.tick)

        #expect(first.wakeAfter == Planner.announcedRecheck)
        #expect(last.wakeAfter == .milliseconds(1))
        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.state == .skipped)
        #expect(run.failure?.reason == "not started within 1h, waiting for idle")
    }

    @Test func `occurrences that nobody saw before their start deadline have expired`() throws {
        var desk = PlanningDesk([try job(schedule: .every(hour * 4), startWithin: .seconds(3600))])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.pass(hour * 10)
        let plan = try desk.handle(.tick)

        #expect(plan.started == [])
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .expired, first: .noon + hour * 4, latest: .noon + hour * 8,
                    count: 2, run: nil)
            ])
    }

    @Test func `a run that was asked for has no start deadline`() throws {
        var desk = PlanningDesk(
            [try job(schedule: nil, constraints: [.idle], startWithin: .seconds(60))],
            scope: .requested)
        desk.conditions.idle = busy
        try desk.handle(.requested([try id("a")], isForced: false))

        desk.pass(hour)
        try desk.handle(.tick)

        #expect(desk.store.runs[RunID(1)]?.state == .enqueued)
    }

    @Test func `a late run drops its constraints step by step`() throws {
        let ladder = [
            Relaxation(after: .seconds(7200), drops: "external_power"),
            Relaxation(after: .seconds(30), drops: "idle"),
        ]
        var desk = PlanningDesk(
            [try job(constraints: [.idle, .externalPower], relaxations: ladder)])
        desk.conditions.idle = busy
        desk.conditions.externalPower = busy
        let first = try desk.handle(.tick)

        desk.pass(.seconds(30))
        let second = try desk.handle(.tick)
        desk.pass(.seconds(7170))
        let third = try desk.handle(.tick)
        let running = try desk.handle(.conditionsChanged)

        #expect(first.waiting.first?.deferrals.map(\.subject) == ["idle", "external_power"])
        #expect(first.wakeAfter == .seconds(30))
        #expect(second.waiting.first?.deferrals.map(\.subject) == ["external_power"])
        #expect(third.started.map(\.run) == [RunID(1)])
        #expect(running.signals == [:])
    }

    @Test(arguments: [(OverlapPolicy.queue, true), (.replace, false)])
    func `relax counts from the first occurrence of a run, and anew for one that replaces it`(
        overlap: OverlapPolicy, drops: Bool
    ) throws {
        var desk = PlanningDesk(
            [
                try job(
                    schedule: .every(hour), constraints: [.idle],
                    relaxations: [Relaxation(after: .seconds(5400), drops: "idle")],
                    overlap: overlap)
            ])
        desk.conditions.idle = busy
        try desk.handle(.tick)
        desk.pass(hour)
        try desk.handle(.tick)

        desk.pass(.seconds(1800))
        let plan = try desk.handle(.tick)

        #expect(plan.started.map(\.scheduledFor) == (drops ? [.noon + hour] : []))
    }

    @Test func `a lost constraint lets an attempt finish where the job says so`() throws {
        var desk = PlanningDesk([try job(constraints: [.idle], onLost: .finish)])
        try desk.handle(.tick)

        desk.conditions.idle = busy
        let plan = try desk.handle(.conditionsChanged)

        #expect(plan.signals == [:])
    }

    @Test func `a constraint that comes back in time stops nothing`() throws {
        var desk = PlanningDesk(
            [try job(constraints: [.idle], onLost: .finishWithin(.seconds(30)), timeout: hour)])
        let idle = desk.conditions.idle
        try desk.handle(.tick)

        desk.conditions.idle = busy
        let lost = try desk.handle(.conditionsChanged)
        desk.pass(.seconds(29))
        desk.conditions.idle = idle
        try desk.handle(.conditionsChanged)
        desk.conditions.idle = busy
        let again = try desk.handle(.conditionsChanged)
        desk.pass(.seconds(29))
        let still = try desk.handle(.tick)
        desk.pass(.seconds(1))
        let stopped = try desk.handle(.tick)

        #expect(lost.signals == [:])
        #expect(lost.wakeAfter == .seconds(30))
        #expect(again.signals == [:])
        #expect(still.signals == [:])
        #expect(still.wakeAfter == .seconds(1))
        #expect(stopped.signals == [RunID(1): .warn])
    }

    @Test func `a run that lost a constraint is not restarted at once`() throws {
        var desk = PlanningDesk([try job(constraints: [.idle])])
        let idle = desk.conditions.idle
        try desk.handle(.tick)
        desk.conditions.idle = busy
        try desk.handle(.conditionsChanged)
        try desk.handle(.finished(RunID(1), .killed()))

        desk.conditions.idle = idle
        let atOnce = try desk.handle(.conditionsChanged)
        desk.pass(.seconds(30))
        let later = try desk.handle(.tick)

        #expect(atOnce.started == [])
        #expect(desk.store.runs[RunID(1)]?.failures == 0)
        #expect(later.started.map(\.attempt) == [2])
    }

    @Test func `an attempt without progress is stopped and counts as failed`() throws {
        var desk = PlanningDesk([try job(stall: .seconds(30), timeout: hour)])
        try desk.handle(.tick)

        desk.pass(.seconds(20))
        try desk.handle(.progressed(RunID(1), at: .seconds(15)))
        desk.pass(.seconds(24))
        let before = try desk.handle(.tick)
        desk.pass(.seconds(1))
        let stalled = try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .killed()))

        #expect(before.signals == [:])
        #expect(before.wakeAfter == .seconds(1))
        #expect(stalled.signals == [RunID(1): .warn])
        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.failures == 1)
        #expect(run.stopReason == .stalled)
        #expect(run.failure?.reason == "made no progress for 30s")
    }

    @Test func `an attempt that slept with the machine has not stalled`() throws {
        var desk = PlanningDesk([try job(stall: .seconds(30), timeout: hour * 24)])
        try desk.handle(.tick)

        desk.pass(hour)
        let woken = try desk.handle(.tick)
        desk.pass(.seconds(30))
        let stalled = try desk.handle(.tick)

        #expect(woken.signals == [:])
        #expect(stalled.signals == [RunID(1): .warn])
    }
}
