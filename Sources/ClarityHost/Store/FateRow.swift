import ClarityScheduler
import SQLite

/// Occurrences with the same fate, as a row of `occurrence_fates`.
enum FateRow {
    /// Adds a stretch of occurrences, or extends the last one.
    ///
    /// A job that is paused or waiting passes over many occurrences in a row. They share one row as
    /// long as they have the same fate and run, no other occurrence lies between them, and the
    /// schedule has not changed. `clock` is the job's clock before these occurrences.
    static func put(
        _ fate: OccurrenceFate, of job: JobID, _ due: DueOccurrences, run: RunID?,
        after clock: JobClock?, _ connection: Connection
    ) throws(SQLiteError) {
        if let clock {
            try connection.run(
                extend, .instant(due.latest), .integer(Int64(due.count)), .text(job.rawValue),
                .integer(Int64(clock.era)), .instant(clock.considered), .text(fate.rawValue),
                .integer(run?.rawValue), .instant(clock.scheduleSince))
            guard connection.changes == 0 else { return }
        }
        try connection.run(
            insert, .text(job.rawValue), .instant(due.first), .instant(due.latest),
            .integer(Int64(due.count)), .text(fate.rawValue), .integer(run?.rawValue))
    }

    private static let extend = """
        UPDATE occurrence_fates SET latest_ms = ?1, occurrences = occurrences + ?2
        WHERE job_id = ?3 AND era = ?4 AND latest_ms = ?5 AND fate = ?6 AND run_id IS ?7
            AND first_ms > ?8
            AND first_ms = (
                SELECT max(first_ms) FROM occurrence_fates WHERE job_id = ?3 AND era = ?4)
        """

    private static let insert = """
        INSERT INTO occurrence_fates
            (job_id, first_ms, latest_ms, occurrences, fate, run_id, era)
        VALUES (?1, ?, ?, ?, ?, ?, \(RunRow.eraOfJob(1)))
        """
}
