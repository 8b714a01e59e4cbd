public import ClarityScheduler
import Database

/// Occurrences of a job, one after the other, that have no run of their own and share an outcome.
public struct MissedOccurrences: Hashable, Sendable {
    public var job: JobID
    /// The first and the latest occurrence, and how many there are.
    public var due: DueOccurrences
    /// `nil` if no scheduler has dealt with them yet.
    public var outcome: OccurrenceOutcome?
    /// The run that stands for them, or that was going on then.
    public var run: RunID?

    /// Creates occurrences without a run.
    public init(
        job: JobID, due: DueOccurrences, outcome: OccurrenceOutcome? = nil, run: RunID? = nil
    ) {
        (self.job, self.due, self.outcome, self.run) = (job, due, outcome, run)
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
    /// Reads a row; `nil` if this version does not know its job or its outcome.
    init?(_ row: borrowing Row) {
        guard let job = JobID(row.text(0)), let outcome = OccurrenceOutcome(rawValue: row.text(4))
        else {
            return nil
        }
        self.init(
            job: job,
            due: DueOccurrences(
                first: row.instant(1), latest: row.instant(2), count: Int(row.integer(3))),
            outcome: outcome, run: row.optionalInteger(5).map { RunID($0) })
    }
}

/// The outcome of one past occurrence.
public struct PastOccurrence: Hashable, Sendable {
    /// How it ended.
    public enum Outcome: Hashable, Sendable {
        /// It has a run of its own.
        case run
        /// It has no run of its own; `run` is the one that stands for it, or that was in its way.
        case recorded(OccurrenceOutcome, run: RunID?)
        /// No scheduler has dealt with it yet.
        case pending
    }

    public var at: Instant
    public var outcome: Outcome
    /// The run of its own, or the run that it was coalesced into.
    public var run: Run?
    /// The deferrals of that run, in the order in which they began.
    public var deferrals: [DeferralSpan] = []
    /// The time around the occurrence without any trace of a scheduler, from the last trace before
    /// it to the next one.
    ///
    /// Set only if the next trace came more than 15 minutes after the occurrence: until then, it
    /// would have been on time.
    public var gap: Range<Instant>?

    /// Whether no scheduler dealt with the occurrence on time.
    fileprivate var wasSeenLate: Bool {
        switch outcome {
        case .run, .recorded(.coalesced, run: _):
            run.map { $0.enqueuedAt - at > .seconds(15 * 60) } ?? false
        case .recorded(.expired, run: _), .recorded(.skipped, run: nil), .pending: true
        case .recorded(.skipped, run: _), .recorded(.paused, run: _): false
        }
    }
}

extension RunHistory {
    /// Returns the last occurrence of a job's schedule up to an instant; `nil` if the history does
    /// not reach back that far or knows only another schedule.
    public func past(
        of job: JobID, _ schedule: Schedule, at instant: Instant
    ) throws(RunStoreError) -> PastOccurrence? {
        guard let clock = try ledger().jobs[job]?.clock,
            let due = schedule.latest(
                1, after: Instant(millisecondsSince1970: .min), through: instant,
                anchor: clock.anchor
            ).last, due >= clock.anchor
        else { return nil }
        var past = PastOccurrence(at: due, outcome: .pending)
        if due <= clock.considered {
            guard let outcome = try outcome(of: job, at: due) else { return nil }
            past.outcome = outcome.outcome
            past.run = try outcome.run.flatMap { run throws(RunStoreError) in try self.run(run) }
        }
        if let run = past.run { past.deferrals = try deferrals(of: run.id) }
        if past.wasSeenLate { past.gap = try gap(around: due) }
        return past
    }

    private func outcome(
        of job: JobID, at due: Instant
    ) throws(RunStoreError) -> (outcome: PastOccurrence.Outcome, run: RunID?)? {
        try rethrowing(path) {
            let era = RunRow.eraOfJob(1)
            let own = try connection?.first(
                """
                SELECT id FROM runs WHERE job_id = ?1 AND era = \(era) AND scheduled_for_ms = ?2
                    AND \(RunRow.ofOccurrence)
                """, .text(job.rawValue), .instant(due)
            ) { RunID($0.integer(0)) }
            if let own { return (.run, own) }
            let recorded = try connection?.first(
                """
                SELECT fate, run_id FROM occurrence_fates
                WHERE job_id = ?1 AND era = \(era) AND first_ms <= ?2 AND latest_ms >= ?2
                """, .text(job.rawValue), .instant(due)
            ) { (OccurrenceOutcome(rawValue: $0.text(0)), $0.optionalInteger(1).map { RunID($0) }) }
            guard case (let outcome?, let run)? = recorded else { return nil }
            return (.recorded(outcome, run: run), outcome == .coalesced ? run : nil)
        }
    }

    /// Returns the time around an instant without a trace of any scheduler.
    private func gap(around instant: Instant) throws(RunStoreError) -> Range<Instant>? {
        let traces = try rethrowing(path) {
            try connection?.first(
                """
                WITH traces (at) AS (
                    SELECT enqueued_at_ms FROM runs UNION ALL
                    SELECT started_at_ms FROM attempts UNION ALL
                    SELECT finished_at_ms FROM attempts UNION ALL
                    SELECT since_ms FROM deferrals UNION ALL SELECT until_ms FROM deferrals
                )
                SELECT (SELECT max(at) FROM traces WHERE at <= ?1),
                    (SELECT min(at) FROM traces WHERE at >= ?1)
                """, .instant(instant)
            ) { ($0.optionalInstant(0), $0.optionalInstant(1)) }
        }
        guard case (let before?, let after?)? = traces, after - instant > .seconds(15 * 60)
        else { return nil }
        return before..<after
    }
}
