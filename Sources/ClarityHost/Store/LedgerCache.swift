import ClarityScheduler
import SQLite

/// The ledger as one connection last saw it, kept so that a decision reads only what has changed.
struct LedgerCache {
    private(set) var ledger = Ledger()
    /// The lease terms of each owner, and the runs that others hold.
    private var leases: [String: LedgerRows.LeaseTerms] = [:]
    private var held: [RunID] = []
    private var dataVersion: Int64 = -1
    private var revision: Int64 = .min

    /// Brings the ledger up to date in the current transaction.
    ///
    /// `PRAGMA data_version` changes only when another connection commits a change
    /// (<https://www.sqlite.org/pragma.html#pragma_data_version>); `apply` adds the changes of this
    /// one. The leases of other processes are checked each time, because they lapse without a
    /// write.
    ///
    /// - Returns: whether another connection has written since the last call.
    @discardableResult
    mutating func refresh(_ connection: Connection, _ leases: Leases) throws -> Bool {
        let version = try connection.first("PRAGMA data_version") { $0.integer(0) } ?? 0
        let isStale = version != dataVersion
        if isStale {
            revision = try LedgerRows.records(connection, after: revision) { job, record in
                ledger.setRecord(record, of: job)
            }
            let open = try LedgerRows.open(connection)
            ledger.replaceAllButRecords(
                open: open.runs, waits: open.waits, nextRun: open.nextRun,
                pruned: try LedgerRows.pruned(connection), boot: try LedgerRows.boot(connection),
                sources: try LedgerRows.sources(connection))
            self.leases = open.leases
            held = open.runs.filter { $0.lease != nil }.map(\.id)
            dataVersion = version
        }
        judge(leases)
        if isStale {
            held.removeAll { ledger.open[$0]?.lease?.state == .mine }
        }
        return isStale
    }

    private mutating func judge(_ leases: Leases) {
        guard !held.isEmpty else { return }
        let states = Dictionary(
            uniqueKeysWithValues: self.leases.map { owner, terms in
                (owner, leases.state(of: owner, boot: terms.boot, expires: terms.expires))
            })
        for run in held {
            // A run that this process has taken over meanwhile has another owner, or none.
            guard let owner = ledger.open[run]?.lease?.owner, let state = states[owner],
                state != ledger.open[run]?.lease?.state
            else { continue }
            ledger.setLeaseState(state, of: run)
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
