public import ClarityScheduler
import Testing

/// Stores of one kind, as the processes that share one see them.
public protocol RunStoreBed: AnyObject {
    /// Opens the same store as another process would; `owner` holds the leases it takes.
    func open() throws -> (store: any RunStore, owner: String)

    /// Ends the process that took leases as `owner`.
    func end(_ owner: String)

    /// Lets the time of the leases that `owner` holds now run out, though its process lives.
    func lapseLeases(of owner: String) throws
}

/// What every store keeps to; each function is one sentence of it.
public enum RunStoreConformance: String, CaseIterable, Sendable {
    case emptyAtFirst = "a new store knows of nothing"
    case readsWhatWasWritten = "what one decision writes the next one reads, field for field"
    case writesAllOrNothing = "a refused change takes its whole decision back"
    case oneRunningRunAJob = "a job has one running run at most"
    case leaseWhileRunning = "a run has a lease exactly while it runs"
    case finishedRunsAreNotOpen = "a finished run is not open, and a job's last end is known"
    case leasesAreSeenByAll = "a lease is mine, held by another, or lapsed with its process"
    case leasesRunOut = "a lease that ran out of time has lapsed until its holder renews it"
    case oneRunAnOccurrence = "an occurrence has one run and one fate, until its clock is set back"
    case clocksAreReplaced = "a job's clock is the last one written"

    /// Checks the sentence on stores of one kind.
    public func check(_ bed: some RunStoreBed) throws {
        switch self {
        case .emptyAtFirst:
            let (store, _) = try bed.open()
            #expect(try store.ledger() == Ledger())
        case .readsWhatWasWritten:
            let (store, owner) = try bed.open()
            let run = try RunStoreConformance.fullRun(owner)
            let first = try RunStoreConformance.plainRun()
            try store.decide { _ in [.put(first), .put(run)] }
            let ledger = try store.ledger()
            #expect(ledger.open.last == run)
            #expect(ledger.nextRun == RunID(3))
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
        case .leaseWhileRunning:
            let (store, owner) = try bed.open()
            var waiting = try RunStoreConformance.plainRun()
            waiting.lease = Lease(owner: owner, standing: .mine)
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
            run.finishedAt = .noon + .seconds(4)
            let last = run
            try store.decide { _ in [.put(last), .put(first)] }
            let ledger = try store.ledger()
            #expect(ledger.open == [])
            #expect(ledger.lastFinished == [run.job: .noon + .seconds(4)])
        case .leasesAreSeenByAll:
            let (mine, owner) = try bed.open()
            let (other, _) = try bed.open()
            let run = try RunStoreConformance.runningRun(1, owner)
            try mine.decide { _ in [.put(run)] }
            #expect(try mine.ledger().open.first?.lease?.standing == .mine)
            #expect(try other.ledger().open.first?.lease?.standing == .held)
            bed.end(owner)
            #expect(try other.ledger().open.first?.lease?.standing == .lapsed)
        case .leasesRunOut:
            let (mine, owner) = try bed.open()
            let (other, _) = try bed.open()
            let run = try RunStoreConformance.runningRun(1, owner)
            try mine.decide { _ in [.put(run)] }
            try bed.lapseLeases(of: owner)
            #expect(try mine.ledger().open.first?.lease?.standing == .mine)
            #expect(try other.ledger().open.first?.lease?.standing == .lapsed)
            try mine.decide { _ in [.renewLeases] }
            #expect(try other.ledger().open.first?.lease?.standing == .held)
        case .oneRunAnOccurrence:
            let (store, _) = try bed.open()
            let run = try RunStoreConformance.plainRun()
            var second = run
            second.id = RunID(2)
            let again = second
            let fate = LedgerChange.recordFate(
                run.job, .skipped, first: .noon, latest: .noon, count: 1, run: nil)
            let clock = JobClock(anchor: .noon, considered: .noon)
            let setBack = JobClock(anchor: .noon, considered: .noon - .milliseconds(1))
            try store.decide { _ in [.setClock(run.job, clock), .put(run), fate] }
            #expect(throws: RunStoreError.self) { try store.decide { _ in [.put(again)] } }
            #expect(throws: RunStoreError.self) { try store.decide { _ in [fate] } }
            try store.decide { _ in [.setClock(run.job, setBack)] }
            try store.decide { _ in [.put(again), fate] }
            #expect(try store.ledger().open.map(\.id) == [RunID(1), RunID(2)])
        case .clocksAreReplaced:
            let (store, _) = try bed.open()
            let job = try #require(JobID("a"))
            let first = JobClock(anchor: .noon, considered: .noon)
            let second = JobClock(anchor: .noon, considered: .noon + .seconds(60))
            try store.decide { _ in [.setClock(job, first)] }
            try store.decide { _ in [.setClock(job, second)] }
            #expect(try store.ledger().clocks == [job: second])
        }
    }

    private static func plainRun() throws -> Run {
        Run(
            id: RunID(1), job: try #require(JobID("a")), kind: JobKind("work"),
            trigger: .schedule, scheduledFor: .noon, enqueuedAt: .noon)
    }

    private static func runningRun(_ number: Int64, _ owner: String) throws -> Run {
        var run = try plainRun()
        run.id = RunID(number)
        run.trigger = .manual
        run.state = .running
        run.attempts = 1
        run.generation = 1
        run.startedAt = .noon
        run.lease = Lease(owner: owner, standing: .mine)
        return run
    }

    /// A run with something in every field.
    private static func fullRun(_ owner: String) throws -> Run {
        var run = Run(
            id: RunID(2), job: try #require(JobID("b")), kind: JobKind("work"), trigger: .chain,
            scheduledFor: .noon + .milliseconds(1), enqueuedAt: .noon, isExpedited: true,
            isForced: true, causedBy: RunID(1))
        run.state = .running
        run.attempts = 4
        run.failures = 2
        run.interruptions = 1
        run.generation = 4
        run.lease = Lease(owner: owner, standing: .mine)
        run.startedAt = .noon + .milliseconds(250)
        run.checkpoint = "line one\nline two = \\ \u{1F600}"
        run.failure = Failure(.unreachable, "the backend is out")
        run.stopReason = .timeout
        run.tally["samples_sent"] = 12
        run.tally["samples_read"] = 0
        run.notes = ["a note", "another; with = signs"]
        return run
    }
}

/// Memory stores for the conformance suite.
public final class MemoryRunStoreBed: RunStoreBed {
    private let shared = MemoryRunStore()
    private var processes = 0

    /// Makes a bed around a new, empty store.
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

        func decide(_ decide: (Ledger) -> [LedgerChange]) throws(RunStoreError) {
            shared.owner = owner
            try shared.decide(decide)
        }

        func ledger() throws(RunStoreError) -> Ledger {
            shared.owner = owner
            return try shared.ledger()
        }
    }
}
