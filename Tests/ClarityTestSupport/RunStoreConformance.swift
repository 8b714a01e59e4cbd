public import ClarityScheduler
import Testing

/// A factory for stores of one kind, as the processes that share a store see them.
public protocol RunStoreBed: AnyObject {
    /// Opens the same store as another process would. `owner` holds the leases that it takes.
    func open() throws -> (store: any RunStore, owner: String)

    /// Ends the process that took leases as `owner`.
    func end(_ owner: String)

    /// Takes the leases from `owner`, although its process lives.
    func lapseLeases(of owner: String) throws
}

/// Holds a store weakly: only its bed keeps it alive, so that the bed can end it.
public final class BorrowedRunStore<Store: RunStore>: RunStore {
    private weak var store: Store?

    public init(_ store: Store) { self.store = store }

    public func decide(
        recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
    ) throws(RunStoreError) {
        guard let store else { throw .unreachable("its process has ended") }
        try store.decide(recalling: starts, decide)
    }

    public func ledger(recalling starts: StartRecall?) throws(RunStoreError) -> Ledger {
        guard let store else { throw .unreachable("its process has ended") }
        return try store.ledger(recalling: starts)
    }

    public func tidy() { store?.tidy() }

    public func end() { store?.end() }
}

/// The rules that every store follows. Each case is one rule, as a sentence.
public enum RunStoreConformance: String, CaseIterable, Sendable {
    case emptyAtFirst = "a new store knows of nothing"
    case readsWhatWasWritten = "what one decision writes the next one reads, field for field"
    case writesAllOrNothing = "a refused change takes its whole decision back"
    case oneRunningRunAJob = "a job has one running run at most"
    case leaseWhileRunning = "a run has a lease exactly while it runs"
    case finishedRunsAreNotOpen = "a finished run is not open, and the last end written is known"
    case endsWithoutAttempt = "a run that ends without an attempt is no end to keep a distance from"
    case leasesAreSeenByAll = "a lease is mine, held by another, or lapsed with its process"
    case leasesAreGivenUp = "a store that was ended holds no lease, whoever still refers to it"
    case oneRunAnOccurrence = "an occurrence has one run and one fate, until its clock is set back"
    case setBackBeforeItsRuns = "a clock is set back before the runs of the same decision"
    case clocksAreReplaced = "a job's clock is the last one written"
    case pausesAreReplaced = "a job is paused until it is let go on, and keeps its clock"
    case firstRequestStands = "of the requests to stop a run the first stands until it is finished"
    case waitsAreKept = "what a run waits for is known in its order until it is finished"
    case othersWritesAreSeen =
        "each process sees what the others wrote, whatever it has read before"
    case prunesAreMarked = "how far the past was pruned is known"
    case bootsAreReplaced = "of the machine's boots the last one written is known"
    case sourcesAreReplaced = "of each source the last fingerprint written is known"
    case startsAreRecalled = "the starts of attempts that a decision asks for are known to all"
    case oneBackfillAnOccurrence = "an occurrence of the past is done again once"

