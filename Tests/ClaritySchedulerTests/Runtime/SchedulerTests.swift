import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("The scheduler", .timeLimit(.minutes(5)))
struct SchedulerTests {
    let clock = SteppingClock()
    let conditions = FakeConditions()
    let store = MemoryRunStore()

    @Test func `the scheduler runs due jobs and their followers, and returns`() async throws {
        let journal = Journal<JobID>()
        var scheduler = scheduler(
            [try job("a", then: [try id("b")]), try job("b", schedule: nil)]
        ) { order, _ in
            journal.add(order.job)
            return .success([("things_done", 2)])
        }

        let report = try await scheduler.run(until: .idle)

        #expect(journal.entries == [try id("a"), try id("b")])
        #expect(report.runs == [RunID(1), RunID(2)])
        #expect(store.runs[RunID(1)]?.state == .succeeded)
        #expect(store.runs[RunID(1)]?.tally["things_done"] == 2)
    }

    @Test func `the scheduler listens for changes only while something waits`() async throws {
        var idle = scheduler([try job(schedule: nil)]) { _, _ in .success() }
        _ = try await idle.run(until: .idle)
        let before = conditions.listeners

        var busy = scheduler([try job()]) { _, _ in .success() }
        _ = try await busy.run(until: .idle)

        #expect(before == 0)
        #expect(conditions.listeners == 1)
    }

    @Test func `the scheduler returns when every due run waits, and says why`() async throws {
        conditions.change(to: Conditions())
        var scheduler = scheduler([try job(constraints: [.connected])]) { _, _ in .success() }

        let report = try await scheduler.run(until: .idle)

        #expect(report.runs == [])
        #expect(report.waiting.map(\.run) == [RunID(1)])
    }

    @Test func `a worker that hangs is warned, then killed, and the rest goes on`() async throws {
        let heard = Journal<AttemptSignal>()
        let finished = Journal<Bool>()
        let clock = clock
        var scheduler = scheduler(
            [
                try job("hangs", schedule: .every(.seconds(7200)), attempts: 1),
                try job("works", schedule: .every(.seconds(7200))),
            ]
        ) { order, signals in
            guard order.job.rawValue == "hangs" else {
                finished.add(true)
                return .success()
            }
            for await signal in signals {
                heard.add(signal)
                if signal == .kill { break }
            }
            return .killed()
        }

        let passing = Task {
            // No time passes before the working job has finished, however busy the machine is.
            while finished.entries.isEmpty { await Task.yield() }
            await clock.passToEachSleeper()
        }
        _ = try await scheduler.run(until: .idle)
        passing.cancel()

        #expect(heard.entries == [.warn, .kill])
        // Time may have passed to the next occurrences before the loop was idle.
        let states = Dictionary(
            store.runs.values.sorted { $0.id < $1.id }.map { ($0.job.rawValue, $0.state) },
            uniquingKeysWith: { first, _ in first })
        #expect(states == ["hangs": .failed, "works": .succeeded])
    }

