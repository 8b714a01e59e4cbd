public import ClarityScheduler
import SQLite

extension RunHistory {
    /// The newest runs among which the last success of a job is looked for.
    public static let successReach = 10_000

    /// When the last run of a job that succeeded was finished; `nil` where the history knows none, or
    /// none among the job's newest `successReach` runs.
    public func lastSuccess(of job: JobID) throws(RunStoreError) -> Instant? {
        try rethrowing(path) {
            try connection?.first(
                """
                SELECT finished_at_ms FROM (
                    SELECT id, state, finished_at_ms FROM runs
                    WHERE job_id = ? ORDER BY id DESC LIMIT \(RunHistory.successReach))
                WHERE state = 'succeeded' ORDER BY id DESC LIMIT 1
                """, .text(job.rawValue)
            ) { $0.optionalInstant(0) } ?? nil
        }
    }
}