    /// A start counts whatever became of its run; one that is too old or of another job does not.
    private static func checkStarts(_ bed: some RunStoreBed) throws {
        let (store, owner) = try bed.open()
        let (other, _) = try bed.open()
        let recall = StartRecall(jobs: [try #require(JobID("a"))], since: .noon)
        func starts(_ store: any RunStore) throws -> [AttemptStart] {
            try store.ledger(recalling: recall).starts.sorted { $0.at < $1.at }
        }
        var wanted: [AttemptStart] = []
        let ends: [(String, RunState)] = [
            ("a", .succeeded), ("a", .failed), ("ada/a", .running), ("b", .succeeded),
            ("ba", .succeeded), ("a/b", .failed), ("bob/a", .enqueued),
        ]
        for (index, (name, state)) in ends.enumerated() {
            var run = try runningRun(Int64(index + 1), owner)
            run.job = try #require(JobID(name))
            run.startedAt = .noon - .seconds(60)
            let started = run
            let instant = Instant.noon + .seconds(Int64(index))
            try store.decide(recalling: recall) { _ in
                [
                    .put(started),
                    .putAttempt(Attempt(run: started.id, number: 1, startedAt: instant)),
                ]
            }
            if instant > .noon, started.job.declared.rawValue == "a" {
                wanted.append(AttemptStart(of: started.job, at: instant))
            }
            #expect(try starts(store) == wanted, "\(name) \(state)")
            #expect(try starts(other) == wanted, "\(name) \(state)")
            guard state != .running else { continue }
            run.state = state
            run.lease = nil
            if state.isFinished { run.finishedAt = instant + .seconds(1) }
            if state == .failed { run.failure = Failure(.work, "no more") }
            let ended = run
            try store.decide { _ in [.put(ended)] }
        }
        #expect(try starts(store) == wanted)
        #expect(try starts(bed.open().store) == wanted)
        #expect(try store.ledger().starts == [])
    }

    /// Checks the rule on stores of one kind.
    public func check(_ bed: some RunStoreBed) throws {
        switch self {
        case .emptyAtFirst:
            let (store, _) = try bed.open()
            #expect(try store.ledger() == Ledger())
        case .readsWhatWasWritten:
            let (store, owner) = try bed.open()
            let run = try RunStoreConformance.fullRun(owner)
            var first = try RunStoreConformance.plainRun()
            first.needs = .unmetered
            let needing = first
            try store.decide { _ in [.put(needing), .put(run)] }
            let ledger = try store.ledger()
            #expect(ledger.open == [RunID(1): needing, RunID(2): run])
            #expect(ledger.nextRun == RunID(3))
            // Read by a new process, and not from memory.
            #expect(try bed.open().store.ledger().open[RunID(1)] == needing)
        case .writesAllOrNothing:
            let (store, _) = try bed.open()
            var broken = try RunStoreConformance.plainRun()
            broken.id = RunID(2)
            broken.state = .succeeded
            let changes: [LedgerChange] = [
                .put(try RunStoreConformance.plainRun()), .put(broken),
            ]
            #expect(throws: RunStoreError.self) { try store.decide { _ in changes } }
            #expect(try store.ledger() == Ledger())
        case .oneRunningRunAJob:
            let (store, owner) = try bed.open()
            let first = try RunStoreConformance.runningRun(1, owner)
            let second = try RunStoreConformance.runningRun(2, owner)
            try store.decide { _ in [.put(first)] }
            #expect(throws: RunStoreError.self) { try store.decide { _ in [.put(second)] } }
        case .startsAreRecalled: try RunStoreConformance.checkStarts(bed)
        case .leaseWhileRunning:
            let (store, owner) = try bed.open()
            var waiting = try RunStoreConformance.plainRun()
            waiting.lease = Lease(owner: owner, state: .mine)
            let withLease = waiting
            #expect(throws: RunStoreError.self) { try store.decide { _ in [.put(withLease)] } }
        case .finishedRunsAreNotOpen:
            let (store, owner) = try bed.open()
            var run = try RunStoreConformance.runningRun(1, owner)
            run.state = .succeeded
            run.lease = nil
            run.finishedAt = .noon + .seconds(5)
            let first = run
            run.id = RunID(2)
            // The clock was set back in the meantime.
            run.finishedAt = .noon + .seconds(4)
            let last = run
            try store.decide { _ in [.put(first)] }
            try store.decide { _ in [.put(last)] }
            let ledger = try store.ledger()
            #expect(ledger.open.isEmpty)
            #expect(ledger.openRuns(of: run.job) == [])
            #expect(ledger.jobs.byJob == [run.job: JobRecord(lastFinished: .noon + .seconds(4))])
            #expect(ledger.nextRun == RunID(3))
        case .endsWithoutAttempt:
            let (store, _) = try bed.open()
            var run = try RunStoreConformance.plainRun()
            run.state = .skipped
            run.finishedAt = .noon
            let skipped = run
            try store.decide { _ in [.put(skipped)] }
            #expect(try store.ledger().jobs[run.job]?.lastFinished == nil)
            #expect(try store.ledger().open.isEmpty)
        case .leasesAreSeenByAll:
            let (mine, owner) = try bed.open()
            let (other, _) = try bed.open()
            let run = try RunStoreConformance.runningRun(1, owner)
            try mine.decide { _ in [.put(run)] }
            #expect(try mine.ledger().open[RunID(1)]?.lease?.state == .mine)
            #expect(try other.ledger().open[RunID(1)]?.lease?.state == .held)
            bed.end(owner)
            #expect(try other.ledger().open[RunID(1)]?.lease?.state == .lapsed)
        case .leasesAreGivenUp:
            let (mine, owner) = try bed.open()
            let (other, _) = try bed.open()
            let run = try RunStoreConformance.runningRun(1, owner)
            try mine.decide { _ in [.put(run)] }
            #expect(try other.ledger().open[RunID(1)]?.lease?.state == .held)
            mine.end()
            // A server notices a moment later.
            let start = ContinuousClock.now
            while try other.ledger().open[RunID(1)]?.lease?.state == .held,
                ContinuousClock.now - start < .seconds(10)
            {}
            #expect(try other.ledger().open[RunID(1)]?.lease?.state == .lapsed)
        case .oneRunAnOccurrence:
            let (store, _) = try bed.open()
            let run = try RunStoreConformance.plainRun()
            var second = run
            second.id = RunID(2)
            let again = second
            let outcome = LedgerChange.recordOutcome(
                run.job, .skipped, first: .noon, latest: .noon, count: 1, run: nil)
            let clock = JobClock(anchor: .noon, considered: .noon)
            let setBack = JobClock(anchor: .noon, considered: .noon - .milliseconds(1), era: 1)
            try store.decide { _ in [.setClock(run.job, clock), .put(run), outcome] }
            #expect(throws: RunStoreError.self) { try store.decide { _ in [.put(again)] } }
            #expect(throws: RunStoreError.self) { try store.decide { _ in [outcome] } }
            try store.decide { _ in [.setClock(run.job, setBack)] }
            try store.decide { _ in [.put(again), outcome] }
            #expect(try store.ledger().openRuns(of: run.job) == [RunID(1), RunID(2)])
        case .setBackBeforeItsRuns:
            let (store, _) = try bed.open()
            let run = try RunStoreConformance.plainRun()
            var second = run
            second.id = RunID(2)
            let again = second
            let clock = JobClock(anchor: .noon, considered: .noon)
            let setBack = JobClock(anchor: .noon, considered: .noon - .milliseconds(1), era: 1)
            let later = JobClock(anchor: .noon, considered: .noon, era: 1)
            try store.decide { _ in [.put(run), .setClock(run.job, clock)] }
            try store.decide { _ in
                [.put(again), .setClock(run.job, setBack), .setClock(run.job, later)]
            }
            #expect(try store.ledger().open.count == 2)
        case .clocksAreReplaced:
            let (store, _) = try bed.open()
            let job = try #require(JobID("a"))
            let first = JobClock(anchor: .noon, considered: .noon)
            let second = JobClock(anchor: .noon, considered: .noon + .seconds(60))
            try store.decide { _ in [.setClock(job, first)] }
            try store.decide { _ in [.setClock(job, second)] }
            #expect(try store.ledger().jobs.byJob == [job: JobRecord(clock: second)])
        case .pausesAreReplaced:
            let (store, _) = try bed.open()
            let job = try #require(JobID("a"))
            let clock = JobClock(
                anchor: .noon, considered: .noon + .seconds(60), schedule: "every 4h",
                scheduleSince: .noon + .seconds(30))
            let pause = Pause(since: .noon, reason: "a holiday")
            let longer = Pause(since: .noon, until: .noon + .seconds(90))
            try store.decide { _ in [.setPause(job, pause), .setClock(job, clock)] }
            #expect(try store.ledger().jobs.byJob == [job: JobRecord(clock: clock, pause: pause)])
            try store.decide { _ in [.setPause(job, longer)] }
            #expect(try store.ledger().jobs[job]?.pause == longer)
            try store.decide { _ in [.setPause(job, nil)] }
            #expect(try store.ledger().jobs.byJob == [job: JobRecord(clock: clock)])
        case .firstRequestStands:
            let (mine, owner) = try bed.open()
            let (other, _) = try bed.open()
            let run = try RunStoreConformance.runningRun(1, owner)
            try mine.decide { _ in [.put(run)] }
            try other.decide { _ in [.requestStop(run.id, .superseded)] }
            try other.decide { _ in [.requestStop(run.id, .cancelled)] }
            #expect(try mine.ledger().open[run.id]?.stopRequest == .superseded)
            #expect(try other.ledger().open[run.id]?.stopRequest == .superseded)
            var waiting = run
            waiting.state = .enqueued
            waiting.lease = nil
            let released = waiting
            try mine.decide { _ in [.put(released)] }
            #expect(try other.ledger().open[run.id] == released)
        case .waitsAreKept:
            let (store, _) = try bed.open()
            let (other, _) = try bed.open()
            var run = try RunStoreConformance.plainRun()
            let waiting = run
            func wait(_ subject: String, _ measured: String) -> Deferral {
                Deferral(
                    .constraint, subject: subject, wanted: "yes", measured: measured,
                    source: "test")
            }
            let waits =
                [[wait("network", "no"), wait("idle", "no")], [wait("idle", "no")]]
                + [[wait("idle", "unknown"), wait("network", "no")], []]
            try store.decide { _ in [.put(waiting)] }
            for (second, reasons) in waits.enumerated() {
                try store.decide { _ in
                    [.deferred(waiting.id, reasons, at: .noon + .seconds(second))]
                }
                let known = reasons.isEmpty ? [:] : [run.id: reasons]
                #expect(try store.ledger().waits == known)
                #expect(try other.ledger().waits == known)
            }
            try store.decide { _ in [.deferred(waiting.id, waits[0], at: .noon)] }
            run.state = .cancelled
            run.finishedAt = .noon
            let ended = run
            try store.decide { _ in [.put(ended)] }
            #expect(try store.ledger().waits == [:])
            #expect(try other.ledger().waits == [:])
        case .othersWritesAreSeen:
            let (first, _) = try bed.open()
            let (second, _) = try bed.open()
            let job = try #require(JobID("a"))
            for number in Int64(1)...6 {
                var run = try RunStoreConformance.plainRun()
                run.id = RunID(number)
                run.scheduledFor = .noon + .seconds(number)
                let new = run
                let clock = JobClock(anchor: .noon, considered: run.scheduledFor)
                try (number % 2 == 0 ? first : second).decide { ledger in
                    #expect(ledger.nextRun == RunID(number))
                    #expect(ledger.open.count == Int(number) - 1)
                    return [.put(new), .setClock(job, clock)]
                }
            }
            #expect(try first.ledger() == second.ledger())
        case .prunesAreMarked:
            let (store, _) = try bed.open()
            let (other, _) = try bed.open()
            let run = try RunStoreConformance.plainRun()
            try store.decide { _ in [.put(run), .prune(RetentionPolicy(), at: .noon)] }
            #expect(try store.ledger().pruned == PruneMark(at: .noon, through: RunID(1)))
            #expect(try other.ledger() == store.ledger())
        case .bootsAreReplaced:
            let (store, _) = try bed.open()
            let (other, _) = try bed.open()
            #expect(try store.ledger().boot == nil)
            try store.decide { _ in [.setBoot("first")] }
            #expect(try other.ledger().boot == "first")
            try other.decide { _ in [.setBoot("second")] }
            #expect(try store.ledger().boot == "second")
            #expect(try bed.open().store.ledger().boot == "second")
        case .sourcesAreReplaced:
            let (store, _) = try bed.open()
            let (other, _) = try bed.open()
            let file = SourceFingerprint(files: 1, newestChange: 1_795_176_000_123_456_789)
            let folder = SourceFingerprint(isFolder: true, files: 0, newestChange: 0)
            try store.decide { _ in [.setSource("/a b", file), .setSource("/c", file)] }
            #expect(try other.ledger().sources == ["/a b": file, "/c": file])
            try other.decide { _ in [.setSource("/c", folder)] }
            #expect(try store.ledger().sources == ["/a b": file, "/c": folder])
            #expect(try bed.open().store.ledger().sources == ["/a b": file, "/c": folder])
        case .oneBackfillAnOccurrence:
            let (store, _) = try bed.open()
            let plain = try RunStoreConformance.plainRun()
            func fill(_ number: Int64) -> Run {
                var run = plain
                run.id = RunID(number)
                run.trigger = .backfill
                return run
            }
            var failed = fill(2)
            failed.state = .failed
            failed.attempts = 1
            failed.startedAt = .noon
            failed.finishedAt = .noon
            failed.failure = Failure(.work, "nothing to read")
            let first = failed
            // Beside the run that the occurrence had, and again because that backfill failed.
            try store.decide { _ in [.put(plain), .put(first), .put(fill(3))] }
            #expect(throws: RunStoreError.self) { try store.decide { _ in [.put(fill(4))] } }
            #expect(try store.ledger().open.keys.sorted() == [RunID(1), RunID(3)])
        }
    }

    private static func plainRun() throws -> Run {
        Run(
            id: RunID(1), job: try #require(JobID("a")), kind: JobKind("work"),
            trigger: .schedule, scheduledFor: .noon, enqueuedAt: .noon)
    }

    /// Returns a run that runs under a lease.
    public static func runningRun(_ number: Int64, _ owner: String) throws -> Run {
        var run = try plainRun()
        run.id = RunID(number)
        run.trigger = .manual
        run.state = .running
        run.attempts = 1
        run.fencingToken = 1
        run.startedAt = .noon
        run.lease = Lease(owner: owner, state: .mine)
        return run
    }

    /// Returns a run with a value in every field.
    private static func fullRun(_ owner: String) throws -> Run {
        var run = Run(
            id: RunID(2), job: try #require(JobID("b")), kind: JobKind("work"), trigger: .chain,
            scheduledFor: .noon + .milliseconds(1), enqueuedAt: .noon, isExpedited: true,
            isForced: true, causedBy: RunID(1))
        run.state = .running
        run.attempts = 4
        run.failures = 2
        run.interruptions = 1
        run.fencingToken = 4
        run.lease = Lease(owner: owner, state: .mine)
        run.startedAt = .noon + .milliseconds(250)
        run.checkpoint = "line one\nline two = \\ \u{1F600}"
        run.failure = Failure(.unreachable, "the backend is out")
        run.stopReason = .timeout
        run.stopRequest = .cancelled
        run.tally["samples_sent"] = 12
        run.tally["samples_read"] = 0
        run.notes = ["a note", "another; with = signs", "", #"two\nlines\#nor \ more"#]
        run.parameters = ["TAG": #"a=b\c d"#, "EMPTY": ""]
        return run
    }
}

/// Memory stores for the conformance suite.
public final class MemoryRunStoreBed: RunStoreBed {
    private let shared = MemoryRunStore()
    private var processes = 0

    /// Creates a bed with a new, empty store.
    public init() {}

    public func open() -> (store: any RunStore, owner: String) {
        processes += 1
        let owner = "process-\(processes)"
        return (Process(shared, owner), owner)
    }

    public func end(_ owner: String) { shared.deadOwners.insert(owner) }

    public func lapseLeases(of owner: String) { shared.lapseLeases(of: owner) }

    private final class Process: RunStore {
        private let shared: MemoryRunStore
        private let owner: String

        init(_ shared: MemoryRunStore, _ owner: String) {
            self.shared = shared
            self.owner = owner
        }

        func decide(
            recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
        ) throws(RunStoreError) {
            shared.owner = owner
            try shared.decide(recalling: starts, decide)
        }

        func ledger(recalling starts: StartRecall?) throws(RunStoreError) -> Ledger {
            shared.owner = owner
            return try shared.ledger(recalling: starts)
        }

        func tidy() { shared.tidy() }

        func end() { shared.deadOwners.insert(owner) }
    }
}
