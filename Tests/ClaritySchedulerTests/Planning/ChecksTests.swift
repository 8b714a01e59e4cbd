import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Checks")
struct ChecksTests {
    private let door = Constraint.check(Check(name: "door", validFor: .seconds(60)))

    private func answer(_ value: Bool?, at instant: Instant = .noon) -> Conditions.Reading<Bool> {
        Conditions.Reading(value, source: "exit", at: instant)
    }

    @Test func `a check is asked when a run waits for nothing else, and starts it`() throws {
        var desk = PlanningDesk([try job(constraints: [.idle, door])])
        desk.conditions.idle = .init(false, source: "seat")
        let busy = try desk.handle(.tick)
        desk.conditions.idle = .init(true, source: "seat")

        let asks = try desk.handle(.conditionsChanged)
        desk.conditions.checks["door"] = answer(true)
        let starts = try desk.handle(.conditionsChanged)

        #expect(busy.asks == [])
        #expect(asks.asks == ["door"])
        #expect(!asks.isIdle)
        #expect(
            asks.waiting.first?.deferrals == [
                Deferral(
                    .constraint, subject: "check", wanted: "`door` passes",
                    measured: "not asked", source: "asked when a run depends on it")
            ])
        #expect(starts.asks == [])
        #expect(starts.started.count == 1)
    }

    @Test func `a check that says no is asked again when its answer is too old`() throws {
        var desk = PlanningDesk([try job(constraints: [door])])
        try desk.handle(.tick)
        desk.conditions.checks["door"] = answer(false)

        let waits = try desk.handle(.conditionsChanged)
        desk.pass(.seconds(60))
        let again = try desk.handle(.tick)

        #expect(waits.asks == [])
        #expect(waits.isIdle)
        #expect(waits.wakeAfter == .seconds(60))
        #expect(waits.waiting.first?.deferrals.first?.measured == "does not pass")
        #expect(waits.waiting.first?.deferrals.first?.source == "exit, at 2026-11-20T12:00:00Z")
        #expect(again.asks == ["door"])
    }

    @Test func `a probe is asked once there is a network, and goes by its name`() throws {
        let probe = Constraint.check(Check(name: "probe", subject: "network"))
        var desk = PlanningDesk([try job(constraints: [.connected, probe])])
        desk.conditions.connected = .init(false, source: "route")
        let offline = try desk.handle(.tick)
        desk.conditions.connected = .init(true, source: "route")

        let online = try desk.handle(.conditionsChanged)
        desk.conditions.checks["probe"] = answer(true)
        let starts = try desk.handle(.conditionsChanged)

        #expect(offline.asks == [])
        #expect(online.asks == ["probe"])
        #expect(online.waiting.first?.deferrals.map(\.subject) == ["network"])
        #expect(starts.started.count == 1)
    }

    @Test func `while one check says no, the others are left alone`() throws {
        let nas = Constraint.check(Check(name: "nas", validFor: .seconds(600)))
        var desk = PlanningDesk([try job(constraints: [door, nas])])
        let first = try desk.handle(.tick)
        desk.conditions.checks["nas"] = answer(false)
        desk.conditions.checks["door"] = answer(true)
        try desk.handle(.conditionsChanged)
        desk.pass(.seconds(70))

        let between = try desk.handle(.tick)
        desk.pass(.seconds(530))
        let again = try desk.handle(.tick)

        #expect(first.asks == ["door", "nas"])
        #expect(between.asks == [])
        #expect(again.asks == ["door", "nas"])
    }

    @Test func `nobody asks for a job that is not due`() throws {
        var desk = PlanningDesk([try job(schedule: .at(.noon + .seconds(60)), constraints: [door])])

        let plan = try desk.handle(.tick)

        #expect(plan.asks == [])
        #expect(plan.isIdle)
    }

    @Test func `a check that does not answer holds the run back, unless the job says otherwise`()
        throws
    {
        var careless = try job("b", constraints: [door])
        careless.unknownRules = ["check": .run]
        var desk = PlanningDesk([try job("a", constraints: [door]), careless])
        try desk.handle(.tick)
        desk.conditions.checks["door"] = answer(nil)

        let plan = try desk.handle(.conditionsChanged)

        #expect(plan.started.map(\.job) == [careless.id])
        #expect(plan.waiting.map(\.job.rawValue) == ["a"])
        #expect(plan.asks == [])
    }

    @Test func `an attempt goes on while nobody hears a no`() throws {
        var desk = PlanningDesk([try job(constraints: [door])])
        desk.conditions.checks["door"] = answer(true)
        try desk.handle(.tick)
        desk.pass(.seconds(70))

        let stale = try desk.handle(.tick)
        desk.conditions.checks["door"] = answer(nil, at: desk.moment.wall)
        let silent = try desk.handle(.conditionsChanged)
        desk.conditions.checks["door"] = answer(false, at: desk.moment.wall)
        let refused = try desk.handle(.conditionsChanged)

        #expect(stale.signals == [:])
        #expect(stale.asks == [])
        #expect(silent.signals == [:])
        #expect(refused.signals == [RunID(1): .warn])
    }

    @Test func `an answer from a clock that was set back since counts for nothing`() throws {
        var desk = PlanningDesk([try job(constraints: [door])])
        desk.conditions.checks["door"] = answer(true, at: .noon + .seconds(3600))

        let plan = try desk.handle(.tick)

        #expect(plan.asks == ["door"])
    }

    @Test(.timeLimit(.minutes(5)))
    func `a scheduler that runs what is due waits for the answers`() async throws {
        let conditions = FakeConditions(checks: ["door": true, "nas": false])
        let store = MemoryRunStore()
        let planner = Planner(
            jobs: JobSet([
                try job("a", constraints: [door]),
                try job("b", constraints: [.check(Check(name: "nas"))]),
            ]), owner: "me", seed: 1)
        var scheduler = Scheduler(
            planner: planner, store: store, worker: FakeWorker { _, _ in .success() },
            monitor: conditions, clock: SteppingClock())

        let report = try await scheduler.run(until: .idle)

        #expect(conditions.asked == [["door", "nas"]])
        #expect(report.runs == [RunID(1)])
        #expect(report.waiting.map(\.job.rawValue) == ["b"])
    }
}
