import ClarityScheduler
import Database

/// The ledger as one connection last saw it, kept so that a decision reads only what has changed.
struct LedgerCache {
    private(set) var ledger = Ledger()
    /// The attempts of other processes.
    private var held: [HeldAttempt] = []
    private var dataVersion: Int64 = -1
    private var revision: Int64 = .min

    /// Brings the ledger up to date in the current transaction.
    ///
    /// Reads the tables only if another process has committed a change; `apply` adds the changes of
    /// this one. The leases of other processes are checked each time, because they lapse without a
    /// write.
    ///
    /// - Returns: whether another connection has written since the last call.
    @discardableResult
    mutating func refresh(_ connection: Connection, _ peers: any HistoryPeers) throws -> Bool {
        let version = try peers.version(connection)
        let isStale = version != dataVersion
        if isStale {
            revision = try LedgerRows.records(connection, after: revision) { job, record in
                ledger.setRecord(record, of: job)
            }
            let open = try LedgerRows.open(
                connection, nextRun: RunID(peers.lastRun(connection) + 1))
            ledger.replaceAllButRecords(
                open: open.runs, waits: open.waits, nextRun: open.nextRun,
                pruned: try LedgerRows.pruned(connection), boot: try LedgerRows.boot(connection),
                sources: try LedgerRows.sources(connection))
            held = open.runs.compactMap { run in
                run.lease.map { HeldAttempt(run: run.id, number: run.attempts, owner: $0.owner) }
            }
            dataVersion = version
        }
        try judge(connection, peers)
        if isStale {
            held.removeAll { ledger.open[$0.run]?.lease?.state == .mine }
        }
        return isStale
    }

    private mutating func judge(_ connection: Connection, _ peers: any HistoryPeers) throws {
        guard !held.isEmpty else { return }
        let states = try peers.states(of: held, connection)
        for attempt in held {
            // A run that this process has taken over meanwhile has another owner, or none.
            guard let lease = ledger.open[attempt.run]?.lease, lease.owner == attempt.owner,
                let state = states[attempt.run], state != lease.state
            else { continue }
            ledger.setLeaseState(state, of: attempt.run)
        }
    }

    /// Applies a change to the cached ledger.
    mutating func apply(_ change: LedgerChange) { ledger.apply(change) }

    /// Returns the revision for the next record that is written.
    mutating func nextRevision() -> Int64 {
        revision = max(revision, 0) + 1
        return revision
    }
}
