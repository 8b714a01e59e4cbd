@testable import ClarityScheduler
import ClarityTestSupport
import Testing

/// Loops that share a store, and the attempts whose processes run on their machines.
private struct Fleet {
    let store = MemoryRunStore()
    var planners: [String: Planner] = [:]
    var conditions: [String: Conditions] = [:]
    var moment = Moment(wall: .noon, elapsed: .zero)
    /// The orders that run, by machine.
    var running: [String: [RunID: AttemptOrder]] = [:]
    /// Every attempt that was started, as often as it was.
    var started: [String: Int] = [:]

    var names: [String] { planners.keys.sorted() }

    /// Creates loops `a`, `b` and so on, of which the first leads and the others have published
    /// what they are.
    init(_ count: Int, _ jobs: [Job], places: Int = 2, total: Int? = nil) throws {
        for name in ["a", "b", "c", "d"].prefix(count) {
            planners[name] = Planner(
                jobs: JobSet(jobs), owner: name, maxParallel: places, maxParallelTotal: total,
                seed: 1, machine: name, labels: ["\(name)-label"])
            conditions[name] = .everythingAllowed
        }
        store.leader = "a"
        for name in names.dropFirst() { try decide(name) }
    }

    @discardableResult
    mutating func decide(_ name: String, _ events: Planner.Event...) throws -> Plan {
        try decide(name, events)
    }

    @discardableResult
    mutating func decide(_ name: String, _ events: [Planner.Event]) throws -> Plan {
        guard var planner = planners[name], let conditions = conditions[name] else {
            return Plan()
        }
        var plan = Plan()
        store.owner = name
        let moment = moment
        try store.decide { ledger in
            plan = planner.handle(events, at: moment, conditions: conditions, ledger: ledger)
            return plan.changes
        }
        planners[name] = planner
        for order in plan.started {
            started["\(order.run).\(order.attempt)", default: 0] += 1
            running[name, default: [:]][order.run] = order
        }
        for (run, signal) in plan.signals where signal == .kill {
            try end(run, on: name, .broke(.killedBySignal(9)))
        }
        return plan
    }

    /// Ends the process of an attempt, and lets its loop hear of it.
    mutating func end(
        _ run: RunID, on name: String, _ result: AttemptEnd.Result = .reported(.success)
    ) throws {
        guard running[name]?.removeValue(forKey: run) != nil else { return }
        try decide(name, .finished(run, AttemptEnd(result)))
    }

    /// Ends a machine with all that it runs.
    mutating func kill(_ name: String) {
        planners[name] = nil
        running[name] = nil
        store.deadOwners.insert(name)
    }

    mutating func pass(_ span: Duration) {
        moment = Moment(wall: moment.wall + span, elapsed: moment.elapsed + span)
    }

    /// How many attempts each machine has, as the runs say.
    var load: [String: Int] {
        store.runs.values.reduce(into: [:]) { load, run in
            if let owner = run.lease?.owner { load[owner, default: 0] += 1 }
        }
    }

    func owner(of job: String) -> String? {
        store.runs.values.first { $0.job.rawValue == job }?.lease?.owner
    }

    func attempts(of run: Int64) -> [Attempt] {
        (store.attempts[RunID(run)] ?? [:]).values.sorted { $0.number < $1.number }
    }
}

@Suite("Attempts that the leader places on other machines")
struct PlacementTests {
    private static func jobs(_ count: Int) throws -> [Job] {
        try (0..<count).map { try job("j\($0)") }
    }

    @Test func `the machines share the attempts, and none has more than its places`() throws {
        var fleet = try Fleet(3, try Self.jobs(9))

        try fleet.decide("a")

        #expect(fleet.load == ["a": 2, "b": 2, "c": 2])
        #expect(fleet.running == ["a": fleet.running["a"] ?? [:]])
        #expect(fleet.store.deferrals.count == 3)
        let wait = fleet.store.deferrals.values.first?.first
        #expect(wait?.wanted == "fewer than 6 attempts at once on 3 machines")
    }

    @Test func `all machines together have no more attempts than their limit`() throws {
        var fleet = try Fleet(3, try Self.jobs(9), total: 4)

        try fleet.decide("a")
        let before = fleet.load
        for name in ["b", "c"] { try fleet.decide(name) }
        let ended = try #require(fleet.running["a"]?.keys.first)
        try fleet.end(ended, on: "a")

        #expect(before.values.sorted() == [1, 1, 2])
        #expect(fleet.load.values.reduce(0, +) == 4)
        #expect(fleet.store.runs.values.count { $0.state == .succeeded } == 1)
        let wait = fleet.store.deferrals.values.first?.first
        #expect(wait?.subject == "max_parallel_total")
        #expect(wait?.wanted == "fewer than 4 attempts at once on all machines")
    }

