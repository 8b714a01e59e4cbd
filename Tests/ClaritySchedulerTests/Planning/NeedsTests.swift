import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("What a run needs beyond the constraints of its job")
struct NeedsTests {
    /// Makes a desk on battery power whose first run waits for external power.
    private func runBlocking(
        _ need: NeededCondition = .externalPower, constraints: [Constraint] = [],
        relaxations: [Relaxation] = []
    ) throws -> PlanningDesk {
        var heeding = try job(constraints: constraints, relaxations: relaxations, attempts: 1)
        heeding.heedsConditions = true
        var desk = PlanningDesk([heeding])
        try desk.handle(.tick)
        desk.conditions.externalPower = Conditions.Reading(false, source: "the socket")
        desk.conditions.metered = Conditions.Reading(true, source: "the phone")
        try desk.handle(.finished(RunID(1), .awaits(need)))
        return desk
    }

    private func run(_ desk: PlanningDesk) throws -> Run {
        try #require(desk.store.runs[RunID(1)])
    }

    @Test func `a run that awaits something has not failed and is put back`() throws {
        let desk = try runBlocking()

        let run = try run(desk)
        #expect(run.state == .enqueued)
        #expect(run.needs == .externalPower)
        #expect(run.failures == 0 && run.attempts == 1)
        #expect(run.failure == Failure(.work, "more than may go by this way"))
        #expect(desk.store.attempts[RunID(1)]?[1]?.result == .stopped)
    }

