public import ClarityScheduler

/// A store in memory, for tests of decisions. It passes the same conformance suite as the real
/// store.
public final class MemoryRunStore: RunStore {
    /// All runs, including finished ones.
    public private(set) var runs: [RunID: Run] = [:]
    public private(set) var attempts: [RunID: [Int: Attempt]] = [:]
    /// The start of each attempt, in the order in which they were written.
    private var starts: [AttemptStart] = []
    /// Each `recordOutcome` change, in order.
    public private(set) var outcomes: [LedgerChange] = []
    /// Each `prune` change, in order. The store forgets nothing.
    public private(set) var prunes: [LedgerChange] = []
    /// The process that uses the store. A test may act as one process after the other.
    public var owner: String
    /// The owners that have ended, so that their leases have lapsed.
    public var deadOwners: Set<String> = []
    /// The loop that decides; `nil` where there is one machine.
    public var leader: String?
    /// What loops have published, by their owners.
    public private(set) var machines: [String: Machine] = [:]
    /// The attempts that are placed on machines.
    public private(set) var placements: [RunID: Placement] = [:]
    private var present = Ledger()
    /// The runs whose lease is lost although its holder lives.
    private var lateRuns: Set<RunID> = []
    /// The era of each job's clock, and the occurrences that have a run or an outcome.
    private var eras: [JobID: Int] = [:]
    private var taken: Set<Taken> = []

    private struct Taken: Hashable {
        var job: JobID
        var era: Int
        var instant: Instant
        var isOutcome: Bool
    }

    /// Creates an empty store.
    public init(owner: String = "me") { self.owner = owner }

    /// What each unfinished run waits for.
    public var deferrals: [RunID: [Deferral]] { present.waits }

    /// The clock of each job, which says how far its schedule has been processed.
    public var clocks: [JobID: JobClock] { present.jobs.byJob.compactMapValues(\.clock) }

    public func decide(
        recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
    ) throws(RunStoreError) {
        let changes = decide(try ledger(recalling: starts))
        let before = (runs, attempts, outcomes, prunes)
        let alsoBefore = (present, lateRuns, eras, taken, self.starts)
        do throws(RunStoreError) {
            beginEras(changes)
            for change in changes {
                try write(change)
                present.apply(change)
            }
        } catch {
            (runs, attempts, outcomes, prunes) = before
            (present, lateRuns, eras, taken, self.starts) = alsoBefore
            throw error
        }
    }

    /// Takes the leases from `owner`.
    public func lapseLeases(of owner: String) {
        lateRuns.formUnion(present.open.values.filter { $0.lease?.owner == owner }.map(\.id))
    }

    /// Does nothing, because this store defers no work.
    public func tidy() {}

    public func end() { deadOwners.insert(owner) }

    public func ledger(recalling starts: StartRecall?) throws(RunStoreError) -> Ledger {
        present.recall(starts, isStale: true, recalled)
        for run in present.open.values where run.lease != nil {
            present.setLeaseState(state(of: run), of: run.id)
        }
        return leader.map { shared($0) } ?? present
    }

    /// Returns what a process sees that is the leader, or follows it.
    private func shared(_ leader: String) -> Ledger {
        guard owner != leader else {
            var ledger = present
            ledger.role = .leader
            ledger.placements = placements
            ledger.machines = machines.values.filter {
                $0.owner != owner && !deadOwners.contains($0.owner)
            }.sorted { $0.name < $1.name }
            return ledger
        }
        let own = placements.filter { _, placement in
            placement.owner == owner && [.offered, .taken].contains(placement.state)
        }
        var ledger = Ledger(
            jobs: [:],
            open: own.keys.compactMap { present.open[$0] }.filter { $0.lease?.owner == owner })
        ledger.role = .follower
        ledger.placements = own
        return ledger
    }

    private func recalled(_ recall: StartRecall) -> [AttemptStart] {
        starts.filter { $0.at > recall.since && recall.jobs.contains($0.job.declared) }
            .sorted { ($0.at, $0.job) < ($1.at, $1.job) }
    }

