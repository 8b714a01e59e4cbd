internal import ClarityScheduler
internal import SQLite

/// Reads the ledger from the tables.
enum LedgerRows {
    /// Reads it in the current transaction; `standing` judges each lease, once an owner.
    static func read(
        _ connection: Connection,
        standing: (_ owner: String, _ boot: String, _ expires: Int64) -> Lease.Standing
    ) throws -> Ledger {
        var ledger = Ledger()
        try connection.forEach("SELECT job_id, anchor_at_ms, considered_until_ms FROM job_clocks") {
            row in
            guard let job = JobID(row.text(0)) else { return }
            ledger.clocks[job] = JobClock(
                anchor: Instant(millisecondsSince1970: row.integer(1)),
                considered: Instant(millisecondsSince1970: row.integer(2)))
        }
        var standings: [String: Lease.Standing] = [:]
        var fault: RunStoreError?
        try connection.forEach(
            "SELECT \(RunRow.columns) FROM runs WHERE state IN ('enqueued', 'running') ORDER BY id"
        ) { row in
            do throws(RunStoreError) {
                var run = try RunRow.run(row)
                if let owner = run.lease?.owner {
                    let (boot, expires) = RunRow.lease(row)
                    let found = standings[owner] ?? standing(owner, boot, expires)
                    standings[owner] = found
                    run.lease?.standing = found
                }
                ledger.open.append(run)
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
        try connection.forEach(
            """
            SELECT job_id, max(finished_at_ms) FROM runs INDEXED BY runs_last_finished
            WHERE finished_at_ms IS NOT NULL GROUP BY job_id
            """
        ) { row in
            guard let job = JobID(row.text(0)) else { return }
            ledger.lastFinished[job] = Instant(millisecondsSince1970: row.integer(1))
        }
        let last = try connection.first("SELECT seq FROM sqlite_sequence WHERE name = 'runs'") {
            $0.integer(0)
        }
        ledger.nextRun = RunID((last ?? 0) + 1)
        return ledger
    }
}
