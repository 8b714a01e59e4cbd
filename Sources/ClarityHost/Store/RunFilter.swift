public import ClarityScheduler
import SQLite

/// Which runs a question about the history is about.
public struct RunFilter: Hashable, Sendable {
    /// `nil` for all jobs.
    public var job: JobID?
    /// Only runs that failed for good.
    public var isFailed: Bool
    /// Only runs that something held back.
    public var isDeferred: Bool
    /// Only runs that were not finished before this instant.
    public var since: Instant?
    /// Only runs that were enqueued before this instant.
    public var until: Instant?

    /// Creates a filter that lets all runs through, or those that fit all that is given.
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

    /// The same as what comes after `FROM runs`.
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
