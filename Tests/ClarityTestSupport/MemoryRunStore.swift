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

    /// Creates an empty store.
    public init(owner: String = "me") { self.owner = owner }

    public func decide(_ decide: (Ledger) -> [LedgerChange]) throws(RunStoreError) {
        let changes = decide(try ledger())
        let before = (clocks, runs, attempts, deferrals, fates, renewals)
        do throws(RunStoreError) {
            for change in changes { try apply(change) }
        } catch {
            (clocks, runs, attempts, deferrals, fates, renewals) = before
            throw error
        }
    }

    public func ledger() throws(RunStoreError) -> Ledger {
        var ledger = Ledger(clocks: clocks)
        ledger.open = runs.values.filter { !$0.state.isFinished }.sorted { $0.id < $1.id }
            .map { run in
                var run = run
                let standing = standing(of: run.lease?.owner)
                run.lease?.standing = standing
                return run
            }
        for run in runs.values {
            guard let finished = run.finishedAt else { continue }
            ledger.lastFinished[run.job] = max(finished, ledger.lastFinished[run.job] ?? finished)
        }
        ledger.nextRun = RunID((runs.keys.map(\.rawValue).max() ?? 0) + 1)
        return ledger
    }

    private func standing(of owner: String?) -> ClarityScheduler.Lease.Standing {
        if owner == self.owner { return .mine }
        return owner.map { deadOwners.contains($0) } ?? true ? .lapsed : .held
    }

    private func apply(_ change: LedgerChange) throws(RunStoreError) {
        switch change {
        case .setClock(let job, let clock): clocks[job] = clock
        case .recordFate: fates.append(change)
        case .put(let run):
            let running = runs.values.first { $0.job == run.job && $0.state == .running }
            if run.state == .running, let running, running.id != run.id {
                throw .refused("two running runs of `\(run.job)`")
            }
            guard (run.state == .running) == (run.lease != nil),
                run.state.isFinished == (run.finishedAt != nil)
            else { throw .refused("run \(run.id) breaks the state machine") }
            runs[run.id] = run
        case .putAttempt(let attempt):
            guard runs[attempt.run] != nil else { throw .refused("an attempt without its run") }
            attempts[attempt.run, default: [:]][attempt.number] = attempt
        case .deferred(let run, let reasons, at: _): deferrals[run] = reasons
        case .renewLeases: renewals += 1
        }
    }
}
