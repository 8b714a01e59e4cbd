import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("How runs are cancelled, done again and superseded")
struct CancellationTests {
    @Test func `a run that waits is cancelled at once`() throws {
        var desk = PlanningDesk([try job(constraints: [.idle])])
        desk.conditions.idle = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)

        try desk.handle(.cancel(RunID(1)))

        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.state == .cancelled)
        #expect(run.stopReason == .cancelled)
        #expect(run.failure?.reason == "cancelled before it started")
    }

    @Test func `a run of this process is warned, killed, and cancelled at its end`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)

        let warned = try desk.handle(.cancel(RunID(1)))
        desk.pass(.seconds(20))
        let killed = try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .killed()))

        #expect(warned.signals == [RunID(1): .warn])
        #expect(killed.signals == [RunID(1): .kill])
        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.state == .cancelled)
        #expect(run.failure?.reason == "cancelled while it ran")
        #expect(desk.store.attempts[RunID(1)]?[1]?.result == .stopped)
    }

    @Test func `a cancelled run whose attempt still succeeds is cancelled, and nothing follows`()
        throws
    {
        var desk = PlanningDesk([try job(then: [try id("b")]), try job("b", schedule: nil)])
        try desk.handle(.tick)
        try desk.handle(.cancel(RunID(1)))

        try desk.handle(.finished(RunID(1), .success()))

        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.state == .cancelled)
        #expect(run.stopReason == .cancelled)
        #expect(
            run.failure?.reason
                == "cancelled while it ran; its attempt ended with success all the same")
        #expect(desk.store.attempts[RunID(1)]?[1]?.result == .succeeded)
        #expect(desk.store.runs.count == 1)
    }

    @Test func `a run that does its work before a later occurrence ends it has succeeded`() throws {
        var desk = PlanningDesk(
            [try job(schedule: .every(.seconds(60)), overlap: .replace, then: [try id("b")])]
                + [try job("b", schedule: nil)])
        try desk.handle(.tick)
        desk.pass(.seconds(60))
        try desk.handle(.tick)

        let plan = try desk.handle(.finished(RunID(1), .success()))

        #expect(desk.store.runs[RunID(1)]?.state == .succeeded)
        #expect(plan.started.map(\.job) == [try id("a"), try id("b")])
    }

    @Test func `a run that is cancelled after the warning of its timeout is cancelled`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        desk.pass(.seconds(80))
        let warned = try desk.handle(.tick)

        let cancelled = try desk.handle(.cancel(RunID(1)))
        let ended = try desk.handle(.finished(RunID(1), .killed()))

        #expect(warned.signals == [RunID(1): .warn])
        #expect(cancelled.signals == [:])
        #expect(ended.started == [])
        #expect(desk.store.runs[RunID(1)]?.state == .cancelled)
        #expect(desk.store.runs[RunID(1)]?.stopReason == .cancelled)
    }

    @Test func `a run of another process is ended by that process when it is asked`() throws {
        let store = MemoryRunStore()
        var holder = PlanningDesk([try job()], store: store, owner: "holder")
        try holder.handle(.tick)
        var desk = PlanningDesk([try job()], store: store, scope: .requested)

        let asked = try desk.handle(.cancel(RunID(1)))
        let heard = try holder.handle(.tick)
        try holder.handle(.finished(RunID(1), .retry()))

        #expect(asked.acts == [])
        #expect(heard.signals == [RunID(1): .warn])
        #expect(store.runs[RunID(1)]?.state == .cancelled)
        #expect(store.runs[RunID(1)]?.stopRequest == nil)
    }

    @Test func `a run whose holder dies after it was asked is cancelled and not tried again`()
        throws
    {
        let store = MemoryRunStore()
        var holder = PlanningDesk([try job()], store: store, owner: "holder")
        try holder.handle(.tick)
        var desk = PlanningDesk([try job()], store: store)
        try desk.handle(.cancel(RunID(1)))

        store.deadOwners = ["holder"]
        let plan = try desk.handle(.tick)

        #expect(plan.started == [])
        #expect(store.runs[RunID(1)]?.state == .cancelled)
    }

    @Test func `a failed run is done again by a new run that names it`() throws {
        var desk = PlanningDesk([try job(attempts: 1)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .failure))

        let plan = try desk.handle(.retry(RunID(1), of: try id("a")))

        #expect(plan.started.map(\.run) == [RunID(2)])
        #expect(desk.store.runs[RunID(2)]?.causedBy == RunID(1))
        #expect(desk.store.runs[RunID(1)]?.state == .failed)
    }

    @Test func `under overlap replace a later occurrence ends the run and takes its place`() throws
    {
        var desk = PlanningDesk([try job(schedule: .every(.seconds(60)), overlap: .replace)])
        try desk.handle(.tick)

        desk.pass(.seconds(60))
        let replaced = try desk.handle(.tick)
        let after = try desk.handle(.finished(RunID(1), .killed()))

        #expect(replaced.signals == [RunID(1): .warn])
        #expect(replaced.started == [])
        #expect(desk.store.runs[RunID(1)]?.state == .cancelled)
        #expect(desk.store.runs[RunID(1)]?.stopReason == .superseded)
        #expect(after.started.map(\.run) == [RunID(2)])
    }

    @Test(arguments: [
        (OverlapPolicy.skip, CatchUpPolicy.latest, [RunState.enqueued]),
        (.queue, .latest, [.enqueued]),
        (.skip, .all(CatchUpBounds()), [.enqueued, .enqueued]),
        (.replace, .latest, [.cancelled, .enqueued]),
    ])
    func `a run that waits for its retry takes an occurrence in, is ahead of it, or gives way`(
        overlap: OverlapPolicy, catchUp: CatchUpPolicy, states: [RunState]
    ) throws {
        var desk = PlanningDesk(
            [
                try job(
                    schedule: .every(.seconds(60)), constraints: [.idle], overlap: overlap,
                    catchUp: catchUp)
            ])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .retry()))
        desk.conditions.idle.value = false

        desk.pass(.seconds(60))
        try desk.handle(.tick)

        let runs = desk.store.runs.values.sorted { $0.id < $1.id }
        #expect(runs.map(\.state) == states)
    }

    @Test func `under overlap replace a run that waits gives way at once`() throws {
        var desk = PlanningDesk(
            [try job(schedule: .every(.seconds(60)), constraints: [.idle], overlap: .replace)])
        desk.conditions.idle = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)

        desk.pass(.seconds(60))
        try desk.handle(.tick)

        #expect(desk.store.runs[RunID(1)]?.stopReason == .superseded)
        #expect(desk.store.runs[RunID(2)]?.state == .enqueued)
        #expect(desk.store.outcomes == [])
    }
}
