import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("The limits that the jobs of a group share")
struct GroupsTests {
    private let nas = LimitGroup("nas", atOnce: 1)
    private let api = LimitGroup("api", rate: Rate(2, per: .seconds(60)))
    private let minute = Duration.seconds(60)

    @Test func `a group limits its own jobs alone`() throws {
        var desk = PlanningDesk([
            try job("a", groups: [nas]), try job("b", groups: [nas]), try job("c"),
        ])

        let first = try desk.handle(.tick)
        let second = try desk.handle(.finished(RunID(1), .success()))

        #expect(first.started.map(\.job.rawValue) == ["a", "c"])
        #expect(
            desk.store.runs[RunID(2)]?.startedAt == .noon
                && second.started.map(\.job.rawValue) == ["b"])
    }

    @Test func `a run that waits for the group names the runs that hold its places`() throws {
        var desk = PlanningDesk([try job("a", groups: [nas]), try job("b", groups: [nas])])

        let plan = try desk.handle(.tick)

        let deferral = Deferral(
            .overlap, subject: "group nas", wanted: "fewer than 1 attempts of the group at once",
            measured: "1: run 1 of a", source: "leases of this state directory")
        #expect(desk.store.deferrals[RunID(2)] == [deferral])
        #expect(plan.waiting.map(\.deferrals) == [[deferral]])
    }

    @Test func `higher priority goes first, then what is due longest`() throws {
        var desk = PlanningDesk([
            try job("low", schedule: .at(.noon - minute), priority: .low, groups: [nas]),
            try job("late", schedule: .every(minute), groups: [nas]),
            try job("high", schedule: .every(minute), priority: .high, groups: [nas]),
        ])

        let first = try desk.handle(.tick)
        let second = try desk.handle(.finished(try #require(first.started.first).run, .success()))

        #expect(first.started.map(\.job.rawValue) == ["high"])
        #expect(second.started.map(\.job.rawValue) == ["late"])
    }

    @Test func `the places are those of all processes on one state`() throws {
        let store = MemoryRunStore()
        let jobs = [
            try job("a", groups: [nas]), try job("b", schedule: nil, groups: [nas]),
        ]
        var other = PlanningDesk(jobs, store: store, owner: "other")
        try other.handle(.tick)
        var desk = PlanningDesk(jobs, store: store, owner: "me", scope: .requested)

        let held = try desk.handle(.requested([try id("b")], isForced: false))
        store.deadOwners = ["other"]
        let free = try desk.handle(.tick)

        #expect(held.started == [])
        #expect(held.wakeAfter == Planner.recheck)
        #expect(held.waiting.first?.deferrals.map(\.measured) == ["1: run 1 of a"])
        #expect(free.started.map(\.job.rawValue) == ["b"])
    }

    @Test func `a forced run waits for its group as it does for max_parallel`() throws {
        var desk = PlanningDesk([
            try job("a", groups: [nas]), try job("b", schedule: nil, groups: [nas]),
        ])
        try desk.handle(.tick)

        let plan = try desk.handle(.requested([try id("b")], isForced: true))

        #expect(plan.started == [])
        #expect(plan.waiting.first?.deferrals.map(\.subject) == ["group nas"])
    }

    @Test func `a running job is not named as what its next run waits for in the group`() throws {
        var desk = PlanningDesk([
            try job("a", schedule: .every(minute), overlap: .queue, groups: [nas])
        ])
        try desk.handle(.tick)
        desk.pass(minute)

        try desk.handle(.tick)

        #expect(desk.store.deferrals[RunID(2)]?.map(\.subject) == ["overlap"])
    }

    // MARK: Starts in a span

    @Test func `no more attempts start in any span than the group allows, retries included`()
        throws
    {
        var desk = PlanningDesk([
            try job("a", attempts: 9, groups: [api]), try job("b", schedule: nil, groups: [api]),
        ])
        let failing = try desk.handle(.tick)
        desk.pass(.seconds(30))
        try desk.handle(.finished(RunID(1), .retry()))

        // Requested, so that the retry is not left to its backoff.
        let retried = try desk.handle(.requested([try id("a")], isForced: false))
        desk.pass(.seconds(10))
        let waits = try desk.handle(.requested([try id("b")], isForced: false))
        desk.pass(.seconds(20) - .milliseconds(1))
        let last = try desk.handle(.tick)
        desk.pass(.milliseconds(1))
        let free = try desk.handle(.tick)

        #expect(failing.started.count == 1 && retried.started.count == 1)
        #expect(waits.started == [] && last.started == [])
        #expect(
            waits.waiting.map(\.deferrals) == [
                [
                    Deferral(
                        .backoff, subject: "group api", wanted: "\(Instant.noon + minute) or later",
                        measured: "2 starts within 1m", source: "history")
                ]
            ])
        #expect(waits.wakeAfter == .seconds(20))
        #expect(last.wakeAfter == .milliseconds(1))
        #expect(free.started.map(\.job.rawValue) == ["b"])
    }

    @Test func `schedulers on one state share the starts, also after a restart`() throws {
        let store = MemoryRunStore()
        let jobs = try ["a", "b", "c"].map { try job($0, schedule: nil, groups: [api]) }
        func desk(_ owner: String, after span: Duration) -> PlanningDesk {
            var desk = PlanningDesk(jobs, store: store, owner: owner, scope: .requested)
            desk.pass(span)
            return desk
        }
        var first = desk("first", after: .zero)
        try first.handle(.requested([try id("a")], isForced: false))
        try first.handle(.finished(RunID(1), .success()))
        var second = desk("second", after: .seconds(5))
        try second.handle(.requested([try id("b")], isForced: false))
        try second.handle(.finished(RunID(2), .success()))
        var third = desk("third", after: .seconds(59))

        let early = try third.handle(.requested([try id("c")], isForced: false))
        third.pass(.seconds(1))
        let due = try third.handle(.tick)

        #expect(early.started == [])
        #expect(early.wakeAfter == .seconds(1))
        #expect(due.started.map(\.job.rawValue) == ["c"])
    }

    @Test func `a burst starts as many as the group allows, and the others one span later`() throws
    {
        var desk = PlanningDesk(
            try ["a", "b", "c"].map { try job($0, groups: [api]) }, maxParallel: 9)

        let burst = try desk.handle(.tick)
        desk.pass(minute)
        let rest = try desk.handle(.tick)

        #expect(burst.started.map(\.job.rawValue) == ["a", "b"])
        #expect(burst.wakeAfter == minute)
        #expect(rest.started.map(\.job.rawValue) == ["c"])
    }

    @Test func `starts from before the clock was set back far count no longer`() throws {
        var desk = PlanningDesk(try ["a", "b", "c"].map { try job($0, groups: [api]) })
        try desk.handle(.tick)
        desk.moment.wall = .noon - .seconds(3600)

        let plan = try desk.handle(.tick)

        #expect(plan.started.map(\.job.rawValue) == ["c"])
    }

    @Test func `a file without such a limit asks for no starts`() throws {
        let without = PlanningDesk([try job("a", groups: [nas]), try job("b")])
        let with = PlanningDesk([try job("a", groups: [nas, api]), try job("b")])

        #expect(without.planner.recall(at: .noon) == nil)
        #expect(
            with.planner.recall(at: .noon)
                == StartRecall(jobs: [try id("a")], since: .noon - minute))
    }

    // MARK: Several groups, checks, accounts and reloads

    @Test func `runs of one group do not starve a run of two`() throws {
        let api = LimitGroup("api", atOnce: 1)
        var desk = PlanningDesk([
            try job("nas", priority: .high, groups: [nas]),
            try job("both", schedule: .every(minute), groups: [nas, api]),
            try job("api", schedule: .every(minute), groups: [api]),
        ])

        let first = try desk.handle(.tick)
        let noted = desk.store.deferrals[RunID(3)]
        let second = try desk.handle(.finished(RunID(1), .success()))

        #expect(first.started.map(\.job.rawValue) == ["nas"])
        #expect(
            noted == [
                Deferral(
                    .overlap, subject: "group api",
                    wanted: "fewer than 1 attempts of the group at once",
                    measured: "0, and 1 reserved: run 2 of both waits for group nas",
                    source: "a run that comes before")
            ])
        #expect(second.started.map(\.job.rawValue) == ["both"])
    }

    @Test func `a run that waits for a span keeps no place of another group`() throws {
        let slow = LimitGroup("slow", rate: Rate(1, per: .seconds(3600)))
        var desk = PlanningDesk([
            try job("first", groups: [slow]),
            try job("both", groups: [nas, slow]),
            try job("nas", groups: [nas]),
        ])

        let plan = try desk.handle(.tick)

        #expect(plan.started.map(\.job.rawValue) == ["first", "nas"])
    }

    @Test func `a run keeps a place in its group while its check is being asked`() throws {
        let door = Constraint.check(Check(name: "door", validFor: minute))
        var desk = PlanningDesk([
            try job("low", priority: .low, groups: [nas]),
            try job("high", constraints: [door], priority: .high, groups: [nas]),
        ])

        let asks = try desk.handle(.tick)
        let noted = desk.store.deferrals[RunID(1)]
        desk.conditions.checks["door"] = Conditions.Reading(true, source: "exit", at: .noon)
        let starts = try desk.handle(.conditionsChanged)

        #expect(asks.asks == ["door"] && asks.started == [])
        #expect(
            noted?.map(\.measured)
                == ["0, and 1 reserved: run 2 of high waits for check `door`"])
        #expect(starts.started.map(\.job.rawValue) == ["high"])
    }

    @Test func `all accounts share a group, and none learns of another's runs`() throws {
        var desk = PlanningDesk([
            try job("ada/a", groups: [nas]), try job("bob/a", groups: [nas]),
        ])

        let plan = try desk.handle(.tick)

        #expect(plan.started.map(\.job.rawValue) == ["ada/a"])
        #expect(
            desk.store.deferrals[RunID(2)]?.map(\.measured) == ["1: 1 of other accounts"])
    }

    @Test func `the runs of an account that a process does not know count as well`() throws {
        let store = MemoryRunStore()
        var all = PlanningDesk(
            [try job("ada/a", groups: [nas]), try job("bob/a", schedule: nil, groups: [nas])],
            store: store, owner: "loop")
        try all.handle(.tick)
        var bob = PlanningDesk(
            [try job("bob/a", schedule: nil, groups: [nas])], store: store, owner: "me",
            scope: .requested)

        let plan = try bob.handle(.requested([try id("bob/a")], isForced: false))

        #expect(plan.started == [])
    }

    @Test func `a reload changes the limits, also for what runs`() throws {
        func jobs(_ limit: Int, _ names: [String]) throws -> JobSet {
            let group = LimitGroup("nas", atOnce: limit)
            return JobSet(try names.map { try job($0, groups: [group]) })
        }
        var desk = PlanningDesk(try jobs(1, ["a", "b", "c"]).jobs)
        try desk.handle(.tick)

        let wider = try desk.handle(.reload(try jobs(2, ["a", "b", "c"]), maxParallel: 4))
        // The job of run 1 is gone, and its attempt keeps its place.
        let narrower = try desk.handle(.reload(try jobs(2, ["b", "c"]), maxParallel: 4))
        try desk.handle(.finished(RunID(1), .success()))
        let free = try desk.handle(.reload(JobSet([job("b"), job("c")]), maxParallel: 4))

        #expect(wider.started.map(\.job.rawValue) == ["b"])
        #expect(narrower.started == [])
        #expect(desk.store.runs[RunID(3)]?.state == .running)
        #expect(free.started == [])
    }

    @Test func `an attempt counts in the group that its job joined while it ran`() throws {
        var desk = PlanningDesk([try job("a"), try job("b", schedule: nil, groups: [nas])])
        try desk.handle(.tick)
        try desk.handle(
            .reload(
                JobSet([job("a", groups: [nas]), job("b", schedule: nil, groups: [nas])]),
                maxParallel: 4))

        let plan = try desk.handle(.requested([try id("b")], isForced: false))

        #expect(plan.started == [])
    }

    @Test func `a run that waits only for its group is not missed`() throws {
        var desk = PlanningDesk([
            try job("a", timeout: .seconds(7200), groups: [nas]),
            try job("b", catchUp: .none, groups: [nas]),
        ])
        try desk.handle(.tick)
        desk.pass(.seconds(3600))

        let plan = try desk.handle(.finished(RunID(1), .success()))

        #expect(plan.started.map(\.job.rawValue) == ["b"])
    }

    @Test func `no run starts early into a full group`() throws {
        let hour = Duration.seconds(3600)
        let early = Schedule(.every(hour, phase: nil), flex: .seconds(1800))
        var desk = PlanningDesk([
            try job("a", schedule: early, groups: [nas]),
            try job(
                "b", schedule: .at(.noon + .seconds(60)), timeout: .seconds(7200), groups: [nas]),
        ])
        try desk.handle(.tick)
        desk.pass(minute)
        try desk.handle(.finished(RunID(1), .success()))
        desk.pass(.seconds(2000))

        let full = try desk.handle(.tick)
        let free = try desk.handle(.finished(RunID(2), .success()))

        #expect(full.started == [] && desk.store.runs[RunID(3)]?.startedAt == desk.moment.wall)
        #expect(free.started.map(\.job.rawValue) == ["a"])
    }

    @Test func `an explanation says which group has to become free, or when`() throws {
        let store = MemoryRunStore()
        var desk = PlanningDesk(
            [
                try job("a", groups: [nas, LimitGroup("slow", rate: Rate(1, per: minute))]),
                try job("b", groups: [nas]),
                try job("c", groups: [LimitGroup("slow", rate: Rate(1, per: minute))]),
            ], store: store)
        try desk.handle(.tick)
        store.owner = "reader"
        let starts = desk.planner.recall(at: .noon)
        let ledger = try store.ledger(recalling: starts)
        let reader = PlanningDesk(desk.planner.jobs.jobs, store: store, owner: "reader")
        func explained(_ name: String) throws -> JobExplanation {
            try #require(
                reader.planner.explanation(
                    of: try id(name), at: desk.moment, conditions: desk.conditions,
                    ledger: ledger, past: JobPast()))
        }

        let (b, c) = (try explained("b"), try explained("c"))

        #expect(b.factors.compactMap(\.change) == [.place(group: "nas")])
        #expect(b.status.deferrals.map(\.measured) == ["1: run 1 of a"])
        #expect(c.factors.compactMap(\.change) == [.opens(.noon + minute)])
        #expect(c.start == .at(.noon + minute))
    }
}
