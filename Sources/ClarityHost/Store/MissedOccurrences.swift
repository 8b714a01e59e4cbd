public import ClarityScheduler
import Database

/// Occurrences of a job, one after the other, that have no run of their own and share a fate.
public struct MissedOccurrences: Hashable, Sendable {
    public var job: JobID
    /// The first and the latest occurrence, and how many there are.
    public var due: DueOccurrences
    /// `nil` if no scheduler has dealt with them yet.
    public var fate: OccurrenceFate?
    /// The run that stands for them, or that was going on then.
    public var run: RunID?

    /// Creates occurrences without a run.
    public init(job: JobID, due: DueOccurrences, fate: OccurrenceFate? = nil, run: RunID? = nil) {
        (self.job, self.due, self.fate, self.run) = (job, due, fate, run)
    }
}

extension RunHistory {
    /// An occurrence counts as missed once it is so much late.
    private static let patience = Duration.seconds(15 * 60)

    /// Returns the last `limit` of the missed occurrences, the latest first.
    ///
    /// Occurrences that were merged into a run count unless that run began in time for them.
    ///
    /// - Parameters:
    ///   - job: `nil` for those of all jobs.
    ///   - since: only occurrences of which the latest was due then or later; `nil` for all.
    ///   - jobs: the jobs whose occurrences up to `now` schedulers should have dealt with.
    public func missed(
        of job: JobID?, account: AccountID? = nil, since: Instant?, limit: Int, jobs: [Job],
        at now: Instant
    ) throws(RunStoreError) -> [MissedOccurrences] {
        let recorded = try rethrowing(path) {
            try connection?.all(
                """
                SELECT f.job_id, first_ms, latest_ms, occurrences, fate, run_id
                FROM occurrence_fates AS f LEFT JOIN runs ON runs.id = run_id
                WHERE latest_ms >= ?1 AND (CAST(?2 AS TEXT) IS NULL OR f.job_id = ?2)
                    AND (CAST(?5 AS TEXT) IS NULL OR f.job_id > ?5 AND f.job_id < ?6)
                    AND (fate <> 'coalesced' OR started_at_ms IS NULL
                        OR started_at_ms - first_ms > ?4)
                ORDER BY latest_ms DESC, f.job_id LIMIT ?3
                """, .integer(since?.millisecondsSince1970 ?? .min),
                job.map { .text($0.rawValue) } ?? .null, .integer(Int64(limit)),
                .integer(RunHistory.patience.milliseconds),
                account.map { .text($0.jobs.lowerBound) } ?? .null,
                account.map { .text($0.jobs.upperBound) } ?? .null, map: MissedOccurrences.init)
                ?? []
        }
        let pending = try self.pending(jobs.filter { job == nil || $0.id == job }, at: now)
            .filter { since == nil || $0.due.latest >= since ?? now }
        let all = (pending + recorded).sorted {
            ($1.due.latest, $0.job) < ($0.due.latest, $1.job)
        }
        return Array(all.prefix(limit))
    }

    /// Returns the occurrences of jobs that no scheduler has dealt with, though it is late.
    private func pending(
        _ jobs: [Job], at now: Instant
    ) throws(RunStoreError) -> [MissedOccurrences] {
        let known = try ledger().jobs
        return jobs.compactMap { job in
            guard let schedule = job.schedule, let clock = known[job.id]?.clock,
                let due = schedule.due(
                    after: clock.considered, through: now - RunHistory.patience,
                    anchor: clock.anchor)
            else { return nil }
            return MissedOccurrences(job: job.id, due: due)
        }
    }
}

extension MissedOccurrences {
    /// Reads a row; `nil` if this version does not know its job or its fate.
    fileprivate init?(_ row: borrowing Row) {
        guard let job = JobID(row.text(0)), let fate = OccurrenceFate(rawValue: row.text(4)) else {
            return nil
        }
        self.init(
            job: job,
            due: DueOccurrences(
                first: Instant(millisecondsSince1970: row.integer(1)),
                latest: Instant(millisecondsSince1970: row.integer(2)),
                count: Int(row.integer(3))),
            fate: fate, run: row.optionalInteger(5).map { RunID($0) })
    }
}
