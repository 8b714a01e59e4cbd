import ClarityScheduler
import SQLite

/// Forgets the past that a policy does not keep, a bounded part of it at a time.
///
/// What is due and does not fit into one decision goes with the next, so that no process waits
/// longer than for some hundredths of a second.
struct Retention {
    let connection: Connection
    let policy: RetentionPolicy
    let now: Instant

    /// The finished runs of one kind that failures are kept of, as a multiple of the others.
    private static let failuresFactor: Int64 = 10
    /// The rows of each kind that one step removes for lack of space.
    private static let step: Int64 = 250

    private var past: HistoryPast { HistoryPast(connection: connection) }

    /// Prunes in the current transaction; `mark` is the ledger's, as it is after this.
    func prune(_ mark: PruneMark) throws(SQLiteError) {
        let before = try connection.first(
            "SELECT through_run, counted_run, counted_limit FROM prune_mark"
        ) { (through: $0.integer(0), counted: $0.integer(1), limit: $0.integer(2)) }
        // Twice of what has come since, so that the past shrinks when it has to.
        let new = before.map { mark.through.rawValue - $0.through } ?? Planner.pruneEvery.runs
        var rest = min(max(250, 2 * new), 2000)
        rest -= try removeOld(policy.age, hasFailed: false, rest)
        rest -= try removeOld(policy.failureAge, hasFailed: true, rest)
        // A policy that keeps less than the last one looks at every job again.
        let isStricter = before.map { $0.limit > Int64(policy.runs) } ?? true
        let counted = try removeSurplus(after: isStricter ? 0 : before?.counted ?? 0, &rest)
        _ = try past.removeFates(through: now - policy.age, 2000)
        try makeRoom(&rest)
        try connection.run(
            """
            INSERT INTO prune_mark (id, at_ms, through_run, counted_run, counted_limit)
            VALUES (1, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                at_ms = excluded.at_ms, through_run = excluded.through_run,
                counted_run = excluded.counted_run, counted_limit = excluded.counted_limit
            """,
            .instant(mark.at), .integer(mark.through.rawValue), .integer(counted),
            .integer(Int64(policy.runs)))
    }

    // MARK: By age

    private func removeOld(
        _ age: Duration, hasFailed: Bool, _ limit: Int64
    ) throws(SQLiteError) -> Int64 {
        let runs = try connection.all(
            """
            SELECT id FROM runs
            WHERE (state = 'failed') = ? AND finished_at_ms IS NOT NULL AND finished_at_ms < ?
                AND \(HistoryPast.causesNothingOpen)
            ORDER BY finished_at_ms LIMIT ?
            """, .integer(hasFailed ? 1 : 0), .instant(now - age), .integer(limit)
        ) { $0.integer(0) }
        try past.removeRuns(runs)
        return Int64(runs.count)
    }

    // MARK: By number

    /// Removes what a job has too many of, for the jobs of the runs after `counted`.
    ///
    /// - Returns: the last run whose job has been dealt with.
    private func removeSurplus(after counted: Int64, _ rest: inout Int64) throws(SQLiteError)
        -> Int64
    {
        let runs = try connection.all(
            "SELECT id, job_id FROM runs WHERE id > ? ORDER BY id LIMIT 2000", .integer(counted)
        ) { (id: $0.integer(0), job: $0.text(1)) }
        var counted = counted
        var seen: Set<String> = []
        for run in runs {
            if seen.insert(run.job).inserted {
                guard rest > 0 else { return counted }
                try removeSurplus(of: run.job, &rest)
            }
            counted = run.id
        }
        return counted
    }

    private func removeSurplus(of job: String, _ rest: inout Int64) throws(SQLiteError) {
        let kept = try connection.first(
            "SELECT kept_runs, kept_failures FROM job_records WHERE job_id = ?", .text(job)
        ) { [$0.integer(0), $0.integer(1)] }
        let limits = [Int64(policy.runs), Int64(policy.runs) * Retention.failuresFactor]
        for (hasFailed, (kept, limit)) in zip(kept ?? [], limits).enumerated() where kept > limit {
            let runs = try connection.all(
                """
                SELECT id FROM runs
                WHERE job_id = ? AND (state = 'failed') = ? AND finished_at_ms IS NOT NULL
                    AND \(HistoryPast.causesNothingOpen)
                ORDER BY id LIMIT ?
                """,
                .text(job), .integer(Int64(hasFailed)), .integer(min(kept - limit, rest))
            ) { $0.integer(0) }
            try past.removeRuns(runs)
            rest -= Int64(runs.count)
        }
    }

    // MARK: By size

    private func makeRoom(_ rest: inout Int64) throws(SQLiteError) {
        while rest > 0, try past.bytes() > policy.bytes {
            guard let edge = try past.edge(of: Retention.step) else { return }
            let (runs, others) = try past.removeAll(through: edge, Retention.step)
            guard runs + others > 0 else { return }
            // A run has some fates and waits of its own.
            rest -= max(runs, others / 4)
        }
    }
}
