import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("What becomes of a run when its attempt ends")
struct EndingsTests {
    @Test func `a run that succeeds keeps its counts`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        desk.pass(.seconds(3))

        try desk.handle(.finished(RunID(1), .success([("samples_sent", 7)])))

        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.state == .succeeded)
        #expect(run.finishedAt == .noon + .seconds(3))
        #expect(run.tally.summary == "7 samples sent")
        #expect(desk.store.attempts[RunID(1)]?[1]?.result == .succeeded)
    }

    @Test func `a failed attempt is repeated after its wait`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)

        let failed = try desk.handle(.finished(RunID(1), .retry()))
        let wait = try #require(desk.store.runs[RunID(1)]?.notBefore) - .noon
        desk.pass(wait)
        let again = try desk.handle(.tick)

        #expect(failed.started == [])
        #expect(failed.waiting.first?.deferrals.map(\.reason) == [.backoff])
        #expect(failed.wakeAfter == wait)
        #expect((Duration.seconds(27)...Duration.seconds(30)).contains(wait))
        #expect(again.started.map(\.attempt) == [2])
        #expect(again.started.map(\.fencingToken) == [2])
    }

    @Test func `a worker's wish lengthens the wait, up to the policy's longest`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .retry(after: .seconds(600))))
        let wished = desk.store.runs[RunID(1)]?.notBefore
        var other = PlanningDesk([try job()])
        try other.handle(.tick)

        try other.handle(.finished(RunID(1), .retry(after: .seconds(86_400))))

        #expect(wished == .noon + .seconds(600))
        #expect(other.store.runs[RunID(1)]?.notBefore == .noon + RetryPolicy.longestMaximum)
    }

    @Test func `a run that exhausts its attempts fails with the last reason`() throws {
        var desk = PlanningDesk([try job(attempts: 3)])
        try desk.handle(.tick)

        for _ in 1...3 {
            try desk.handle(.finished(RunID(1), .retry()))
            desk.pass(.seconds(3600))
            try desk.handle(.tick)
        }

        let run = try #require(desk.store.runs[RunID(1)])
        #expect(run.state == .failed)
        #expect(run.failures == 3)
        #expect(run.failure == Failure(.unreachable, "the backend is out"))
    }

    @Test func `a failure that repeating cannot cure is not repeated`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), .failure))

        #expect(desk.store.runs[RunID(1)]?.state == .failed)
        #expect(desk.store.runs[RunID(1)]?.attempts == 1)
    }

    @Test func `a worker killed from outside starts again at once, three times in a row`() throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)

        let restarts = try (1...3).map { _ in
            try desk.handle(.finished(RunID(1), .killed())).started.count
        }
        let fourth = try desk.handle(.finished(RunID(1), .killed()))

        #expect(restarts == [1, 1, 1])
        #expect(fourth.started == [])
        #expect(desk.store.runs[RunID(1)]?.failures == 1)
        #expect(desk.store.attempts[RunID(1)]?[1]?.result == .interrupted)
        #expect(desk.store.attempts[RunID(1)]?[4]?.result == .failed)
    }

    @Test(arguments: [AttemptEnd.retry(), .killed(by: 11)])
    func `a failure begins the count of workers killed in a row anew`(
        between: AttemptEnd
    ) throws {
        var desk = PlanningDesk([try job(attempts: 9)])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .killed()))

        try desk.handle(.finished(RunID(1), between))
        desk.pass(.seconds(3600))
        try desk.handle(.tick)
        for _ in 1...3 { try desk.handle(.finished(RunID(1), .killed())) }

        let killed = desk.store.attempts[RunID(1)]?.values.filter { $0.result == .interrupted }
        #expect(killed?.count == 4)
    }

    @Test func `a stop begins the count of workers killed in a row anew`() throws {
        var desk = PlanningDesk([try job(constraints: [.externalPower])])
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .killed()))

        desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .retry()))

        #expect(desk.store.runs[RunID(1)]?.interruptions == 0)
        #expect(desk.store.attempts[RunID(1)]?[2]?.result == .stopped)
    }

    @Test func `a checkpoint stays until an attempt leaves another`() throws {
        var desk = PlanningDesk([try job(attempts: 9)])
        try desk.handle(.tick)
        let broken = AttemptEnd.killed(by: 11).result
        try desk.handle(.finished(RunID(1), AttemptEnd(broken, checkpoint: "half")))
        desk.pass(.seconds(3600))
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), AttemptEnd(broken)))

        #expect(desk.store.runs[RunID(1)]?.checkpoint == "half")
    }

    @Test func `a run whose schedulers die again and again fails one attempt in four`() throws {
        let store = MemoryRunStore()
        var failures: [Int] = []
        for number in 1...4 {
            var desk = PlanningDesk([try job()], store: store, owner: "\(number)")
            try desk.handle(.tick)
            store.deadOwners.insert("\(number)")
            failures.append(try #require(store.runs[RunID(1)]).failures)
        }
        var desk = PlanningDesk([try job()], store: store, owner: "last")

        let plan = try desk.handle(.tick)

        #expect(failures == [0, 0, 0, 0])
        #expect(store.runs[RunID(1)]?.failures == 1)
        #expect(plan.started == [])
        #expect(plan.waiting.first?.deferrals.map(\.reason) == [.backoff])
    }

    @Test(arguments: [
        (
            AttemptFault.exitedWithoutReport(status: 0),
            "its worker exited with status 0 and reported no outcome"
        ),
        (.killedBySignal(11), "its worker was ended by signal 11"),
        (
            .malformedReport("a count's name"),
            "its worker wrote something that is no report: a count's name"
        ),
        (
            .memoryLimitExceeded(limitBytes: 64 << 20, measuredBytes: 65 << 20),
            "its worker took 65 MiB of memory, over its limit of 64 MiB"
        ),
        (
            .leftProcessesBehind,
            "its worker ended and left processes running in the background, which were killed"
        ),
        (
            .notStarted("no such file or directory"),
            "its worker could not be started: no such file or directory"
        ),
    ])
    func `a worker that breaks is a failed attempt with its reason`(
        fault: AttemptFault, reason: String
    ) throws {
        var desk = PlanningDesk([try job()])
        try desk.handle(.tick)

        try desk.handle(.finished(RunID(1), AttemptEnd(.broke(fault))))

        #expect(desk.store.runs[RunID(1)]?.state == .enqueued)
        #expect(desk.store.runs[RunID(1)]?.failures == 1)
        #expect(desk.store.attempts[RunID(1)]?[1]?.reason == reason)
    }

    @Test func `of a command the program is what breaks`() throws {
        var job = try job()
        job.kind = JobKind("command")
        var desk = PlanningDesk([job])
        try desk.handle(.tick)

        try desk.handle(
            .finished(
                RunID(1),
                AttemptEnd(
                    .broke(.memoryLimitExceeded(limitBytes: 64 << 20, measuredBytes: 65 << 20)))))

        #expect(
            desk.store.attempts[RunID(1)]?[1]?.reason
                == "its program took 65 MiB of memory, over its limit of 64 MiB")
    }

    @Test func `a run whose scheduler is gone is taken over at once`() throws {
        let store = MemoryRunStore()
        var dead = PlanningDesk([try job()], store: store, owner: "dead")
        try dead.handle(.tick)
        store.deadOwners = ["dead"]
        var desk = PlanningDesk([try job()], store: store)

        let plan = try desk.handle(.tick)

        #expect(plan.started.map(\.run) == [RunID(1)])
        #expect(plan.started.map(\.fencingToken) == [2])
        #expect(store.attempts[RunID(1)]?[1]?.result == .interrupted)
        #expect(store.attempts[RunID(1)]?[1]?.stopReason == .leaseLost)
    }

    @Test func `a run of a job that is no longer declared is taken over too`() throws {
        let store = MemoryRunStore()
        var dead = PlanningDesk([try job()], store: store, owner: "dead")
        try dead.handle(.tick)
        store.deadOwners = ["dead"]
        var desk = PlanningDesk([], store: store)

        let plan = try desk.handle(.tick)

        #expect(plan.started == [])
        #expect(store.runs[RunID(1)]?.state == .enqueued)
        #expect(store.attempts[RunID(1)]?[1]?.result == .interrupted)
    }

    @Test func `a run whose scheduler lives is left alone`() throws {
        let store = MemoryRunStore()
        var other = PlanningDesk([try job()], store: store, owner: "other")
        try other.handle(.tick)
        var desk = PlanningDesk([try job()], store: store)

        let plan = try desk.handle(.tick)

        #expect(plan.started == [])
        #expect(store.runs[RunID(1)]?.lease?.owner == "other")
    }

    @Test func `a run that came back waits for its lost attempt to be gone`() throws {
        let store = MemoryRunStore()
        var slow = PlanningDesk([try job()], store: store, owner: "slow")
        try slow.handle(.tick)
        store.deadOwners = ["slow"]
        var quick = PlanningDesk([try job()], store: store, owner: "quick")
        try quick.handle(.tick)
        try quick.handle(.finished(RunID(1), .killed()), .drain)

        let lost = try slow.handle(.tick)
        let gone = try slow.handle(.finished(RunID(1), .killed()))

        #expect(lost.signals == [RunID(1): .kill])
        #expect(lost.started == [])
        #expect(
            lost.waiting.first?.deferrals.map(\.measured)
                == ["an attempt of run 1 that is being ended"])
        #expect(gone.started.map(\.attempt) == [3])
        #expect(store.runs[RunID(1)]?.interruptions == 2)
    }

    @Test func `an attempt that ends in the look that finds its lease lost is not killed`() throws {
        let store = MemoryRunStore()
        var slow = PlanningDesk([try job()], store: store, owner: "slow")
        try slow.handle(.tick)
        store.deadOwners = ["slow"]
        var quick = PlanningDesk([try job()], store: store, owner: "quick")
        try quick.handle(.tick)

        let plan = try slow.handle(.finished(RunID(1), .success()))

        #expect(plan.signals == [:])
        #expect(store.runs[RunID(1)]?.lease?.owner == "quick")
    }

    @Test func `an attempt that is being killed is not killed again for its lost lease`() throws {
        let store = MemoryRunStore()
        var slow = PlanningDesk([try job()], store: store, owner: "slow")
        try slow.handle(.tick)
        slow.pass(.seconds(80))
        try slow.handle(.tick)
        slow.pass(.seconds(20))
        let killed = try slow.handle(.tick)
        store.deadOwners = ["slow"]
        var quick = PlanningDesk([try job()], store: store, owner: "quick")
        try quick.handle(.tick)

        let lost = try slow.handle(.tick)

        #expect(killed.signals == [RunID(1): .kill])
        #expect(lost.signals == [:])
    }

    @Test func `an attempt that lost its lease is killed and writes nothing`() throws {
        let store = MemoryRunStore()
        var slow = PlanningDesk([try job()], store: store, owner: "slow")
        try slow.handle(.tick)
        store.deadOwners = ["slow"]
        var quick = PlanningDesk([try job()], store: store, owner: "quick")
        try quick.handle(.tick)
        store.deadOwners = []

        let plan = try slow.handle(.tick)
        try slow.handle(.finished(RunID(1), .success([("samples_sent", 9)])))

        #expect(plan.signals == [RunID(1): .kill])
        #expect(store.runs[RunID(1)]?.state == .running)
        #expect(store.runs[RunID(1)]?.lease?.owner == "quick")
        #expect(store.runs[RunID(1)]?.tally.names == [Tally.unreported])
        #expect(store.runs[RunID(1)]?.tally[Tally.unreported] == 1)
    }

    @Test func `a run that was lost and found again waits until its old attempt has ended`() throws
    {
        let store = MemoryRunStore()
        var slow = PlanningDesk([try job()], store: store, owner: "slow")
        try slow.handle(.tick)
        store.deadOwners = ["slow"]
        var quick = PlanningDesk([try job()], store: store, owner: "quick")
        try quick.handle(.tick)
        store.deadOwners = ["quick"]

        let found = try slow.handle(.tick)
        let ended = try slow.handle(.finished(RunID(1), .killed()))

        #expect(found.signals == [RunID(1): .kill])
        #expect(found.started == [])
        #expect(!found.isIdle)
        #expect(ended.started.map(\.attempt) == [3])
        #expect(store.attempts[RunID(1)]?[2]?.result == .interrupted)
        #expect(store.attempts[RunID(1)]?[3]?.result == .running)
    }
}
