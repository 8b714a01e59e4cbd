import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("How occurrences and requests become runs")
struct OccurrencesTests {
    @Test func `a job that was never seen runs at once and then every period`() throws {
        var desk = PlanningDesk([try job()])

        let first = try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        desk.pass(.seconds(4 * 3600 - 1))
        let early = try desk.handle(.tick)
        desk.pass(.seconds(1))
        let second = try desk.handle(.tick)

        #expect(first.started.map(\.run) == [RunID(1)])
        #expect(first.started.map(\.scheduledFor) == [.noon])
        #expect(early.started == [])
        #expect(early.wakeAfter == .seconds(1))
        #expect(second.started.map(\.scheduledFor) == [.noon + .seconds(4 * 3600)])
        #expect(desk.store.runs[RunID(2)]?.trigger == .schedule)
    }

    @Test func `occurrences missed for days are coalesced into one run, on record`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.pass(.seconds(25 * 3600))
        try desk.handle(.tick)

        let run = try #require(desk.store.runs[RunID(2)])
        let latest = Instant.noon + .seconds(24 * 3600)
        #expect(run.trigger == .catchUp)
        #expect(run.scheduledFor == latest)
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .coalesced, first: .noon + .seconds(4 * 3600),
                    latest: .noon + .seconds(20 * 3600), count: 5, run: RunID(2))
            ])
    }

    @Test func `without catch-up what was missed is recorded as skipped`() throws {
        var desk = PlanningDesk([try job(catchUp: .none)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.pass(.seconds(9 * 3600))
        let plan = try desk.handle(.tick)

        #expect(plan.started == [])
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .skipped, first: .noon + .seconds(4 * 3600),
                    latest: .noon + .seconds(8 * 3600), count: 2, run: nil)
            ])
    }

    @Test(arguments: [(Duration.seconds(900), 1), (.seconds(901), 0)])
    func `an occurrence that cron looks for within a quarter of an hour is on time`(
        delay: Duration, started: Int
    ) throws {
        var desk = PlanningDesk([try job(catchUp: .none)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.pass(.seconds(4 * 3600) + delay)
        let plan = try desk.handle(.tick)

        #expect(plan.started.count == started)
        #expect(desk.store.runs[RunID(2)].map(\.trigger) == (started == 1 ? .schedule : nil))
    }

    @Test func `without catch-up one run stands for all that is on time`() throws {
        var desk = PlanningDesk([try job(schedule: .every(.seconds(60)), catchUp: .none)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))

        desk.pass(.seconds(600))
        try desk.handle(.tick)

        #expect(desk.store.runs[RunID(2)]?.trigger == .schedule)
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .coalesced, first: .noon + .seconds(60),
                    latest: .noon + .seconds(540), count: 9, run: RunID(2))
            ])
    }

    @Test func `an occurrence during a run is skipped under overlap skip`() throws {
        var desk = PlanningDesk([try job(schedule: .every(.seconds(60)))])
        try desk.handle(.tick)

        desk.pass(.seconds(60))
        let plan = try desk.handle(.tick)

        #expect(plan.started == [])
        #expect(desk.store.runs.count == 1)
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .skipped, first: .noon + .seconds(60),
                    latest: .noon + .seconds(60), count: 1, run: RunID(1))
            ])
    }

    @Test func `an occurrence during a run waits for its end under overlap queue`() throws {
        var desk = PlanningDesk([try job(schedule: .every(.seconds(60)), overlap: .queue)])
        try desk.handle(.tick)

        desk.pass(.seconds(60))
        let during = try desk.handle(.tick)
        let after = try desk.handle(.finished(RunID(1), .success()))

        #expect(during.started == [])
        #expect(during.waiting.first?.deferrals.map(\.reason) == [.overlap])
        #expect(after.started.map(\.run) == [RunID(2)])
    }

    @Test func `what waits behind a run waits for its repetitions as well`() throws {
        var desk = PlanningDesk([try job(schedule: .every(.seconds(60)), overlap: .queue)])
        try desk.handle(.tick)
        desk.pass(.seconds(60))
        try desk.handle(.tick)

        let failed = try desk.handle(.finished(RunID(1), .retry()))
        desk.pass(.seconds(30))
        let again = try desk.handle(.tick)
        let after = try desk.handle(.finished(RunID(1), .success()))

        #expect(failed.started == [])
        #expect(
            failed.waiting.last?.deferrals == [
                Deferral(
                    .overlap, subject: "overlap", wanted: "no other run of the job",
                    measured: "run 1, which is enqueued", source: "history")
            ])
        #expect(again.started.map(\.run) == [RunID(1)])
        #expect(after.started.map(\.run) == [RunID(2)])
    }

    @Test func `an occurrence is coalesced into a run that already waits`() throws {
        var desk = PlanningDesk([try job(constraints: [.connected])])
        desk.conditions.connected = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)

        desk.pass(.seconds(4 * 3600))
        try desk.handle(.tick)

        #expect(desk.store.runs.count == 1)
        #expect(
            desk.store.outcomes == [
                .recordOutcome(
                    try id("a"), .coalesced, first: .noon + .seconds(4 * 3600),
                    latest: .noon + .seconds(4 * 3600), count: 1, run: RunID(1))
            ])
    }

    @Test func `an event that comes with the end of a run starts the next one`() throws {
        var desk = PlanningDesk([try job(events: [.sourceChanged])])
        try desk.handle(.tick)

        let plan = try desk.handle(.happened(.sourceChanged), .finished(RunID(1), .success()))

        #expect(plan.started.map(\.run) == [RunID(2)])
        #expect(desk.store.runs[RunID(1)]?.state == .succeeded)
    }

    @Test func `a request runs a job that is not due, whatever its earliest begin`() throws {
        var desk = PlanningDesk(
            [try job(schedule: nil, earliestBegin: .seconds(900))], scope: .requested)
        try desk.handle(.requested([try id("a")], isForced: false))
        try desk.handle(.finished(RunID(1), .success()))

        let again = try desk.handle(.requested([try id("a")], isForced: false))

        #expect(again.started.map(\.run) == [RunID(2)])
        #expect(desk.store.runs[RunID(2)]?.trigger == .manual)
    }

    @Test func `a request hurries the run that waits in backoff instead of adding one`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        let failed = try desk.handle(.finished(RunID(1), .retry()))

        let hurried = try desk.handle(.requested([try id("a")], isForced: false))

        #expect(failed.started == [])
        #expect(hurried.started.map(\.run) == [RunID(1)])
        #expect(hurried.started.map(\.attempt) == [2])
    }

    @Test func `requested jobs run in their order, one after the other, and nothing else`() throws {
        var desk = PlanningDesk(
            [try job("a"), try job("b"), try job("c")], maxParallel: 1, scope: .requested)

        let first = try desk.handle(.requested([try id("c"), try id("a")], isForced: false))
        let second = try desk.handle(.finished(RunID(1), .success()))
        let third = try desk.handle(.finished(RunID(2), .success()))

        #expect(first.started.map(\.job) == [try id("c")])
        #expect(second.started.map(\.job) == [try id("a")])
        #expect(third.started == [])
        #expect(third.isIdle)
    }

    @Test func `requested jobs run in their order also when they wait already`() throws {
        let store = MemoryRunStore()
        let jobs = [try job("a"), try job("b"), try job("c")]
        var other = PlanningDesk(jobs, store: store, scope: .requested)
        try other.handle(.tick)
        var desk = PlanningDesk(jobs, store: store, maxParallel: 1, scope: .requested)

        let first = try desk.handle(.requested([try id("c"), try id("a")], isForced: false))
        let second = try desk.handle(.finished(RunID(3), .success()))

        #expect(first.started.map(\.job) == [try id("c")])
        #expect(second.started.map(\.job) == [try id("a")])
    }

    @Test func `a request for a job that runs elsewhere says who runs it`() throws {
        let store = MemoryRunStore()
        var other = PlanningDesk([try job()], store: store, owner: "other")
        try other.handle(.tick)
        var desk = PlanningDesk([try job()], store: store, scope: .requested)

        let plan = try desk.handle(.requested([try id("a")], isForced: false))

        #expect(plan.started == [])
        #expect(
            plan.waiting.first?.deferrals == [
                Deferral(
                    .overlap, subject: "overlap", wanted: "no other run of the job",
                    measured: "run 1, which is running", source: "lease of other")
            ])
    }

    @Test func `a run behind one of another process is looked after`() throws {
        let store = MemoryRunStore()
        let jobs = [try job(schedule: nil, events: [.sourceChanged])]
        var other = PlanningDesk(jobs, store: store, owner: "other")
        try other.handle(.happened(.sourceChanged))
        var desk = PlanningDesk(jobs, store: store)

        let plan = try desk.handle(.happened(.sourceChanged))

        #expect(plan.wakeAfter == Planner.recheck)
    }

    @Test func `a network that comes back is an event, and one that is there is none`() throws {
        var desk = PlanningDesk([try job(schedule: nil, events: [.networkRestored])])
        let first = try desk.handle(.conditionsChanged)

        desk.conditions.connected = Conditions.Reading(false, source: "test")
        let lost = try desk.handle(.conditionsChanged)
        desk.conditions.connected = .unknown("test")
        try desk.handle(.conditionsChanged)
        desk.conditions.connected = Conditions.Reading(true, source: "test")
        let restored = try desk.handle(.conditionsChanged)

        #expect(first.started == [])
        #expect(lost.started == [])
        #expect(restored.started.map(\.run) == [RunID(1)])
        #expect(desk.store.runs[RunID(1)]?.trigger == .event)
    }

    @Test func `events and successes find the run that waits already`() throws {
        let jobs = [
            try job("a", then: [try id("b")]),
            try job("b", schedule: nil, constraints: [.externalPower], events: [.sourceChanged]),
        ]
        var desk = PlanningDesk(jobs)
        desk.conditions.externalPower = Conditions.Reading(false, source: "test")

        try desk.handle(.happened(.sourceChanged), .happened(.sourceChanged))
        try desk.handle(.finished(RunID(2), .success()))

        #expect(desk.store.runs.values.map(\.job).sorted() == [try id("a"), try id("b")])
    }

    @Test func `what follows a requested run belongs to the request`() throws {
        let jobs = [try job("a", then: [try id("b")]), try job("b", schedule: nil)]
        var desk = PlanningDesk(jobs, scope: .requested)
        try desk.handle(.requested([try id("a")], isForced: false))

        let follower = try desk.handle(.finished(RunID(1), .success()))

        #expect(follower.started.map(\.job) == [try id("b")])
    }

    @Test func `a success starts what follows it, and a failure does not`() throws {
        let jobs = [try job("a", then: [try id("b")]), try job("b", schedule: nil)]
        var desk = PlanningDesk(jobs)
        try desk.handle(.tick)

        let success = try desk.handle(.finished(RunID(1), .success()))
        var other = PlanningDesk(jobs)
        try other.handle(.tick)
        let failure = try other.handle(.finished(RunID(1), .failure))

        #expect(success.started.map(\.job) == [try id("b")])
        #expect(desk.store.runs[RunID(2)]?.trigger == .chain)
        #expect(desk.store.runs[RunID(2)]?.causedBy == RunID(1))
        #expect(failure.started == [])
    }
}