    @Test func `a drain ends the loop after the attempts, and no run stays running`() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: Planner.Event.self)
        var scheduler = scheduler([try job()]) { _, signals in
            continuation.yield(.drain)
            for await signal in signals where signal == .warn { break }
            return .retry()
        }

        _ = try await scheduler.run(until: .drained, events: events)

        #expect(store.runs[RunID(1)]?.state == .enqueued)
        #expect(store.runs[RunID(1)]?.stopReason == .shutdown)
        #expect(store.runs[RunID(1)]?.failures == 0)
    }

    @Test func `the loop wakes when the conditions change`() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: Planner.Event.self)
        conditions.change(to: Conditions())
        var scheduler = scheduler([try job(constraints: [.connected])]) { _, _ in
            continuation.yield(.drain)
            return .success()
        }

        let (clock, conditions) = (clock, conditions)
        let change = Task {
            await clock.waitForSleeper(until: Planner.announcedRecheck)
            conditions.change(to: .everythingAllowed)
        }
        _ = try await scheduler.run(until: .drained, events: events)
        await change.value

        #expect(store.runs[RunID(1)]?.state == .succeeded)
    }

    @Test func `the loop wakes at the next occurrence`() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: Planner.Event.self)
        let journal = Journal<Instant>()
        let clock = clock
        var scheduler = scheduler([try job(schedule: .every(.seconds(3600)))]) { order, _ in
            journal.add(order.scheduledFor)
            if journal.entries.count == 2 { continuation.yield(.drain) }
            return .success()
        }

        let passing = Task {
            await clock.waitForSleeper(until: .seconds(3600))
            clock.advance(by: .seconds(3600))
        }
        _ = try await scheduler.run(until: .drained, events: events)
        await passing.value

        #expect(journal.entries == [.noon, .noon + .seconds(3600)])
    }

    @Test func `a store that fails stops the attempts and is reported`() async throws {
        let stopped = Journal<Bool>()
        let failing = FailingStore(store, afterDecisions: 1)
        var scheduler = scheduler(
            [try job("a"), try job("b")], on: failing
        ) { order, signals in
            if order.job.rawValue == "a" { return .success() }
            for await signal in signals where signal == .kill { break }
            stopped.add(true)
            return .killed()
        }

        let error = await #expect(throws: RunStoreError.self) {
            try await scheduler.run(until: .idle)
        }

        #expect(error == .disk("the disk is full"))
        #expect(stopped.entries == [true])
    }

    /// The other job's waiting run is replaced by an occurrence, or a scheduler died with it.
    @Test(arguments: [true, false])
    func `the observer of requested runs hears of them and their followers alone`(
        isReplaced: Bool
    ) async throws {
        let jobs = [
            try job("a", schedule: nil, then: [try id("b")]), try job("b", schedule: nil),
            try job(
                "other", schedule: .every(.seconds(60)), constraints: [.connected],
                overlap: .replace),
        ]
        var before = PlanningDesk(jobs, store: store, owner: "before")
        if isReplaced { before.conditions = Conditions() }
        try before.handle(.tick)
        if isReplaced { clock.advance(by: .seconds(60)) } else { store.lapseLeases(of: "before") }
        conditions.change(to: Conditions())
        let heard = Journal<RunID>()
        var scheduler = scheduler(
            jobs, scope: .requested,
            observer: { change in
                switch change {
                case .put(let run): heard.add(run.id)
                case .putAttempt(let attempt): heard.add(attempt.run)
                default: break
                }
            }
        ) { _, _ in .success() }

        _ = try await scheduler.run(
            until: .idle, first: [.requested([try id("a")], isForced: false)])

        let names = Set(heard.entries.compactMap { store.runs[$0]?.job.rawValue })
        #expect(names == ["a", "b"])
        let other = store.runs.values.filter { $0.job.rawValue == "other" }
        #expect(other.contains { $0.state == (isReplaced ? .cancelled : .enqueued) })
    }

    private func scheduler(
        _ jobs: [Job], scope: Planner.Scope = .everything, on other: (any RunStore)? = nil,
        observer: @escaping Scheduler.Observer = { _ in }, _ work: @escaping FakeWorker.Work
    ) -> Scheduler {
        store.owner = "me"
        return Scheduler(
            planner: Planner(jobs: JobSet(jobs), owner: "me", scope: scope, seed: 1),
            store: other ?? store,
            worker: FakeWorker(work), monitor: conditions, clock: clock, observer: observer)
    }
}

/// A store that accepts a number of decisions and then reports a full disk.
private final class FailingStore: RunStore {
    private let store: MemoryRunStore
    private var decisionsLeft: Int

    init(_ store: MemoryRunStore, afterDecisions decisions: Int) {
        self.store = store
        decisionsLeft = decisions
    }

    func decide(
        recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
    ) throws(RunStoreError) {
        guard decisionsLeft > 0 else { throw .disk("the disk is full") }
        decisionsLeft -= 1
        try store.decide(recalling: starts, decide)
    }

    func ledger(recalling starts: StartRecall?) throws(RunStoreError) -> Ledger {
        try store.ledger(recalling: starts)
    }

    func tidy() { store.tidy() }

    func end() { store.end() }
}
