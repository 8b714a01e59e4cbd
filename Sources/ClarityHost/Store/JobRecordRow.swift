import ClarityScheduler
import Database

/// A job's record, as a row of `job_records`.
enum JobRecordRow {
    enum Column: String, RowColumn {
        case job_id, anchor_at_ms, considered_until_ms, era, schedule, schedule_since_ms
        case last_finished_ms, paused_since_ms, paused_until_ms, pause_reason, retry_after_ms
        case revision
    }

    static let columns = Column.list

    static func record(_ row: borrowing Row) -> JobRecord {
        var record = JobRecord(lastFinished: row.optionalInstant(Column.last_finished_ms))
        if let anchor = row.optionalInstant(Column.anchor_at_ms) {
            record.clock = JobClock(
                anchor: anchor, considered: row.instant(Column.considered_until_ms),
                era: Int(row.integer(Column.era)), schedule: row.text(Column.schedule),
                scheduleSince: row.instant(Column.schedule_since_ms))
        }
        if let since = row.optionalInstant(Column.paused_since_ms) {
            record.pause = Pause(
                since: since, until: row.optionalInstant(Column.paused_until_ms),
                reason: row.text(Column.pause_reason))
        }
        record.retryAfter = row.optionalInstant(Column.retry_after_ms)
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
    ) throws(DatabaseError) {
        let clock = record.clock
        let values = Column.allCases.map { column -> Value in
            switch column {
            case .job_id: .text(job.rawValue)
            case .anchor_at_ms: .instant(clock?.anchor)
            case .considered_until_ms: .instant(clock?.considered)
            case .era: .integer(Int64(clock?.era ?? 0))
            case .schedule: .text(clock?.schedule)
            case .schedule_since_ms: .instant(clock?.scheduleSince)
            case .last_finished_ms: .instant(record.lastFinished)
            case .paused_since_ms: .instant(record.pause?.since)
            case .paused_until_ms: .instant(record.pause?.until)
            case .pause_reason: .text(record.pause?.reason)
            case .retry_after_ms: .instant(record.retryAfter)
            case .revision: .integer(revision)
            }
        }
        try connection.run(
            upsert, with: values + [.integer(step.runs), .integer(step.failures)])
    }

    private static let upsert = """
        INSERT INTO job_records (\(columns), kept_runs, kept_failures)
        VALUES (\(Column.parameters), ?, ?)
        ON CONFLICT (job_id) DO UPDATE SET
            \(Column.replacements(besides: [.job_id])),
            kept_runs = job_records.kept_runs + excluded.kept_runs,
            kept_failures = job_records.kept_failures + excluded.kept_failures
        """
}
