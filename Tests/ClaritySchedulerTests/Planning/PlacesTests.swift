@testable import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("Who gets the places that there are")
struct PlacesTests {
    @Test func `higher priority goes first, then what is due longest`() throws {
        var desk = PlanningDesk(
            [
                try job("low", schedule: .at(.noon - .seconds(60)), priority: .low),
                try job("late", schedule: .every(.seconds(60))),
                try job("high", schedule: .every(.seconds(60)), priority: .high),
            ], maxParallel: 1)

        let first = try desk.handle(.tick)
        let second = try desk.handle(.finished(try #require(first.started.first).run, .success()))

        #expect(first.started.map(\.job) == [try id("high")])
        #expect(second.started.map(\.job) == [try id("late")])
    }

    @Test func `each of many jobs is found by its id, and nobody else`() throws {
        let jobs = try (0..<100).map { try job("j\($0)", schedule: .every(.seconds($0 + 1))) }
        let set = JobSet(jobs)

        for job in jobs { #expect(set[job.id]?.schedule == job.schedule, "\(job.id)") }
        #expect(try set[id("j100")] == nil && set[JobID(AccountID("anna"), id("j1"))] == nil)
    }

    @Test func `a run that waits for a place says so`() throws {
        var desk = PlanningDesk([try job("a"), try job("b")], maxParallel: 1)

        try desk.handle(.tick)

        #expect(
            desk.store.deferrals[RunID(2)] == [
                Deferral(
                    .overlap, subject: "max_parallel", wanted: "fewer than 1 attempts at once",
                    measured: "1: run 1 of a in this process",
                    source: "leases of this state directory")
            ])
    }

    @Test func `the places are those of all processes on one state`() throws {
        let store = MemoryRunStore()
        let jobs = [try job("a"), try job("b")]
        var other = PlanningDesk([jobs[0]], store: store, owner: "other", maxParallel: 1)
        try other.handle(.tick)
        var desk = PlanningDesk([jobs[1]], store: store, owner: "me", maxParallel: 1)

        let held = try desk.handle(.tick)
        try other.handle(.finished(RunID(1), .success()))
        let free = try desk.handle(.tick)

        #expect(held.started == [])
        #expect(held.wakeAfter == Planner.recheck)
        #expect(free.started.map(\.job) == [try id("b")])
    }

    @Test func `a waiting run names the limit and the runs that hold the places`() throws {
        let store = MemoryRunStore()
        var other = PlanningDesk([try job("a")], store: store, owner: "other", maxParallel: 1)
        try other.handle(.tick)
        var desk = PlanningDesk([try job("b")], store: store, owner: "me", maxParallel: 1)

        try desk.handle(.tick)

        let deferral = try #require(desk.store.deferrals[RunID(2)]?.first)
        #expect(deferral.wanted == "fewer than 1 attempts at once")
        #expect(deferral.measured == "1: run 1 of a in process other")
    }

    @Test func `who holds the places is read from the runs, not noted each time`() throws {
        let store = MemoryRunStore()
        let jobs = [try job("a"), try job("b"), try job("c")]
        var desk = PlanningDesk(jobs, store: store, owner: "me", maxParallel: 1)
        try desk.handle(.tick)
        let noted = store.deferrals[RunID(3)]

        let plan = try desk.handle(.finished(RunID(1), .success()))
        store.owner = "reader"
        let reader = PlanningDesk(jobs, store: store, owner: "reader", maxParallel: 1)
        let status = reader.planner.statuses(
            at: desk.moment, conditions: desk.conditions, ledger: try store.ledger())

        #expect(plan.started.map(\.job) == [try id("b")])
        #expect(store.deferrals[RunID(3)] == noted)
        #expect(status.last?.deferrals.map(\.measured) == ["1: run 2 of b in process me"])
    }

    @Test func `a place of a process that died is free`() throws {
        let store = MemoryRunStore()
        var other = PlanningDesk([try job("a")], store: store, owner: "other", maxParallel: 1)
        try other.handle(.tick)
        store.deadOwners = ["other"]
        var desk = PlanningDesk([try job("b")], store: store, owner: "me", maxParallel: 1)

        let plan = try desk.handle(.tick)

        #expect(plan.started.map(\.job) == [try id("b")])
    }

    @Test func `a reload keeps what runs and plans for the new jobs`() throws {
        var desk = PlanningDesk([try job("a", timeout: .seconds(100))])
        try desk.handle(.tick)

        let changed = [try job("a", timeout: .seconds(5), warning: .seconds(1)), try job("b")]
        let reloaded = try desk.handle(.reload(JobSet(changed), maxParallel: 4))
        desk.pass(.seconds(60))
        let later = try desk.handle(.finished(RunID(1), .success()))

        #expect(reloaded.started.map(\.job) == [try id("b")])
        #expect(later.signals[RunID(1)] == nil)
        #expect(desk.store.runs[RunID(1)]?.state == .succeeded)
    }

    @Test func `a job that a reload drops finishes its run and starts no other`() throws {
        var desk = PlanningDesk([try job("a", schedule: .every(.seconds(60)))])
        try desk.handle(.tick)

        try desk.handle(.reload(JobSet([]), maxParallel: 4))
        desk.pass(.seconds(60))
        let later = try desk.handle(.finished(RunID(1), .success()))

        #expect(desk.store.runs[RunID(1)]?.state == .succeeded)
        #expect(later.started == [])
        #expect(later.wakeAfter == nil)
    }

    @Test func `the past is pruned after so many runs, and then after a day`() throws {
        let policy = RetentionPolicy(runs: 5)
        var desk = PlanningDesk([try job(schedule: .every(.seconds(60)))], retention: policy)
        var prunes: [Instant] = []
        for _ in 0..<2200 {
            for case .prune(policy, let instant) in try desk.handle(.tick).changes {
                prunes.append(instant)
            }
            if let run = try desk.store.ledger().open.keys.first {
                try desk.handle(.finished(run, .success()))
            }
            desk.pass(.seconds(60))
        }

        #expect(prunes.first == .noon + .seconds(199 * 60))
        #expect(prunes.count == 11)
    }

    @Test func `conditions are not read while nothing depends on them`() throws {
        let store = MemoryRunStore()
        var planner = Planner(jobs: JobSet([try job(constraints: [.idle])]), owner: "me", seed: 1)
        var reads = 0
        func look(at wall: Instant, _ events: [Planner.Event]) throws {
            try store.decide { ledger in
                planner.handle(
                    events, at: Moment(wall: wall, elapsed: wall - .noon),
                    conditions: {
                        reads += 1; return .everythingAllowed
                    }(), ledger: ledger
                ).changes
            }
        }

        try look(at: .noon, [.tick])
        try look(at: .noon + .seconds(1), [.finished(RunID(1), .success())])
        try look(at: .noon + .seconds(2), [.tick])

        #expect(reads == 1)
    }

    @Test(arguments: UInt64(0)..<20)
    func `an agenda without some places still gives the earliest first`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var agenda = Agenda()
        var entries = (0..<60).map { place in
            Agenda.Entry(at: .noon + .seconds(Int.random(in: 0...40, using: &random)), place: place)
        }
        for entry in entries.shuffled(using: &random) { agenda.insert(entry) }
        let gone = Set((0..<20).map { _ in Int.random(in: 0..<60, using: &random) })

        agenda.remove(gone)
        entries.removeAll { gone.contains($0.place) }
        var found: [Agenda.Entry] = []
        while let next = agenda.popFirst(through: .noon + .seconds(40)) { found.append(next) }

        #expect(found == entries.sorted { $0.isBefore($1) })
    }
}
