public import ClarityScheduler
import SQLite

/// A selection of runs for a query of the history.
public struct RunFilter: Hashable, Sendable {
    /// The job, or `nil` for all jobs.
    public var job: JobID?
    /// Only runs that failed for good.
    public var isFailed: Bool
    /// Only runs that a deferral has held back.
    public var isDeferred: Bool
    /// Only runs that had not finished before this instant.
    public var since: Instant?
    /// Only runs that were enqueued before this instant.
    public var until: Instant?

    /// Creates a filter for the runs that match all given conditions; without any, for all runs.
    public init(
        job: JobID? = nil, isFailed: Bool = false, isDeferred: Bool = false,
        since: Instant? = nil, until: Instant? = nil
    ) {
        self.job = job
        self.isFailed = isFailed
        self.isDeferred = isDeferred
        self.since = since
        self.until = until
    }

    /// The filter as an SQL clause that follows `FROM runs`, and its values.
    var condition: (text: String, values: [Value]) {
        var terms: [String] = []
        var values: [Value] = []
        if let job {
            terms.append("job_id = ?")
            values.append(.text(job.rawValue))
        }
        if isFailed { terms.append("state = 'failed'") }
        if isDeferred {
            terms.append("EXISTS (SELECT 1 FROM deferrals WHERE run_id = runs.id)")
        }
        if let since {
            terms.append("(finished_at_ms IS NULL OR finished_at_ms >= ?)")
            values.append(.instant(since))
        }
        if let until {
            terms.append("enqueued_at_ms < ?")
            values.append(.instant(until))
        }
        return (terms.isEmpty ? "" : "WHERE \(terms.joined(separator: " AND "))", values)
    }
}
