import ClarityScheduler
import Database

/// Prunes the part of the history that a policy does not keep, a bounded amount at a time.
///
/// Rows that exceed the bound are left for the next decision, so that no other process waits longer
/// than a few hundredths of a second.
struct Retention {
    let connection: Connection
    let policy: RetentionPolicy
    let now: Instant

    /// The factor by which a job may keep more failed runs than other finished runs.
    private static let failuresFactor: Int64 = 10
    /// The number of rows of each kind that one step removes to free space.
    private static let step: Int64 = 250

    private var past: HistoryPast { HistoryPast(connection: connection) }

    /// Prunes in the current transaction; `mark` is the ledger's mark after this pruning.
    func prune(_ mark: PruneMark) throws(DatabaseError) {
        let before = try connection.first(
            "SELECT through_run, counted_run, counted_limit FROM prune_mark"
        ) { (through: $0.integer(0), counted: $0.integer(1), limit: $0.integer(2)) }
        // Twice the number of new runs, so that the history shrinks when it has to.
        let new = before.map { mark.through.rawValue - $0.through } ?? Planner.pruneEvery.runs
        var rest = min(max(250, 2 * new), 2000)
        for (hasFailed, age) in [(false, policy.age), (true, policy.failureAge)] {
            rest -= try past.removeRuns(
                hasFailed, where: "finished_at_ms < ?2", .instant(now - age),
                orderedBy: "finished_at_ms", rest)
        }
        // A policy that keeps fewer runs than the last one checks every job again.
        let isStricter = before.map { $0.limit > Int64(policy.runs) } ?? true
        let counted = try removeSurplus(after: isStricter ? 0 : before?.counted ?? 0, &rest)
        _ = try past.removeOutcomes(through: now - policy.age, 2000)
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

    // MARK: By number

    /// Removes surplus runs of the jobs that have runs after `counted`.
    ///
    /// - Returns: the last run whose job has been checked.
    private func removeSurplus(after counted: Int64, _ rest: inout Int64) throws(DatabaseError)
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

    private func removeSurplus(of job: String, _ rest: inout Int64) throws(DatabaseError) {
        let kept = try connection.first(
            "SELECT kept_runs, kept_failures FROM job_records WHERE job_id = ?", .text(job)
        ) { [$0.integer(0), $0.integer(1)] }
        let limits = [Int64(policy.runs), Int64(policy.runs) * Retention.failuresFactor]
        for (hasFailed, (kept, limit)) in zip(kept ?? [], limits).enumerated() where kept > limit {
            rest -= try past.removeRuns(
                hasFailed == 1, where: "job_id = ?2", .text(job), orderedBy: "id",
                min(kept - limit, rest))
        }
    }

    // MARK: By size

    private func makeRoom(_ rest: inout Int64) throws(DatabaseError) {
        // A server gives space back when it vacuums, and not while rows are removed.
        guard let file = connection as? FileConnection else { return }
        var last: Instant?
        while rest > 0, try file.usedBytes() > policy.bytes {
            // The waits up to the last edge may be more than one step removes.
            guard let edge = try past.edge(of: Retention.step) ?? last else { return }
            last = edge
            let (runs, others) = try past.removeAll(through: edge, Retention.step)
            guard runs + others > 0 else { return }
            // A run has some outcomes and waits of its own, so these count for a quarter.
            rest -= max(runs, others / 4)
        }
    }
}
