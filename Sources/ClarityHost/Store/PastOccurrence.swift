public import ClarityScheduler
import Database

/// The fate of one past occurrence.
public struct PastOccurrence: Hashable, Sendable {
    /// How it ended.
    public enum Fate: Hashable, Sendable {
        /// It has a run of its own.
        case run
        /// It has no run of its own; `run` is the one that stands for it, or that was in its way.
        case recorded(OccurrenceFate, run: RunID?)
        /// No scheduler has dealt with it yet.
        case pending
    }

    public var at: Instant
    public var fate: Fate
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
        switch fate {
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
        var past = PastOccurrence(at: due, fate: .pending)
        if due <= clock.considered {
            guard let fate = try fate(of: job, at: due) else { return nil }
            past.fate = fate.fate
            past.run = try fate.run.flatMap { run throws(RunStoreError) in try self.run(run) }
        }
        if let run = past.run { past.deferrals = try deferrals(of: run.id) }
        if past.wasSeenLate { past.gap = try gap(around: due) }
        return past
    }

    private func fate(
        of job: JobID, at due: Instant
    ) throws(RunStoreError) -> (fate: PastOccurrence.Fate, run: RunID?)? {
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
            ) { (OccurrenceFate(rawValue: $0.text(0)), $0.optionalInteger(1).map { RunID($0) }) }
            guard case (let fate?, let run)? = recorded else { return nil }
            return (.recorded(fate, run: run), fate == .coalesced ? run : nil)
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