    @Test func `a login is acted upon at once`() throws {
        var desk = PlanningDesk([try job(attempts: 1)])
        desk.conditions.login = .unknown("nobody")
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .awaits(.login)))
        let waiting = try run(desk)
        desk.conditions.login = Conditions.Reading(true, source: "a person")

        let plan = try desk.handle(.conditionsChanged)

        #expect(waiting.state == .enqueued && waiting.notBefore == nil)
        #expect(plan.started.map(\.run) == [RunID(1)])
    }

    @Test func `a forced run that finds nobody logged in does not start again by itself`() throws {
        var desk = PlanningDesk([try job(attempts: 1)])
        desk.conditions.login = .unknown("nobody")
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .awaits(.login)))
        try desk.handle(.requested([try id("a")], isForced: true))

        let plan = try desk.handle(.finished(RunID(1), .awaits(.login)))

        #expect(plan.started.isEmpty)
        #expect(plan.waiting.first?.deferrals.map(\.subject) == ["login"])
    }

    @Test(arguments: [
        (NeededCondition.login, Failure.Category.credential, false), (.login, .unreachable, true),
        (.source, .configuration, true), (.externalPower, .unreachable, false),
    ])
    func `the next occurrence ends a need that something else may have met`(
        need: NeededCondition, category: Failure.Category, isOver: Bool
    ) throws {
        var desk = PlanningDesk([try job(attempts: 1)])
        desk.conditions.login = .unknown("nobody")
        desk.conditions.source = .unknown("none")
        desk.conditions.externalPower = .unknown("none")
        try desk.handle(.tick)
        let end = AttemptEnd(.reported(.awaits(need, Failure(category, "it"))))
        try desk.handle(.finished(RunID(1), end))

        desk.pass(.seconds(7 * 86_400))
        try desk.handle(.tick)

        #expect(try run(desk).attempts == (isOver ? 2 : 1))
    }

    @Test(arguments: [
        (NeededCondition.externalPower, "external_power", "on external power", "on battery"),
        (.unmetered, "network_unmetered", "unmetered", "metered"),
    ])
    func `a run waits for its need and shows what was measured`(
        need: NeededCondition, subject: String, wanted: String, measured: String
    ) throws {
        var desk = try runBlocking(need)
        desk.pass(.seconds(60))

        let plan = try desk.handle(.conditionsChanged)

        let deferral = try #require(plan.waiting.first?.deferrals.first)
        #expect(plan.waiting.first?.deferrals.count == 1)
        #expect(deferral.reason == .constraint && deferral.subject == subject)
        #expect(deferral.wanted == wanted && deferral.measured == measured)
        #expect(deferral.source.hasSuffix("; the run itself asks for it"))
        #expect(plan.wakeAfter == Planner.announcedRecheck)
    }

    @Test func `a run goes on when its need holds, and then needs nothing`() throws {
        var desk = try runBlocking()
        desk.pass(.seconds(3600))
        try desk.handle(.tick)
        desk.conditions.externalPower.value = true

        let plan = try desk.handle(.conditionsChanged)

        #expect(plan.started.map(\.attempt) == [2])
        #expect(try run(desk).needs == nil)
        try desk.handle(.finished(RunID(1), .success()))
        #expect(try run(desk).state == .succeeded)
    }

    @Test func `a run whose need already holds waits all the same`() throws {
        var desk = try runBlocking()
        desk.conditions.externalPower.value = true

        #expect(try desk.handle(.conditionsChanged).started.isEmpty)
        desk.pass(.seconds(30))
        #expect(try desk.handle(.tick).started.map(\.attempt) == [2])
    }

    @Test func `force overrides a need, and the worker gets no conditions`() throws {
        var desk = try runBlocking()

        let plan = try desk.handle(.requested([try id("a")], isForced: true))

        #expect(plan.started.map(\.attempt) == [2])
        #expect(plan.started.map(\.conditions) == [OrderConditions()])
    }

    @Test func `a request without force does not override a need`() throws {
        var desk = try runBlocking()

        #expect(try desk.handle(.requested([try id("a")], isForced: false)).started.isEmpty)
    }

    @Test func `a ladder that drops the constraint drops the need`() throws {
        var desk = try runBlocking(
            constraints: [.externalPower],
            relaxations: [Relaxation(after: .seconds(7200), drops: "external_power")])
        desk.pass(.seconds(7199))
        #expect(try desk.handle(.tick).started.isEmpty)
        desk.pass(.seconds(1))

        #expect(try desk.handle(.tick).started.map(\.attempt) == [2])
    }

    @Test func `a need that is a constraint of the job too is said once`() throws {
        var desk = try runBlocking(constraints: [.externalPower])
        desk.pass(.seconds(60))

        let plan = try desk.handle(.tick)

        #expect(plan.waiting.first?.deferrals.map(\.source) == ["the socket"])
    }

    @Test func `a run that was stopped meanwhile needs nothing`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        desk.pass(.seconds(80))
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), .awaits(.externalPower)))

        #expect(try run(desk).state == .enqueued)
        #expect(try run(desk).needs == nil)
        #expect(try run(desk).stopReason == .timeout)
    }

    @Test func `an explanation lists a need among the constraints`() throws {
        var desk = try runBlocking()
        desk.pass(.seconds(60))
        try desk.handle(.tick)

        let explanation = try #require(
            desk.planner.explanation(
                of: try id("a"), at: desk.moment, conditions: desk.conditions,
                ledger: try desk.store.ledger(), past: JobPast()))

        let factor = try #require(explanation.factors.first)
        #expect(factor.subject == "external_power" && factor.state == .unmet)
        #expect(factor.source == "the socket; the run itself asks for it")
        #expect(factor.change == .meet(.externalPower))
    }

    @Test func `a kind that heeds conditions is told them at its start`() throws {
        var heeding = try job(relaxations: [Relaxation(after: .seconds(0), drops: "network")])
        heeding.heedsConditions = true
        var desk = PlanningDesk([heeding, try job("b")])
        desk.conditions.externalPower.value = nil

        let orders = try desk.handle(.tick).started

        // The network constraint of a late run is relaxed, and the power state is unknown.
        #expect(orders.map(\.conditions) == [OrderConditions(), OrderConditions()])
        desk = PlanningDesk([
            try job("b"),
            {
                var job = heeding; job.relaxations = []; return job
            }(),
        ])
        desk.conditions.metered.value = true
        let told = try desk.handle(.tick).started
        #expect(
            told.map(\.conditions) == [
                OrderConditions(), OrderConditions(metered: true, externalPower: true),
            ])
    }

    @Test func `for kinds that heed no conditions, nothing is measured`() throws {
        var planner = Planner(jobs: JobSet([try job()]), owner: "me", seed: 1)
        var isAsked = false

        let plan = planner.handle(
            [.tick], at: Moment(wall: .noon, elapsed: .zero),
            conditions: {
                isAsked = true; return Conditions()
            }(), ledger: Ledger())

        #expect(plan.started.count == 1 && !isAsked)
    }
}