    @Test func `a run starts early where another machine has a place`() throws {
        let hourly = Schedule(.every(.seconds(3600), phase: nil), flex: .seconds(1800))
        let jobs = [
            try job("early", schedule: hourly), try job("long", timeout: .seconds(7200)),
        ]
        var fleet = try Fleet(2, jobs, places: 1)
        for name in fleet.names { try fleet.decide(name) }
        let name = try #require(fleet.owner(of: "early"))
        let run = try #require(fleet.running[name]?.keys.first)
        try fleet.end(run, on: name)

        fleet.pass(.seconds(2400))
        try fleet.decide("a")

        let early = fleet.store.runs.values.filter { $0.job.rawValue == "early" }
        #expect(Set(early.map(\.state)) == [.succeeded, .running])
    }

    @Test func `an attempt is placed where the conditions allow it`() throws {
        var fleet = try Fleet(3, [try job(constraints: [.unmetered])])
        fleet.conditions["a"]?.metered.value = true
        fleet.conditions["b"]?.metered.value = true
        for name in ["b", "c"] { try fleet.decide(name, .conditionsChanged) }

        try fleet.decide("a")
        try fleet.decide("c")

        #expect(fleet.owner(of: "a") == "c")
        #expect(fleet.running["c"]?.count == 1)
    }

    @Test func `a run waits while no machine allows it, and starts where one does`() throws {
        var fleet = try Fleet(2, [try job(constraints: [.unmetered])])
        for name in fleet.names { fleet.conditions[name]?.metered.value = true }
        try fleet.decide("b", .conditionsChanged)

        try fleet.decide("a")
        let before = fleet.load
        fleet.conditions["b"]?.metered.value = false
        try fleet.decide("b", .conditionsChanged)
        try fleet.decide("a")

        #expect(before == [:])
        #expect(fleet.load == ["b": 1])
    }

