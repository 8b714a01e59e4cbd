public import ClarityScheduler
import Database

// Queries about one job.
extension RunHistory {
    /// The number of runs that `holds` looks at, newest first.
    public static let holdsReach = 20_000

    /// Returns what the history knows of a job beyond its runs; `nil` for a job that was never
    /// seen.
    public func record(of job: JobID) throws(RunStoreError) -> JobRecord? {
        try rethrowing(path) {
            try connection?.first(
                "SELECT \(JobRecordRow.columns) FROM job_records WHERE job_id = ?",
                .text(job.rawValue), map: JobRecordRow.record)
        }
    }

    /// Returns what held a job back from one instant to another, the longest reason first.
    ///
    /// Reads the job's runs from the newest down to one that finished before `since`, at most
    /// `holdsReach` runs.
    public func holds(
        _ job: JobID, since: Instant, until: Instant
    ) throws(RunStoreError) -> [HoldSummary] {
        guard let connection else { return [] }
        return try rethrowing(path) {
            try connection.snapshot {
                let first = try firstRun(of: job, since: since, connection)
                let spans = try connection.all(
                    """
                    SELECT \(DeferralRow.columns)
                    FROM runs CROSS JOIN deferrals
                    WHERE run_id = runs.id AND job_id = ?1 AND runs.id >= ?2 AND since_ms < ?4
                        AND (until_ms IS NULL OR until_ms > ?3)
                    """,
                    .text(job.rawValue), .integer(first), .instant(since), .instant(until),
                    map: DeferralRow.span)
                return HoldSummary.sums(of: spans, from: since, until: until)
            }
        }
    }

    /// Returns a run before which no run can have waited after `since`.
    ///
    /// Searches in strides, so that the runs in between are only counted.
    private func firstRun(
        of job: JobID, since: Instant, _ connection: Connection
    ) throws(DatabaseError) -> Int64 {
        var first = Int64.max
        for _ in 0..<(RunHistory.holdsReach / 500) {
            let run = try connection.first(
                """
                SELECT id, finished_at_ms FROM runs WHERE job_id = ? AND id < ?
                ORDER BY id DESC LIMIT 1 OFFSET 499
                """, .text(job.rawValue), .integer(first)
            ) { (id: $0.integer(0), finished: $0.optionalInstant(1)) }
            // Fewer than one stride is left: include all of them.
            guard let run else { return 0 }
            first = run.id
            if let finished = run.finished, finished < since { break }
        }
        return first
    }
}

extension RunHistory {
    /// The number of runs that `lastSuccess` searches, newest first.
    public static let successReach = 10_000

    /// Returns when the last successful run of a job finished; `nil` if none of the job's newest
    /// `successReach` runs succeeded.
    public func lastSuccess(of job: JobID) throws(RunStoreError) -> Instant? {
        try rethrowing(path) {
            try connection?.first(
                """
                SELECT finished_at_ms FROM (
                    SELECT id, state, finished_at_ms FROM runs
                    WHERE job_id = ? ORDER BY id DESC LIMIT \(RunHistory.successReach)) AS newest
                WHERE state = 'succeeded' ORDER BY id DESC LIMIT 1
                """, .text(job.rawValue)
            ) { $0.optionalInstant(0) } ?? nil
        }
    }
}
