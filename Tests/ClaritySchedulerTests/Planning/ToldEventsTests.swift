import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Events that attempts emit, and the jobs that wait for them")
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
    func `an event starts the jobs that wait for it, however the attempt ended`(
        end: AttemptEnd
    ) throws {
        var desk = try desk()
        try desk.handle(.tick)

        let plan = try desk.handle(.finished(RunID(1), telling(end)))

        #expect(plan.started.map(\.job).contains(try id("b")))
        #expect(desk.store.runs[RunID(2)]?.trigger == .event)
        #expect(desk.store.runs.values.filter { $0.job.rawValue == "c" }.isEmpty)
    }

    @Test func `a job does not start on an event of its own attempt`() throws {
        var desk = try desk()
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), telling(.success())))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "a" }.map(\.id) == [RunID(1)])
    }

    @Test func `a run that already waits serves the event`() throws {
        var desk = PlanningDesk([
            try job("a"), try job("b", schedule: nil, constraints: [.idle], events: [done]),
        ])
        desk.conditions.idle.value = false
        try desk.handle(.tick)
        try desk.handle(.happened(done))

        try desk.handle(.finished(RunID(1), telling(.success())))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "b" }.count == 1)
    }

    @Test func `an event counts even if the attempt had lost its lease`() throws {
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
    func `an attempt that broke counts as having emitted its events`(
        fault: AttemptFault
    ) throws {
        var desk = PlanningDesk([try teller(), try job("b", schedule: nil, events: [done])])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), AttemptEnd(.broke(fault))))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "b" }.map(\.trigger) == [.event])
    }

    @Test func `an attempt that never began emits no event`() throws {
        var desk = PlanningDesk([try teller(), try job("b", schedule: nil, events: [done])])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), AttemptEnd(.broke(.notStarted("no such file")))))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "b" }.isEmpty)
    }

    @Test func `an attempt that succeeds without an event emits none`() throws {
        var desk = PlanningDesk([try teller(), try job("b", schedule: nil, events: [done])])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), .success()))

        #expect(desk.store.runs.values.filter { $0.job.rawValue == "b" }.isEmpty)
    }

    @Test func `taking over a run counts as its events having been emitted`() throws {
        let jobs = [try teller(), try job("b", schedule: nil, events: [done])]
        var desk = PlanningDesk(jobs)
        try desk.handle(.tick)
        desk.store.lapseLeases(of: "me")
        var other = PlanningDesk(jobs, store: desk.store, owner: "other")

        try other.handle(.tick)

        #expect(
            other.store.runs.values.filter { $0.job.rawValue == "b" }.map(\.trigger) == [.event])
    }

    @Test func `two crashing jobs that start each other wait before each run`() throws {
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

    @Test func `an event that no job waits for changes nothing`() throws {
        var desk = PlanningDesk([try job("a")])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), telling(.success())))

        #expect(desk.store.runs.count == 1)
    }
}