    @Test func `a run that needs a source starts on a machine that reaches it`() throws {
        var fleet = try Fleet(3, [])
        var sections = SectionValues()
        sections.sourcePaths = ["/export.zip"]
        let accounts = try ["x", "y", "z"].map { try #require(AccountID($0)) }
        let heeding = try job("j", attempts: 1)
        let jobs = JobSet(
            accounts.map { JobGroup(account: $0, jobs: [heeding], sections: sections) })
        for account in accounts {
            for name in fleet.names {
                fleet.conditions[name]?.accounts[account] = .init(source: .unknown("missing"))
            }
        }
        fleet.planners["a"]?.labels = []
        for name in fleet.names.reversed() { try fleet.decide(name, .reload(jobs, maxParallel: 4)) }
        for name in fleet.names { try fleet.decide(name) }
        // Wherever they ran first, their source was not there.
        for name in fleet.names {
            for run in (fleet.running[name] ?? [:]).keys.sorted() {
                try fleet.end(run, on: name, .reported(.awaits(.source, Failure(.work, "none"))))
            }
        }
        try fleet.decide("a")
        fleet.pass(.seconds(60))
        try fleet.decide("a")
        let before = fleet.load

        // `b` reaches those of all but `y`, and `c` that of `y` alone.
        try fleet.decide("b", .sourcesReached([accounts[0], accounts[2]]), .conditionsChanged)
        try fleet.decide("c", .sourcesReached([accounts[1]]), .conditionsChanged)
        try fleet.decide("a")

        #expect(before == [:])
        #expect(fleet.store.machines["b"]?.sources == .allBut([accounts[1]]))
        #expect(fleet.store.machines["c"]?.sources == .only([accounts[1]]))
        let owners = fleet.store.runs.values.compactMap { run in
            run.lease.map { "\(run.job.account?.rawValue ?? "") on \($0.owner)" }
        }
        #expect(owners.sorted() == ["x on b", "y on c", "z on b"])
    }

    @Test func `sources are looked at once a machine is published, then each minute`() throws {
        func jobs(_ name: String) throws -> JobSet {
            var sections = SectionValues()
            sections.sourcePaths = ["/export.zip"]
            return JobSet([JobGroup(account: AccountID(name), jobs: [], sections: sections)])
        }
        var planner = Planner(jobs: try jobs("x"), owner: "a", seed: 1, machine: "a")
        func looks(_ events: Planner.Event...) -> [String]? {
            planner.accountsToLookAt(
                for: events, at: Moment(wall: .noon, elapsed: .seconds(100)))?.map(\.rawValue)
        }

        #expect(looks(.conditionsChanged) == nil)
        planner.publishedAt = .seconds(99)
        #expect(looks(.tick) == ["x"])
        planner.reachedAt = .seconds(99)
        #expect(looks(.tick, .conditionsChanged) == nil)
        #expect(looks(.reload(try jobs("y"), maxParallel: 1)) == ["y"])
        planner.reachedAt = .seconds(40)
        #expect(looks(.tick) == ["x"])
    }

    @Test func `of machines with the same load, the one that had the account last is next`() throws
    {
        var fleet = try Fleet(3, [try job("x/j", schedule: nil)])
        fleet.planners["a"]?.lastMachine[AccountID("x")] = "c"

        try fleet.decide("a", .requested([try id("x/j")], isForced: false))

        #expect(fleet.load == ["c": 1])
    }

    @Test func `a reported end is settled once, whoever leads by then`() throws {
        var fleet = try Fleet(3, try Self.jobs(3), places: 1)
        try fleet.decide("a")
        try fleet.decide("b")
        let run = try #require(fleet.running["b"]?.keys.first)
        fleet.kill("a")
        try fleet.end(run, on: "b")
        let before = fleet.store.runs[run]?.state

        fleet.kill("b")
        fleet.store.leader = "c"
        try fleet.decide("c")

        #expect(before == .running)
        #expect(fleet.store.runs[run]?.state == .succeeded)
        #expect(fleet.attempts(of: run.rawValue).map(\.result) == [.succeeded])
        #expect(fleet.store.placements[run] == nil)
    }

    @Test func `a failure on another machine is retried as the job says`() throws {
        var fleet = try Fleet(2, [try job(attempts: 2)], places: 1)
        fleet.planners["a"]?.lastMachine[nil] = "b"
        try fleet.decide("a")
        try fleet.decide("b")

        try fleet.end(
            RunID(1), on: "b", .reported(.retry(after: nil, Failure(.unreachable, "no answer"))))
        try fleet.decide("a")

        let run = try #require(fleet.store.runs[RunID(1)])
        #expect(run.state == .enqueued && run.failures == 1 && run.notBefore != nil)
        #expect(fleet.attempts(of: 1).map(\.reason) == ["no answer"])
    }

    @Test func `what a machine does not take goes to another and uses up no retry`() throws {
        var fleet = try Fleet(2, [try job()], places: 1)
        fleet.planners["a"]?.lastMachine[nil] = "b"
        try fleet.decide("a")
        let first = fleet.owner(of: "a")

        fleet.pass(PlanBuilder.takenWithin)
        fleet.planners["a"]?.lastMachine[nil] = "a"
        try fleet.decide("a")
        try fleet.decide("b")

        #expect(first == "b" && fleet.owner(of: "a") == "a")
        #expect(fleet.running["b"] == nil)
        let run = try #require(fleet.store.runs[RunID(1)])
        #expect(run.failures == 0 && run.interruptions == 0 && run.attempts == 2)
        #expect(fleet.attempts(of: 1).first?.reason == "b did not take it within 5s")
    }

    @Test func `a machine gives back what its own conditions do not allow`() throws {
        var fleet = try Fleet(2, [try job(constraints: [.unmetered])])
        fleet.conditions["a"]?.metered.value = true
        try fleet.decide("a")
        let first = fleet.owner(of: "a")
        fleet.conditions["b"]?.metered.value = true

        try fleet.decide("b")
        try fleet.decide("a")

        #expect(first == "b" && fleet.running["b"] == nil)
        #expect(fleet.store.runs[RunID(1)]?.state == .enqueued)
        #expect(fleet.attempts(of: 1).first?.reason?.hasPrefix("b gave it back: network: ") == true)
    }

    @Test func `a machine asks a check before it starts the attempt`() throws {
        let check = Check(name: "vpn", validFor: .seconds(60))
        var fleet = try Fleet(2, [try job(constraints: [.check(check)])])
        fleet.conditions["a"]?[check: "vpn"] = .init(false, source: "test", at: fleet.moment.wall)
        try fleet.decide("a")

        let asked = try fleet.decide("b")
        fleet.conditions["b"]?[check: "vpn"] = .init(true, source: "test", at: fleet.moment.wall)
        let answered = try fleet.decide("b", .conditionsChanged)

        #expect(asked.asks == ["vpn"] && asked.started == [])
        #expect(answered.started.count == 1)
    }

    @Test func `the attempts of a machine that is gone run again elsewhere`() throws {
        var fleet = try Fleet(2, [try job()], places: 1)
        fleet.planners["a"]?.lastMachine[nil] = "b"
        try fleet.decide("a")
        try fleet.decide("b")

        fleet.kill("b")
        try fleet.decide("a")

        #expect(fleet.attempts(of: 1).map(\.result) == [.interrupted, .running])
        #expect(fleet.load == ["a": 1])
        #expect(fleet.store.placements.isEmpty)
    }

    @Test func `an attempt that was not taken before its machine ended is no interruption`() throws
    {
        var fleet = try Fleet(2, [try job()], places: 1)
        fleet.planners["a"]?.lastMachine[nil] = "b"
        try fleet.decide("a")

        fleet.kill("b")
        try fleet.decide("a")

        #expect(fleet.store.runs[RunID(1)]?.interruptions == 0)
        #expect(fleet.load == ["a": 1])
    }

    @Test func `a follower that becomes the leader goes on with its attempts`() throws {
        var fleet = try Fleet(2, try Self.jobs(2), places: 1)
        try fleet.decide("a")
        try fleet.decide("b")
        let run = try #require(fleet.running["b"]?.keys.first)
        fleet.kill("a")

        fleet.store.leader = "b"
        try fleet.decide("b")
        let meanwhile = fleet.store.runs[run]?.state
        try fleet.end(run, on: "b")

        #expect(meanwhile == .running)
        #expect(fleet.attempts(of: run.rawValue).map(\.result) == [.succeeded])
        #expect(fleet.store.placements.isEmpty)
        #expect(fleet.started.values.allSatisfy { $0 == 1 })
    }

    @Test func `a follower stops an attempt when a condition of its own machine is lost`() throws {
        var fleet = try Fleet(2, [try job(constraints: [.unmetered])])
        fleet.conditions["a"]?.metered.value = true
        try fleet.decide("a")
        try fleet.decide("b")
        fleet.conditions["b"]?.metered.value = true

        let stopped = try fleet.decide("b", .conditionsChanged)
        try fleet.end(
            RunID(1), on: "b", .reported(.retry(after: nil, Failure(.work, "stopped"))))
        try fleet.decide("a")

        #expect(stopped.signals == [RunID(1): .warn])
        #expect(fleet.attempts(of: 1).map(\.stopReason) == [.constraintLost])
        #expect(fleet.store.runs[RunID(1)]?.failures == 0)
    }

    @Test func `a follower stops what is cancelled, and kills it at its time limit`() throws {
        var fleet = try Fleet(2, try Self.jobs(2), places: 1)
        try fleet.decide("a")
        try fleet.decide("b")
        let run = try #require(fleet.running["b"]?.keys.first)

        try fleet.decide("a", .cancel(run))
        let warned = try fleet.decide("b")
        fleet.pass(.seconds(20))
        let killed = try fleet.decide("b")
        try fleet.decide("a")

        #expect(warned.signals == [run: .warn] && killed.signals == [run: .kill])
        #expect(fleet.store.runs[run]?.state == .cancelled)
    }

    @Test(arguments: ["b", "b-label"])
    func `a pinned job runs on its machine, and by hand where it is requested`(
        pin: String
    ) throws {
        var pinned = try job()
        pinned.machine = pin
        var fleet = try Fleet(2, [pinned])

        try fleet.decide("a")
        let placed = fleet.owner(of: "a")
        var hand = PlanningDesk([pinned], scope: .requested)
        let plan = try hand.handle(.requested([pinned.id], isForced: false))

        #expect(placed == "b")
        #expect(plan.started.count == 1)
    }

    @Test func `a pinned job waits while its machine is not there`() throws {
        var pinned = try job()
        pinned.machine = "nas"
        var desk = PlanningDesk([pinned])

        let plan = try desk.handle(.tick)

        #expect(plan.started == [])
        #expect(plan.waiting.first?.deferrals.map(\.subject) == ["machine"])
        #expect(plan.waiting.first?.deferrals.map(\.wanted) == ["a machine `nas`"])
    }

    @Test func `a machine whose loop ends gets no more attempts`() throws {
        var fleet = try Fleet(2, try Self.jobs(6), places: 2)
        try fleet.decide("b", .drain)

        try fleet.decide("a")

        #expect(fleet.load == ["a": 2])
    }

    @Test func `conditions are published when they change, and not otherwise`() throws {
        var fleet = try Fleet(2, [])

        fleet.conditions["b"]?.storageFreeBytes.value? -= 1
        let same = try fleet.decide("b", .conditionsChanged)
        fleet.conditions["b"]?.metered.value = true
        let other = try fleet.decide("b", .conditionsChanged)

        #expect(same.changes == [])
        #expect(other.changes.count == 1)
    }

    /// A failure prints its seed; `arguments: [seed]` repeats it alone.
    @Test(arguments: UInt64(0)..<60)
    func `each attempt has one end on a machine that allowed it`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var jobs = try Self.jobs(8)
        for index in jobs.indices where index % 3 == 0 { jobs[index].constraints = [.unmetered] }
        jobs[1].machine = "c"
        // Six places for all, or eight by their machines.
        let total = seed % 2 == 0 ? 6 : nil
        var fleet = try Fleet(4, jobs, total: total)
        for _ in 0..<150 {
            let names = fleet.names
            guard let name = names.randomElement(using: &random) else { break }
            switch Int.random(in: 0..<20, using: &random) {
            case 0 where names.count > 2:
                fleet.kill(name)
                let rest = fleet.names
                if fleet.store.leader == name, let next = rest.randomElement(using: &random) {
                    fleet.store.leader = next
                }
            case 1:
                fleet.pass(.seconds(Int.random(in: 1...8, using: &random)))
            case 2: fleet.pass(.seconds(3600))
            case 3:
                fleet.conditions[name]?.metered.value?.toggle()
                try fleet.decide(name, .conditionsChanged)
            case 4...8:
                if let run = fleet.running[name]?.keys.sorted().randomElement(using: &random) {
                    let results: [AttemptEnd.Result] = [
                        .reported(.success), .reported(.failure(Failure(.work, "x"))),
                        .reported(.retry(after: nil, Failure(.work, "x"))),
                        .broke(.killedBySignal(9)),
                    ]
                    try fleet.end(
                        run, on: name, results.randomElement(using: &random) ?? results[0])
                }
            case 9:
                if let run = fleet.store.runs.keys.sorted().randomElement(using: &random) {
                    try fleet.decide(fleet.store.leader ?? name, .cancel(run))
                }
            case 10...13: try fleet.decide(fleet.store.leader ?? name)
            default: try fleet.decide(name)
            }
            let load = fleet.load
            #expect(load.values.allSatisfy { $0 <= 2 }, "seed \(seed): \(load)")
            #expect(load.values.reduce(0, +) <= total ?? 8, "seed \(seed): \(load)")
            for (name, orders) in fleet.running {
                for order in orders.values where order.job.rawValue == "j1" {
                    #expect(name == "c", "seed \(seed): a pinned job runs on \(name)")
                }
            }
        }
        // Everything that was begun comes to an end.
        for name in fleet.names { fleet.conditions[name]?.metered.value = false }
        for round in 0..<64 {
            for name in fleet.names {
                try fleet.decide(name, .conditionsChanged)
                for run in fleet.running[name]?.keys.sorted() ?? [] {
                    try fleet.end(run, on: name)
                }
            }
            // What falls due at last is settled as well.
            if round < 60 { fleet.pass(.seconds(60)) }
        }
        let open = fleet.store.runs.values.filter { !$0.state.isFinished }
        #expect(
            open.allSatisfy { $0.job.rawValue == "j1" && fleet.planners["c"] == nil },
            "seed \(seed): \(open)")
        #expect(fleet.started.values.allSatisfy { $0 == 1 }, "seed \(seed)")
        #expect(fleet.store.placements.isEmpty, "seed \(seed)")
        for (run, attempts) in fleet.store.attempts {
            #expect(
                attempts.values.allSatisfy { $0.result != .running },
                "seed \(seed): an attempt of run \(run) has no end")
            let succeeded = attempts.values.count { $0.result == .succeeded }
            #expect(succeeded <= 1, "seed \(seed): run \(run) succeeded \(succeeded) times")
        }
    }
}
