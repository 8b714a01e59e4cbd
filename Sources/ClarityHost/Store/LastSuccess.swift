public import ClarityScheduler
import SQLite

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
                    WHERE job_id = ? ORDER BY id DESC LIMIT \(RunHistory.successReach))
                WHERE state = 'succeeded' ORDER BY id DESC LIMIT 1
                """, .text(job.rawValue)
            ) { $0.optionalInstant(0) } ?? nil
        }
    }
}
