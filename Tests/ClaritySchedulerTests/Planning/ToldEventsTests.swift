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

    @Test(arguments: [
        AttemptFault.killedBySignal(9), .killedBySignal(11), .exitedWithoutReport(status: 3),
        .malformedReport("no such word"), .leftProcessesBehind,
        .memoryLimitExceeded(limitBytes: 1, measuredBytes: 2),
    ])
    func `an attempt that ended without a word may have kept what it would have told`(
        fault: AttemptFault
    ) throws {
        var desk = PlanningDesk([try teller(), try job("b", schedule: nil, events: [done])])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), AttemptEnd(.broke(fault))))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "b" }.map(\.trigger) == [.event])
    }

    @Test func `an attempt that never began has kept nothing`() throws {
        var desk = PlanningDesk([try teller(), try job("b", schedule: nil, events: [done])])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), AttemptEnd(.broke(.notStarted("no such file")))))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "b" }.isEmpty)
    }

    @Test func `an attempt that tells of nothing in the end is believed`() throws {
        var desk = PlanningDesk([try teller(), try job("b", schedule: nil, events: [done])])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), .success()))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "b" }.isEmpty)
    }

    @Test func `whoever rescues a run takes what it may have told for told`() throws {
        let jobs = [try teller(), try job("b", schedule: nil, events: [done])]
        var desk = PlanningDesk(jobs)
        try desk.handle(.tick)
        desk.store.lapseLeases(of: "me")
        var other = PlanningDesk(jobs, store: desk.store, owner: "other")

        try other.handle(.tick)

        #expect(
            other.store.runs.values.filter { $0.job.rawValue == "b" }.map(\.trigger) == [.event])
    }

    @Test func `two that break and hear of each other wait before each turn`() throws {
        var jobs = [try teller(), try job("b", schedule: nil, events: [done])]
        jobs[1].emits = [done]
        for index in jobs.indices { jobs[index].retry.attempts = 1 }
        var desk = PlanningDesk(jobs)
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), AttemptEnd(.broke(.killedBySignal(11)))))

        let plan = try desk.handle(.finished(RunID(2), AttemptEnd(.broke(.killedBySignal(11)))))

        let next = try #require(desk.store.runs[RunID(3)])
        #expect(plan.started.isEmpty)
        #expect(next.job == jobs[0].id)
        #expect(next.notBefore == desk.moment.wall + jobs[0].retry.initial)
    }

    private func teller() throws -> Job {
        var teller = try job("a", events: [done])
        teller.emits = [done]
        return teller
    }

    @Test func `what nobody waits for changes nothing`() throws {
        var desk = PlanningDesk([try job("a")])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), telling(.success())))

        #expect(desk.store.runs.count == 1)
    }
}
