public import ClarityScheduler

/// A store that forgets with its process, for tests of what decides; held to the same suite as the
/// real one.
public final class MemoryRunStore: RunStore {
    public private(set) var clocks: [JobID: JobClock] = [:]
    public private(set) var runs: [RunID: Run] = [:]
    public private(set) var attempts: [RunID: [Int: Attempt]] = [:]
    public private(set) var deferrals: [RunID: [Deferral]] = [:]
    /// Each `recordFate` as it came.
    public private(set) var fates: [LedgerChange] = []
    public private(set) var renewals = 0
    /// The process that uses the store; a test may speak for one after the other.
    public var owner: String
    /// The owners that are gone, so that their leases have lapsed.
    public var deadOwners: Set<String> = []
    /// The runs whose lease ran out of time while its holder lives.
    private var lateRuns: Set<RunID> = []
    /// How often a job's clock was set back, and the occurrences that have a run or a fate since.
    private var eras: [JobID: Int] = [:]
    private var taken: Set<Taken> = []

    private struct Taken: Hashable {
        var job: JobID
        var era: Int
        var instant: Instant
        var isFate: Bool
    }

    /// Creates an empty store.
    public init(owner: String = "me") { self.owner = owner }

    public func decide(_ decide: (Ledger) -> [LedgerChange]) throws(RunStoreError) {
        let changes = decide(try ledger())
        let before = (clocks, runs, attempts, deferrals, fates, renewals)
        let alsoBefore = (lateRuns, eras, taken)
        do throws(RunStoreError) {
            for change in changes { try apply(change) }
        } catch {
            (clocks, runs, attempts, deferrals, fates, renewals) = before
            (lateRuns, eras, taken) = alsoBefore
            throw error
        }
    }

    /// Lets the time of the leases that `owner` holds run out.
    public func lapseLeases(of owner: String) {
        lateRuns.formUnion(runs.values.filter { $0.lease?.owner == owner }.map(\.id))
    }

    public func ledger() throws(RunStoreError) -> Ledger {
        var ledger = Ledger(clocks: clocks)
        ledger.open = runs.values.filter { !$0.state.isFinished }.sorted { $0.id < $1.id }
            .map { run in
                var run = run
                let standing = standing(of: run)
                run.lease?.standing = standing
                return run
            }
        for run in runs.values.sorted(by: { $0.id < $1.id }) {
            if let finished = run.finishedAt { ledger.lastFinished[run.job] = finished }
        }
        ledger.nextRun = RunID((runs.keys.map(\.rawValue).max() ?? 0) + 1)
        return ledger
    }

    private func standing(of run: Run) -> ClarityScheduler.Lease.Standing {
        guard let owner = run.lease?.owner else { return .lapsed }
        if owner == self.owner { return .mine }
        return deadOwners.contains(owner) || lateRuns.contains(run.id) ? .lapsed : .held
    }

    private func apply(_ change: LedgerChange) throws(RunStoreError) {
        switch change {
        case .setClock(let job, let clock):
            if let known = clocks[job], clock.considered < known.considered {
                eras[job, default: 0] += 1
            }
            clocks[job] = clock
        case .recordFate(let job, _, let first, let latest, let count, _):
            guard latest >= first, count >= 1 else { throw .refused("a fate of no occurrence") }
            try take(job, first, isFate: true)
            fates.append(change)
        case .put(let run):
            try check(run)
            if runs[run.id] == nil, [.schedule, .catchUp].contains(run.trigger) {
                try take(run.job, run.scheduledFor, isFate: false)
            }
            runs[run.id] = run
            lateRuns.remove(run.id)
        case .putAttempt(let attempt):
            guard runs[attempt.run] != nil else { throw .refused("an attempt without its run") }
            attempts[attempt.run, default: [:]][attempt.number] = attempt
        case .deferred(let run, let reasons, at: _): deferrals[run] = reasons
        case .renewLeases:
            renewals += 1
            lateRuns = lateRuns.filter { runs[$0]?.lease?.owner != owner }
        }
    }

    private func take(_ job: JobID, _ instant: Instant, isFate: Bool) throws(RunStoreError) {
        let taken = Taken(job: job, era: eras[job] ?? 0, instant: instant, isFate: isFate)
        guard self.taken.insert(taken).inserted else {
            throw .refused("the occurrence of `\(job)` at \(instant) has its fate already")
        }
    }

    /// Holds the state machine, as the CHECK constraints of the real store do.
    private func check(_ run: Run) throws(RunStoreError) {
        let running = runs.values.first { $0.job == run.job && $0.state == .running }
        if run.state == .running, let running, running.id != run.id {
            throw .refused("two running runs of `\(run.job)`")
        }
        guard (run.state == .running) == (run.lease != nil),
            run.state.isFinished == (run.finishedAt != nil),
            (run.attempts > 0) == (run.startedAt != nil),
            run.startedAt != nil || ![.running, .succeeded].contains(run.state),
            (0...run.attempts).contains(run.failures), run.interruptions >= 0,
            run.notBefore == nil || run.state == .enqueued,
            run.failure != nil || run.state != .failed
        else { throw .refused("run \(run.id) breaks the state machine") }
    }
}