    private func state(of run: Run) -> ClarityScheduler.Lease.State {
        guard let owner = run.lease?.owner else { return .lapsed }
        if owner == self.owner { return .mine }
        return deadOwners.contains(owner) || lateRuns.contains(run.id) ? .lapsed : .held
    }

    /// Records the eras of the clocks, before the runs and outcomes of the same decision.
    private func beginEras(_ changes: [LedgerChange]) {
        for case .setClock(let job, let clock) in changes { eras[job] = clock.era }
    }

    private func write(_ change: LedgerChange) throws(RunStoreError) {
        switch change {
        case .setClock, .setPause, .setRetryAfter, .setBoot, .setSource, .putFacts: break
        case .placing(.place(let placement)): placements[placement.run] = placement
        case .placing(.unplace(let run)): placements[run] = nil
        case .placing(.answer(let placement)): placements[placement.run] = placement
        case .placing(.publish(let machine)): machines[machine.owner] = machine
        case .recordOutcome(let job, _, let first, let latest, let count, _):
            guard latest >= first, count >= 1 else { throw .refused("an outcome of no occurrence") }
            try take(job, first, isOutcome: true)
            outcomes.append(change)
        case .put(let run):
            try check(run)
            if runs[run.id] == nil, [.schedule, .catchUp].contains(run.trigger) {
                try take(run.job, run.scheduledFor, isOutcome: false)
            }
            if run.trigger == .backfill, runs.values.contains(where: { isSameBackfill($0, run) }) {
                throw .refused("an occurrence of `\(run.job)` is done again already")
            }
            runs[run.id] = run
            lateRuns.remove(run.id)
        case .requestStop(let run, let reason):
            guard let known = runs[run] else { throw .refused("a request to an unknown run") }
            if known.stopRequest == nil { runs[run]?.stopRequest = reason }
        case .putAttempt(let attempt):
            guard runs[attempt.run] != nil else { throw .refused("an attempt without its run") }
            var attempt = attempt
            // As in the tables, the start of an attempt never changes.
            attempt.startedAt =
                attempts[attempt.run]?[attempt.number]?.startedAt ?? attempt.startedAt
            let former = attempts[attempt.run, default: [:]].updateValue(
                attempt, forKey: attempt.number)
            if former == nil, let job = runs[attempt.run]?.job {
                starts.append(AttemptStart(of: job, at: attempt.startedAt))
            }
        case .deferred(let run, _, at: _):
            guard runs[run] != nil else { throw .refused("an unknown run that waits") }
        case .prune: prunes.append(change)
        }
    }

    /// Returns whether two runs backfill the same occurrence, and both wait, run or have succeeded.
    private func isSameBackfill(_ a: Run, _ b: Run) -> Bool {
        let counts: Set<RunState> = [.enqueued, .running, .succeeded]
        return a.id != b.id && a.trigger == b.trigger && a.job == b.job
            && a.scheduledFor == b.scheduledFor && counts.contains(a.state)
            && counts.contains(b.state)
    }

    private func take(_ job: JobID, _ instant: Instant, isOutcome: Bool) throws(RunStoreError) {
        let taken = Taken(job: job, era: eras[job] ?? 0, instant: instant, isOutcome: isOutcome)
        guard self.taken.insert(taken).inserted else {
            throw .refused("the occurrence of `\(job)` at \(instant) has its outcome already")
        }
    }

    /// Enforces the state machine, as the CHECK constraints of the real store do.
    private func check(_ run: Run) throws(RunStoreError) {
        let running = present.openRuns(of: run.job).filter { present.open[$0]?.state == .running }
        if run.state == .running, running.contains(where: { $0 != run.id }) {
            throw .refused("two running runs of `\(run.job)`")
        }
        guard (run.state == .running) == (run.lease != nil),
            run.state.isFinished == (run.finishedAt != nil),
            (run.attempts > 0) == (run.startedAt != nil),
            run.startedAt != nil || ![.running, .succeeded].contains(run.state),
            (0...run.attempts).contains(run.failures), run.interruptions >= 0,
            run.notBefore == nil || run.state == .enqueued,
            run.stopRequest == nil || run.state == .running,
            run.failure != nil || run.state != .failed
        else { throw .refused("run \(run.id) breaks the state machine") }
    }
}
