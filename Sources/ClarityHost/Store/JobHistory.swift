public import ClarityScheduler
import SQLite

/// How often and how long one thing held a job back.
public struct HeldBack: Hashable, Sendable {
    /// As in `Deferral.subject`.
    public var subject: String
    /// How often it did.
    public var spans: Int
    /// How long, all spans together; only what lies in the stretch that was asked for.
    public var total: Duration
    /// How many runs it did it to.
    public var runs: Int
}

// Questions about one job.
extension RunHistory {
    /// The newest runs that `heldBack` looks at.
    public static let heldBackReach = 20_000

    /// What is known of a job beyond its runs; `nil` for one that was never seen.
    public func record(of job: JobID) throws(RunStoreError) -> JobRecord? {
        try rethrowing(path) {
            try connection?.first(
                "SELECT \(JobRecordRow.columns) FROM job_records WHERE job_id = ?",
                .text(job.rawValue), map: JobRecordRow.record)
        }
    }

    /// The newest run of each of the jobs that has any.
    public func lastRuns(of jobs: [JobID]) throws(RunStoreError) -> [JobID: Run] {
        var last: [JobID: Run] = [:]
        for job in jobs { last[job] = try runs(of: job, limit: 1).first }
        return last
    }

    /// What held a job back from one instant to another, what did it longest first.
    ///
    /// Walks the job's runs from the newest down to one that was finished before `since`, the newest
    /// `heldBackReach` at most.
    public func heldBack(
        _ job: JobID, since: Instant, until: Instant
    ) throws(RunStoreError) -> [HeldBack] {
        guard let connection else { return [] }
        return try rethrowing(path) {
            try connection.snapshot {
                let first = try firstRun(of: job, since: since, connection)
                return try connection.all(
                    """
                    SELECT subject, count(*),
                        sum(max(min(coalesce(until_ms, ?4), ?4) - max(since_ms, ?3), 0)) AS total,
                        count(DISTINCT run_id)
                    FROM runs CROSS JOIN deferrals ON run_id = runs.id
                    WHERE job_id = ?1 AND runs.id >= ?2 AND since_ms < ?4
                        AND (until_ms IS NULL OR until_ms > ?3)
                    GROUP BY subject ORDER BY total DESC, subject
                    """,
                    .text(job.rawValue), .integer(first), .instant(since), .instant(until)
                ) { row in
                    HeldBack(
                        subject: row.text(0), spans: Int(row.integer(1)),
                        total: .milliseconds(row.integer(2)), runs: Int(row.integer(3)))
                }
            }
        }
    }

    /// A run before which none can have waited after `since`, found in strides so that the runs in
    /// between are only counted.
    private func firstRun(
        of job: JobID, since: Instant, _ connection: Connection
    ) throws(SQLiteError) -> Int64 {
        var first = Int64.max
        for _ in 0..<(RunHistory.heldBackReach / 500) {
            let run = try connection.first(
                """
                SELECT id, finished_at_ms FROM runs WHERE job_id = ? AND id < ?
                ORDER BY id DESC LIMIT 1 OFFSET 499
                """, .text(job.rawValue), .integer(first)
            ) { (id: $0.integer(0), finished: $0.optionalInstant(1)) }
            // Fewer than a stride are left: all of them.
            guard let run else { return 0 }
            first = run.id
            if let finished = run.finished, finished < since { break }
        }
        return first
    }
}
