import ClarityScheduler
import SQLite

/// A run as a row of `runs`.
enum RunRow {
    static let columns = """
        id, job_id, kind, trigger, state, scheduled_for_ms, enqueued_at_ms, not_before_ms, \
        is_expedited, is_forced, attempts, failures, interruptions, generation, lease_owner, \
        started_at_ms, finished_at_ms, checkpoint, caused_by, failure_category, failure_reason, \
        stop_reason, tally, notes, lease_boot, lease_expires_ms, stop_request, needs, awaits, \
        latest_occurrence_ms
        """

    /// The unfinished runs, as text that follows `FROM`.
    ///
    /// Names the index: unfinished runs are few, but SQLite would scan all runs to avoid a sort.
    static let open = "runs INDEXED BY runs_open WHERE (state = 'enqueued' OR state = 'running')"

    /// An SQL condition on a row: its run stands for an occurrence, as in the index
    /// `runs_one_an_occurrence`.
    static let ofOccurrence = "(trigger = 'schedule' OR trigger = 'catchUp')"

    static func run(_ row: borrowing Row) throws(RunStoreError) -> Run {
        guard let job = JobID(row.text(1)), let trigger = Trigger(rawValue: row.text(3)),
            let state = RunState(rawValue: row.text(4))
        else { throw .unusable("run \(row.integer(0)) of the history cannot be read") }
        var run = Run(
            id: RunID(row.integer(0)), job: job, kind: JobKind(row.text(2)), trigger: trigger,
            scheduledFor: Instant(millisecondsSince1970: row.integer(5)),
            enqueuedAt: Instant(millisecondsSince1970: row.integer(6)),
            isExpedited: row.integer(8) != 0, isForced: row.integer(9) != 0,
            causedBy: row.optionalInteger(18).map { RunID($0) })
        run.state = state
        run.notBefore = row.optionalInstant(7)
        run.attempts = Int(row.integer(10))
        run.failures = Int(row.integer(11))
        run.interruptions = Int(row.integer(12))
        run.generation = row.integer(13)
        run.lease = row.optionalText(14).map { Lease(owner: $0, state: .held) }
        run.startedAt = row.optionalInstant(15)
        run.finishedAt = row.optionalInstant(16)
        run.checkpoint = row.optionalText(17)
        if let reason = row.optionalText(20) {
            run.failure = Failure(
                Failure.Category(rawValue: row.text(19)) ?? .internalFault, reason)
        }
        run.stopReason = row.optionalText(21).flatMap { StopReason(rawValue: $0) }
        run.tally = TallyText.tally(row.text(22))
        run.notes = NotesText.notes(row.text(23))
        let need = row.optionalText(27) ?? row.optionalText(28)
        run.needs = need.flatMap { NeededCondition(rawValue: $0) }
        run.latestOccurrence = row.optionalInstant(29)
        run.stopRequest = row.optionalText(26).flatMap { StopReason(rawValue: $0) }
        return run
    }

    /// Returns an SQL expression for how often the clock of a job was set back; the job is
    /// parameter `number`.
    static func eraOfJob(_ number: Int) -> String {
        "coalesce((SELECT era FROM job_records WHERE job_id = ?\(number)), 0)"
    }

    static func lease(_ row: borrowing Row) -> LedgerRows.LeaseTerms {
        LedgerRows.LeaseTerms(boot: row.text(24), expires: row.integer(25))
    }

    static func put(
        _ run: Run, boot: String, leaseExpires: Int64, _ connection: Connection
    ) throws(SQLiteError) {
        try connection.run(
            upsert,
            .integer(run.id.rawValue), .text(run.job.rawValue), .text(run.kind.rawValue),
            .text(run.trigger.rawValue), .text(run.state.rawValue), .instant(run.scheduledFor),
            .instant(run.enqueuedAt), .instant(run.notBefore),
            .integer(run.isExpedited ? 1 : 0), .integer(run.isForced ? 1 : 0),
            .integer(Int64(run.attempts)), .integer(Int64(run.failures)),
            .integer(Int64(run.interruptions)), .integer(run.generation),
            .text(run.lease?.owner), .instant(run.startedAt), .instant(run.finishedAt),
            .text(run.checkpoint), .integer(run.causedBy?.rawValue),
            .text(run.failure?.category.rawValue), .text(run.failure?.reason),
            .text(run.stopReason?.rawValue), .text(TallyText.text(run.tally)),
            .text(NotesText.text(run.notes)), run.lease == nil ? .null : .text(boot),
            run.lease == nil ? .null : .integer(leaseExpires), .text(run.stopRequest?.rawValue),
            .text(run.needs.flatMap { $0.isAwaited ? nil : $0.rawValue }),
            .text(run.needs.flatMap { $0.isAwaited ? $0.rawValue : nil }),
            .instant(run.latestOccurrence))
    }

    private static let upsert = """
        INSERT INTO runs (\(columns), era)
        VALUES (?1, ?2, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
            \(eraOfJob(2)))
        ON CONFLICT (id) DO UPDATE SET
            state = excluded.state, not_before_ms = excluded.not_before_ms,
            is_expedited = excluded.is_expedited, is_forced = excluded.is_forced,
            attempts = excluded.attempts, failures = excluded.failures,
            interruptions = excluded.interruptions, generation = excluded.generation,
            lease_owner = excluded.lease_owner, lease_boot = excluded.lease_boot,
            lease_expires_ms = excluded.lease_expires_ms,
            started_at_ms = excluded.started_at_ms, finished_at_ms = excluded.finished_at_ms,
            checkpoint = excluded.checkpoint, failure_category = excluded.failure_category,
            failure_reason = excluded.failure_reason, stop_reason = excluded.stop_reason,
            tally = excluded.tally, notes = excluded.notes, stop_request = excluded.stop_request,
            needs = excluded.needs, awaits = excluded.awaits,
            latest_occurrence_ms = excluded.latest_occurrence_ms
        """
}

extension NeededCondition {
    /// Whether it is stored in the column `awaits`, which allows the words that `needs` does not.
    fileprivate var isAwaited: Bool {
        switch self {
        case .externalPower, .unmetered: false
        case .login, .source: true
        }
    }
}

extension Row {
    func optionalInstant(_ column: Int32) -> Instant? {
        optionalInteger(column).map { Instant(millisecondsSince1970: $0) }
    }
}

extension Value {
    static func instant(_ instant: Instant?) -> Value {
        .integer(instant?.millisecondsSince1970)
    }
}
