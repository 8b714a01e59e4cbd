import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("The boot of the machine")
struct BootTests {
    private func jobs() throws -> [Job] {
        [
            try job("a", schedule: nil, events: [.boot]),
            try job("b", schedule: nil, constraints: [.externalPower], events: [.boot]),
            try job("c", schedule: nil, events: [.clockChanged]),
        ]
    }

    @Test(arguments: [Planner.Scope.everything, .due])
    func `the first decision of a boot enqueues the boot jobs, in one transaction`(
        scope: Planner.Scope
    ) throws {
        var desk = PlanningDesk(try jobs(), scope: scope, boot: "first")

        let plan = try desk.handle(.tick)

        #expect(desk.store.runs.values.map(\.job).sorted() == [try id("a"), try id("b")])
        #expect(desk.store.runs.values.allSatisfy { $0.trigger == .event })
        #expect(plan.changes.contains(.setBoot("first")))
        #expect(try desk.store.ledger().boot == "first")
    }

    @Test func `no later decision of a boot enqueues the boot jobs again`() throws {
        var desk = PlanningDesk(try jobs(), boot: "first")
        try desk.handle(.tick)

        let second = try desk.handle(.tick)
        var restarted = PlanningDesk(try jobs(), store: desk.store, owner: "next", boot: "first")
        let third = try restarted.handle(.tick)

        #expect(desk.store.runs.count == 2)
        #expect(!(second.changes + third.changes).contains(.setBoot("first")))
    }

    @Test func `another boot enqueues the boot jobs that do not wait already`() throws {
        var desk = PlanningDesk(try jobs(), boot: "first")
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        var restarted = PlanningDesk(try jobs(), store: desk.store, boot: "second")
        restarted.conditions.externalPower = Conditions.Reading(false, source: "test")
        try restarted.handle(.tick)

        #expect(
            desk.store.runs.values.sorted { $0.id < $1.id }.map(\.job)
                == [try id("a"), try id("b"), try id("a")])
        #expect(try desk.store.ledger().boot == "second")
    }

    @Test func `a boot job that the boot interrupted is not enqueued twice`() throws {
        var desk = PlanningDesk(try jobs(), boot: "first")
        try desk.handle(.tick)
        desk.store.deadOwners = ["me"]

        var restarted = PlanningDesk(try jobs(), store: desk.store, owner: "next", boot: "second")
        try restarted.handle(.tick)

        #expect(desk.store.runs.count == 2)
        #expect(desk.store.runs[RunID(1)]?.lease?.owner == "next")
    }

    @Test(arguments: [Planner.Scope.requested, .nothing])
    func `who runs named jobs or asks for something leaves the boot to a scheduler`(
        scope: Planner.Scope
    ) throws {
        var asking = PlanningDesk(try jobs(), scope: scope, boot: "first")
        try asking.handle(.requested([try id("c")], isForced: false))
        let before = asking.store.runs.count

        var desk = PlanningDesk(try jobs(), store: asking.store, owner: "loop", boot: "first")
        try desk.handle(.tick)

        #expect(before == 1)
        #expect(desk.store.runs.count == 3)
    }

    @Test func `a machine that names no boot has none`() throws {
        var desk = PlanningDesk(try jobs())

        try desk.handle(.tick)

        #expect(desk.store.runs.isEmpty)
        #expect(try desk.store.ledger().boot == nil)
    }

    @Test func `a clock that was set starts who waits for that`() throws {
        var desk = PlanningDesk(try jobs(), boot: nil)

        let plan = try desk.handle(.happened(.clockChanged))

        #expect(plan.started.map(\.job) == [try id("c")])
    }
}
