import ClarityScheduler
import SQLite

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
        try connection.forEach(lastFinished) { row in
            guard let job = JobID(row.text(0)), let finished = row.optionalInstant(1) else {
                return
            }
            ledger.lastFinished[job] = finished
        }
        let last = try connection.first("SELECT seq FROM sqlite_sequence WHERE name = 'runs'") {
            $0.integer(0)
        }
        ledger.nextRun = RunID((last ?? 0) + 1)
        return ledger
    }

    /// When the last run of each job finished; one step of the index a job, however many runs.
    ///
    /// The last is that of the highest number, for the runs of a job go in their order. Not that of
    /// the latest end: the clock that told it may have been wrong.
    private static let lastFinished = """
        WITH RECURSIVE jobs (id) AS (
            SELECT min(job_id) FROM runs
            UNION ALL
            SELECT (SELECT min(job_id) FROM runs WHERE job_id > jobs.id) FROM jobs
            WHERE jobs.id IS NOT NULL
        )
        SELECT id, (
            SELECT finished_at_ms FROM runs
            WHERE job_id = jobs.id AND finished_at_ms IS NOT NULL ORDER BY runs.id DESC LIMIT 1
        ) FROM jobs WHERE id IS NOT NULL
        """
}
