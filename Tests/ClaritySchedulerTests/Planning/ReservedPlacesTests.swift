import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("The places that runs reserve while their checks are being asked")
struct ReservedPlacesTests {
    private let door = Constraint.check(Check(name: "door", validFor: .seconds(60)))

    /// Makes a desk with a low job, run 1, and a high one whose check nobody has asked, run 2.
    private func desk(maxParallel: Int = 1, others: [Job] = []) throws -> PlanningDesk {
        PlanningDesk(
            [try job("low", priority: .low), try job("high", constraints: [door], priority: .high)]
                + others, maxParallel: maxParallel)
    }

    private func answer(_ value: Bool?) -> Conditions.Reading<Bool> {
        Conditions.Reading(value, source: "exit", at: .noon)
    }

    @Test func `a lower run waits while the check of a higher one is being asked`() throws {
        var desk = try desk()

        let asks = try desk.handle(.tick)
        let waits = desk.store.deferrals[RunID(1)]
        desk.conditions.checks["door"] = answer(true)
        let starts = try desk.handle(.conditionsChanged)

        #expect(asks.asks == ["door"])
        #expect(asks.started == [])
        #expect(
            waits == [
                Deferral(
                    .overlap, subject: "max_parallel", wanted: "fewer than 1 attempts at once",
                    measured: "0, and 1 reserved: run 2 of high waits for check `door`",
                    source: "a check that is being asked")
            ])
        #expect(starts.started.map(\.job) == [try id("high")])
    }

    @Test(arguments: [false, nil])
    func `an answer that is not yes frees the place`(value: Bool?) throws {
        var desk = try desk()
        try desk.handle(.tick)
        desk.conditions.checks["door"] = answer(value)

        let plan = try desk.handle(.conditionsChanged)

        #expect(plan.started.map(\.job) == [try id("low")])
    }

    @Test func `a check that never answers reserves no place for ever`() throws {
        var desk = try desk(others: [try job("other", priority: .low)])
        let asks = try desk.handle(.tick)

        desk.pass(Planner.longestReservation - .milliseconds(1))
        let last = try desk.handle(.tick)
        desk.pass(.milliseconds(1))
        let over = try desk.handle(.tick)
        let next = try desk.handle(.finished(RunID(1), .success()))

        #expect(asks.wakeAfter == Planner.longestReservation)
        #expect(last.started == [])
        #expect(last.wakeAfter == .milliseconds(1))
        #expect(over.started.map(\.job) == [try id("low")])
        #expect(over.asks == ["door"])
        #expect(next.started.map(\.job) == [try id("other")])
    }

    @Test func `a run reserves one place, and the others are free`() throws {
        var desk = try desk(maxParallel: 2, others: [try job("other", priority: .low)])

        let asks = try desk.handle(.tick)
        let status = desk.planner.statuses(
            at: desk.moment, conditions: desk.conditions, ledger: try desk.store.ledger())

        #expect(asks.started.map(\.job) == [try id("low")])
        #expect(
            status.last?.deferrals.map(\.measured) == [
                "1: run 1 of low in this process, and 1 reserved: run 2 of high waits for "
                    + "check `door`"
            ])
    }

    @Test func `a run that waited for a place is not missed while its check is asked again`()
        throws
    {
        var desk = try PlanningDesk(
            [
                job("first", timeout: .seconds(3600)),
                job("a", constraints: [door], catchUp: .none),
            ], maxParallel: 1)
        desk.conditions.checks["door"] = answer(true)
        try desk.handle(.tick)
        desk.pass(.seconds(1200))

        let asks = try desk.handle(.finished(RunID(1), .success()))
        try desk.handle(.tick)
        desk.conditions.checks["door"]?.at = desk.moment.wall
        let starts = try desk.handle(.conditionsChanged)

        #expect(asks.asks == ["door"])
        #expect(starts.started.map(\.job) == [try id("a")])
    }

    @Test func `a run that waits for more than a check reserves nothing`() throws {
        var desk = try PlanningDesk(
            [
                job("low", priority: .low),
                job("high", constraints: [.idle, door], priority: .high),
            ],
            maxParallel: 1)
        desk.conditions.idle.value = false

        let plan = try desk.handle(.tick)

        #expect(plan.started.map(\.job) == [try id("low")])
    }
}
