import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Occurrences of the past that a person asks for")
struct BackfillTests {
    private static let hour = Duration.seconds(3600)
    private static let past = (1...3).map { Instant.noon - hour * (30 - $0) }

    private func desk(
        _ jobs: [Job], maxParallel: Int = 4
    ) -> PlanningDesk {
        PlanningDesk(jobs, maxParallel: maxParallel)
    }

    /// Finishes runs until none is running, and returns their occurrences in the order of the runs.
    private func finishAll(_ desk: inout PlanningDesk) throws -> [Instant] {
        var ran: [Instant] = []
        while let run = desk.store.runs.values.first(where: { $0.state == .running }) {
            ran.append(run.occurrence)
            try desk.handle(.finished(run.id, .success()))
        }
        return ran
    }

    @Test func `each requested occurrence runs once, in order, with its own time`() throws {
        var desk = desk([try job("a", schedule: nil)])

        let plan = try desk.handle(.backfill(try id("a"), Self.past))
        let ran = try finishAll(&desk)

        #expect(plan.started.map(\.scheduledFor) == [Self.past[0]])
        #expect(ran == Self.past)
        #expect(desk.store.runs.values.allSatisfy { $0.trigger == .backfill && $0.attempts == 1 })
    }

    @Test func `an occurrence that already waits is not requested again`() throws {
        var desk = desk([try job("a", schedule: nil, constraints: [.externalPower])])
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")

        try desk.handle(.backfill(try id("a"), Self.past))
        try desk.handle(.backfill(try id("a"), Self.past + [Self.past[0] - Self.hour]))

        #expect(desk.store.runs.count == 4)
    }

    @Test func `constraints hold a backfill back, and only its first run says so`() throws {
        var desk = desk([try job("a", schedule: nil, constraints: [.externalPower])])
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")

        let plan = try desk.handle(.backfill(try id("a"), Self.past))

        #expect(plan.started.isEmpty)
        #expect(desk.store.deferrals.keys.sorted() == [RunID(1)])
        #expect(desk.store.deferrals[RunID(1)]?.map(\.subject) == ["external_power"])
    }

    @Test(arguments: [CatchUpPolicy.none, .latest])
    func `neither start_within nor catch_up ends it, and nothing is relaxed at once`(
        catchUp: CatchUpPolicy
    ) throws {
        var desk = desk([
            try job(
                "a", schedule: nil, constraints: [.externalPower],
                relaxations: [Relaxation(after: Self.hour, drops: Constraint.externalPower.name)],
                startWithin: Self.hour * 2, catchUp: catchUp)
        ])
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(.backfill(try id("a"), [Self.past[0]]))

        let explanation = try #require(
            desk.planner.explanation(
                of: try id("a"), at: desk.moment, conditions: desk.conditions,
                ledger: try desk.store.ledger(), past: JobPast()))
        desk.pass(Self.hour / 2)
        let before = try desk.handle(.tick)
        desk.pass(Self.hour / 2)
        let after = try desk.handle(.tick)

        #expect(explanation.expiresAt == nil)
        #expect(before.started.isEmpty)
        #expect(after.started.map(\.scheduledFor) == [Self.past[0]])
    }

    @Test(arguments: OverlapPolicy.allCases)
    func `a new occurrence runs before the backfill and replaces none of it`(overlap: OverlapPolicy)
        throws
    {
        var desk = desk([
            try job(schedule: .every(Self.hour), constraints: [.externalPower], overlap: overlap)
        ])
        try desk.handle(.tick)
        _ = try finishAll(&desk)
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(.backfill(try id("a"), Self.past))
        desk.pass(Self.hour)
        try desk.handle(.tick)

        desk.conditions.externalPower = Conditions.Reading(true, source: "test")
        try desk.handle(.conditionsChanged)
        let ran = try finishAll(&desk)

        #expect(ran == [.noon + Self.hour] + Self.past)
    }

    @Test func `a request, an event and a chain get runs of their own`() throws {
        var desk = desk([
            try job("a", schedule: nil, constraints: [.externalPower], events: [.boot]),
            try job("b", schedule: nil, then: [try id("a")]),
        ])
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(.backfill(try id("a"), Self.past))

        try desk.handle(.happened(.boot))

        #expect(desk.store.runs.values.filter { $0.trigger == .event }.count == 1)
        try desk.handle(.requested([try id("a")], isForced: true))
        let started = desk.store.runs.values.first { $0.state == .running }
        #expect(started?.trigger == .event)
    }

    @Test func `a failed occurrence can be requested again, a succeeded one cannot`() throws {
        var desk = desk([try job("a", schedule: nil, attempts: 1)])
        try desk.handle(.backfill(try id("a"), [Self.past[0]]))
        try desk.handle(.finished(RunID(1), .failure))

        try desk.handle(.backfill(try id("a"), [Self.past[0]]))
        try desk.handle(.finished(RunID(2), .success()))

        #expect(desk.store.runs[RunID(2)]?.state == .succeeded)
        #expect(throws: (any Error).self) {
            try desk.handle(.backfill(try id("a"), [Self.past[0]]))
        }
    }
}
