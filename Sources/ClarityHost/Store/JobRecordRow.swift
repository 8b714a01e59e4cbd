import ClarityScheduler
import SQLite

/// A job's record, as a row of `job_records`.
enum JobRecordRow {
    static let columns = """
        job_id, anchor_at_ms, considered_until_ms, era, schedule, schedule_since_ms, \
        last_finished_ms, paused_since_ms, paused_until_ms, pause_reason, \
        retry_after_ms
        """

    static func record(_ row: borrowing Row) -> JobRecord {
        var record = JobRecord(lastFinished: row.optionalInstant(6))
        if let anchor = row.optionalInstant(1) {
            record.clock = JobClock(
                anchor: anchor, considered: Instant(millisecondsSince1970: row.integer(2)),
                era: Int(row.integer(3)), schedule: row.text(4),
                scheduleSince: Instant(millisecondsSince1970: row.integer(5)))
        }
        if let since = row.optionalInstant(7) {
            record.pause = Pause(since: since, until: row.optionalInstant(8), reason: row.text(9))
        }
        record.retryAfter = row.optionalInstant(10)
        return record
    }

    /// The changes that a decision makes to a job's counters.
    struct Step {
        /// The runs that finished without failing.
        var runs: Int64 = 0
        /// The runs that failed.
        var failures: Int64 = 0
    }

    static func put(
        _ record: JobRecord, of job: JobID, _ step: Step, revision: Int64,
        _ connection: Connection
    ) throws(SQLiteError) {
        try connection.run(
            upsert, .text(job.rawValue), .instant(record.clock?.anchor),
            .instant(record.clock?.considered), .integer(Int64(record.clock?.era ?? 0)),
            .text(record.clock?.schedule),
            .instant(record.clock?.scheduleSince), .instant(record.lastFinished),
            .instant(record.pause?.since), .instant(record.pause?.until),
            .text(record.pause?.reason), .instant(record.retryAfter), .integer(step.runs),
            .integer(step.failures),
            .integer(revision))
    }

    private static let upsert = """
        INSERT INTO job_records (\(columns), kept_runs, kept_failures, revision)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (job_id) DO UPDATE SET
            anchor_at_ms = excluded.anchor_at_ms,
            considered_until_ms = excluded.considered_until_ms,
            schedule = excluded.schedule, schedule_since_ms = excluded.schedule_since_ms,
            last_finished_ms = excluded.last_finished_ms,
            paused_since_ms = excluded.paused_since_ms,
            paused_until_ms = excluded.paused_until_ms, pause_reason = excluded.pause_reason,
            retry_after_ms = excluded.retry_after_ms,
            era = excluded.era, kept_runs = kept_runs + excluded.kept_runs,
            kept_failures = kept_failures + excluded.kept_failures,
            revision = excluded.revision
        """
}
