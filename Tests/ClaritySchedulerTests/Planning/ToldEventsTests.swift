import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("What workers tell of, and the jobs that wait for it")
struct ToldEventsTests {
    private let done = EventName("half-done")

    private func desk() throws -> PlanningDesk {
        PlanningDesk([
            try job("a", events: [done]), try job("b", schedule: nil, events: [done]),
            try job("c", schedule: nil, events: [EventName("other")]),
        ])
    }

    private func telling(_ end: AttemptEnd) -> AttemptEnd {
        var end = end
        end.events = [done]
        return end
    }

    @Test(arguments: [
        AttemptEnd.success(), .retry(), .failure, .killed(),
        AttemptEnd(.reported(.snooze(after: .seconds(60), Failure(.work, "used up")))),
        .awaits(.externalPower),
    ])
    func `what happened starts who waits for it, however the attempt ended`(
        end: AttemptEnd
    ) throws {
        var desk = try desk()
        try desk.handle(.tick)

        let plan = try desk.handle(.finished(RunID(1), telling(end)))

        #expect(plan.started.map(\.job).contains(try id("b")))
        #expect(desk.store.runs[RunID(2)]?.trigger == .event)
        #expect(desk.store.runs.values.filter { $0.job.rawValue == "c" }.isEmpty)
    }

    @Test func `a job does not hear what its own attempt tells`() throws {
        var desk = try desk()
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), telling(.success())))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "a" }.map(\.id) == [RunID(1)])
    }

    @Test func `a run that waits already stands for it`() throws {
        var desk = PlanningDesk([
            try job("a"), try job("b", schedule: nil, constraints: [.idle], events: [done]),
        ])
        desk.conditions.idle.value = false
        try desk.handle(.tick)
        try desk.handle(.happened(done))

        try desk.handle(.finished(RunID(1), telling(.success())))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "b" }.count == 1)
    }

    @Test func `it happened even where the attempt had lost its lease`() throws {
        var desk = try desk()
        try desk.handle(.tick)
        desk.store.lapseLeases(of: "me")
        var other = PlanningDesk([], store: desk.store, owner: "other")
        try other.handle(.tick)

        try desk.handle(.finished(RunID(1), telling(.success())))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "b" }.count == 1)
        #expect(desk.store.runs[RunID(1)]?.state != .succeeded)
    }

    @Test func `what nobody waits for changes nothing`() throws {
        var desk = PlanningDesk([try job("a")])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), telling(.success())))

        #expect(desk.store.runs.count == 1)
    }
}
