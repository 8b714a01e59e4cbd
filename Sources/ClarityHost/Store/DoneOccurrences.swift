public import ClarityScheduler
import SQLite

extension RunHistory {
    /// The occurrences from `first` to `last` for which a run of the job succeeded, of its own or by
    /// `backfill`.
    public func doneOccurrences(
        of job: JobID, from first: Instant, through last: Instant
    ) throws(RunStoreError) -> Set<Instant> {
        try rethrowing(path) {
            let done = try connection?.all(
                """
                SELECT coalesce(latest_occurrence_ms, scheduled_for_ms) AS occurrence_ms FROM runs
                WHERE job_id = ? AND state = 'succeeded'
                    AND (\(RunRow.ofOccurrence) OR trigger = 'backfill')
                    AND occurrence_ms BETWEEN ? AND ?
                """, .text(job.rawValue), .instant(first), .instant(last)
            ) { Instant(millisecondsSince1970: $0.integer(0)) }
            return Set(done ?? [])
        }
    }
}
