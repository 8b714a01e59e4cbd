public import ClarityScheduler
import Database

extension RunHistory {
    /// Returns for how long a run's attempt runs, beside the last successful attempts of its job;
    /// `nil` for a run that does not run.
    ///
    /// - Parameter expected: the time that the job file expects an attempt of the job to take.
    public func pace(of run: Run, expected: Duration?) throws(RunStoreError) -> JobPace? {
        guard run.state == .running, let connection else { return nil }
        return try rethrowing(path) {
            let since = try connection.first(
                "SELECT started_at_ms FROM attempts WHERE run_id = ? AND number = ?",
                .integer(run.id.rawValue), .integer(Int64(run.attempts))
            ) { $0.instant(0) }
            guard let since else { return nil }
            let lengths = try connection.all(
                """
                SELECT finished_at_ms - started_at_ms FROM attempts
                WHERE result = 'succeeded' AND run_id IN (
                    SELECT id FROM runs INDEXED BY runs_kept
                    WHERE job_id = ? AND (state = 'failed') = FALSE
                        AND finished_at_ms IS NOT NULL AND state = 'succeeded'
                    ORDER BY id DESC LIMIT ?)
                """, .text(run.job.rawValue), .integer(Int64(JobPace.sampleSize))
            ) { Duration.milliseconds(max($0.integer(0), 0)) }
            return JobPace(since: since, lastSuccesses: lengths, expected: expected)
        }
    }
}
