import ClarityScheduler
import Database

/// The part of the tables that retention may remove, and how to remove it.
struct HistoryPast {
    let connection: Connection

    /// An SQL condition on a row of `runs`: no unfinished run was caused by it.
    static let causesNothingOpen = """
        NOT EXISTS (SELECT 1 FROM runs AS effect
            WHERE effect.caused_by = runs.id AND effect.caused_by IS NOT NULL
                AND (effect.state = 'enqueued' OR effect.state = 'running'))
        """

    /// Removes runs that have finished and caused nothing unfinished, with everything that belongs
    /// to them.
    ///
    /// - Parameter condition: an SQL condition on the runs, with `value` as its parameter 2.
    /// - Returns: the number of runs removed, at most `limit`: the first ones by `column`.
    func removeRuns(
        _ hasFailed: Bool, where condition: String, _ value: Value, orderedBy column: String,
        _ limit: Int64
    ) throws(DatabaseError) -> Int64 {
        let runs = try connection.all(
            """
            SELECT id FROM runs
            WHERE (state = 'failed') = ?1 AND finished_at_ms IS NOT NULL AND \(condition)
                AND \(HistoryPast.causesNothingOpen)
            ORDER BY \(column) LIMIT ?3
            """, .integer(hasFailed ? 1 : 0), value, .integer(limit)
        ) { $0.integer(0) }
        try removeRuns(runs)
        return Int64(runs.count)
    }

    /// Removes finished runs with everything that belongs to them, and updates the records of their
    /// jobs.
    private func removeRuns(_ runs: [Int64]) throws(DatabaseError) {
        guard !runs.isEmpty else { return }
        let list = HistoryPast.list(runs)
        let losses = try connection.all(
            """
            SELECT job_id, sum(state <> 'failed'), sum(state = 'failed'),
                max(iif(\(RunRow.ofOccurrence)
                    AND era = (SELECT era FROM job_records WHERE job_id = runs.job_id),
                    scheduled_for_ms, NULL))
            FROM runs WHERE id IN (SELECT value FROM json_each(?)) GROUP BY job_id
            """, .text(list)
        ) { row in
            (
                job: row.text(0), runs: row.integer(1), failures: row.integer(2),
                latest: row.optionalInteger(3)
            )
        }
        for loss in losses {
            try connection.run(
                """
                UPDATE job_records SET
                    kept_runs = kept_runs - ?2, kept_failures = kept_failures - ?3
                WHERE job_id = ?1
                """, .text(loss.job), .integer(loss.runs), .integer(loss.failures))
            if let latest = loss.latest { try notePruned(loss.job, through: latest) }
        }
        try connection.run(
            "DELETE FROM runs WHERE id IN (SELECT value FROM json_each(?))", .text(list))
    }

    /// Removes outcomes whose occurrences were all at or before an instant, oldest first.
    ///
    /// - Returns: the number of outcomes removed, at most `limit`.
    func removeOutcomes(through edge: Instant, _ limit: Int64) throws(DatabaseError) -> Int64 {
        let outcomes = try connection.all(
            """
            SELECT job_id, era, first_ms, latest_ms,
                era = (SELECT era FROM job_records AS record
                    WHERE record.job_id = occurrence_fates.job_id)
            FROM occurrence_fates WHERE latest_ms <= ? ORDER BY latest_ms LIMIT ?
            """, .instant(edge), .integer(limit)
        ) { row in
            (
                job: row.text(0), era: row.integer(1), first: row.integer(2),
                latest: row.integer(3), isCurrent: row.integer(4) != 0
            )
        }
        var latest: [String: Int64] = [:]
        for outcome in outcomes {
            try connection.run(
                "DELETE FROM occurrence_fates WHERE job_id = ? AND era = ? AND first_ms = ?",
                .text(outcome.job), .integer(outcome.era), .integer(outcome.first))
            // The outcomes come in order of time, so the last one of each job wins.
            if outcome.isCurrent { latest[outcome.job] = outcome.latest }
        }
        for (job, latest) in latest { try notePruned(job, through: latest) }
        return Int64(outcomes.count)
    }

    // MARK: All kinds together

    /// Returns the instant up to which the oldest `count` items of any kind reach; `nil` if there
    /// are none.
    func edge(of count: Int64) throws(DatabaseError) -> Instant? {
        try connection.first(
            """
            SELECT max(time) FROM (SELECT time FROM (
                SELECT * FROM (\(HistoryPast.oldestRuns(hasFailed: false))) AS ended
                UNION ALL
                SELECT * FROM (\(HistoryPast.oldestRuns(hasFailed: true))) AS failed
                UNION ALL SELECT * FROM (
                    SELECT latest_ms AS time FROM occurrence_fates ORDER BY latest_ms LIMIT ?1
                ) AS fates
            ) AS past ORDER BY time LIMIT ?1) AS oldest
            """, .integer(count)
        ) { $0.optionalInstant(0) } ?? nil
    }

    /// Removes finished runs, outcomes and the waits of unfinished runs up to and including an
    /// instant, the oldest first: at most `limit` runs of each kind, outcomes, and waits.
    func removeAll(
        through edge: Instant, _ limit: Int64
    ) throws(DatabaseError) -> (runs: Int64, others: Int64) {
        var runs: Int64 = 0
        for hasFailed in [false, true] {
            runs += try removeRuns(
                hasFailed, where: "finished_at_ms <= ?2", .instant(edge),
                orderedBy: "finished_at_ms", limit)
        }
        let outcomes = try removeOutcomes(through: edge, limit)
        let deferrals = try connection.change(
            """
            DELETE FROM deferrals WHERE (run_id, subject, since_ms) IN (
                SELECT run_id, subject, since_ms
                FROM (SELECT id FROM \(RunRow.open)) AS open
                CROSS JOIN deferrals
                WHERE run_id = open.id AND until_ms <= ? ORDER BY until_ms LIMIT ?)
            """, .instant(edge), .integer(limit))
        return (runs, outcomes + deferrals)
    }

    private static func oldestRuns(hasFailed: Bool) -> String {
        """
        SELECT finished_at_ms AS time FROM runs
        WHERE (state = 'failed') = \(hasFailed ? "TRUE" : "FALSE") AND finished_at_ms IS NOT NULL
            AND \(causesNothingOpen)
        ORDER BY finished_at_ms LIMIT ?1
        """
    }

    private func notePruned(_ job: String, through latest: Int64) throws(DatabaseError) {
        try connection.run(
            """
            UPDATE job_records SET pruned_until_ms = max(coalesce(pruned_until_ms, ?2), ?2)
            WHERE job_id = ?1
            """, .text(job), .integer(latest))
    }

    /// Returns numbers as a JSON array, for `json_each`.
    private static func list(_ numbers: [Int64]) -> String {
        "[" + numbers.map { String($0) }.joined(separator: ",") + "]"
    }
}

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
