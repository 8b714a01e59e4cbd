import ClarityScheduler
import SQLite

/// The ledger as one connection last saw it, kept between decisions so that each costs what
/// changed and not what there is.
struct LedgerCache {
    private(set) var ledger = Ledger()
    /// When the leases of each owner lapse, and the runs that others hold.
    private var leases: [String: LedgerRows.LeaseTerms] = [:]
    private var held: [RunID] = []
    private var dataVersion: Int64 = -1
    private var revision: Int64 = .min

    /// Brings the ledger up to date in the current transaction.
    ///
    /// `PRAGMA data_version` stays what it is while no other connection commits a change
    /// (<https://www.sqlite.org/pragma.html#pragma_data_version>); what this one commits is taken
    /// in by `apply`. What another process's leases are worth is asked each time, for they lapse
    /// without a write.
    ///
    /// - Returns: whether others have written since.
    @discardableResult
    mutating func refresh(_ connection: Connection, _ leases: Leases) throws -> Bool {
        let version = try connection.first("PRAGMA data_version") { $0.integer(0) } ?? 0
        let isStale = version != dataVersion
        if isStale {
            revision = try LedgerRows.records(connection, after: revision) { job, record in
                ledger.setRecord(record, of: job)
            }
            let open = try LedgerRows.open(connection)
            ledger.replaceOpen(open.runs, waits: open.waits, nextRun: open.nextRun)
            ledger.setPruned(try LedgerRows.pruned(connection))
            ledger.setBoot(try LedgerRows.boot(connection))
            ledger.setSources(try LedgerRows.sources(connection))
            self.leases = open.leases
            held = open.runs.filter { $0.lease != nil }.map(\.id)
            dataVersion = version
        }
        judge(leases)
        if isStale {
            held.removeAll { ledger.open[$0]?.lease?.standing == .mine }
        }
        return isStale
    }

    private mutating func judge(_ leases: Leases) {
        guard !held.isEmpty else { return }
        let standings = Dictionary(
            uniqueKeysWithValues: self.leases.map { owner, terms in
                (owner, leases.standing(of: owner, boot: terms.boot, expires: terms.expires))
            })
        for run in held {
            // What this process has taken over since has another owner, or none.
            guard let owner = ledger.open[run]?.lease?.owner, let standing = standings[owner],
                standing != ledger.open[run]?.lease?.standing
            else { continue }
            ledger.setStanding(standing, of: run)
        }
    }

    /// Does what a change does.
    mutating func apply(_ change: LedgerChange) { ledger.apply(change) }

    /// The revision for the next record that is written.
    mutating func nextRevision() -> Int64 {
        revision = max(revision, 0) + 1
        return revision
    }
}
