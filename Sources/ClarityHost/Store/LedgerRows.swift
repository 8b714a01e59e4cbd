import ClarityScheduler
import Database

/// Reads the ledger from the tables: all of it, or only what other processes have changed.
///
/// Every function reads in the current transaction.
enum LedgerRows {
    /// The unfinished runs and what they wait for.
    struct Open {
        var runs: [Run] = []
        var waits: [RunID: [Deferral]] = [:]
        let nextRun: RunID
    }

    /// Calls `body` with each job record whose revision is higher than `revision`.
    ///
    /// - Returns: the highest revision seen, or `revision` if there is no newer record.
    static func records(
        _ connection: Connection, after revision: Int64, _ body: (JobID, JobRecord) -> Void
    ) throws(DatabaseError) -> Int64 {
        var highest = revision
        try connection.forEach(
            "SELECT \(JobRecordRow.columns) FROM job_records WHERE revision > ?",
            [.integer(revision)]
        ) { row in
            highest = max(highest, row.integer(JobRecordRow.Column.revision))
            guard let job = JobID(row.text(JobRecordRow.Column.job_id)) else { return }
            body(job, JobRecordRow.record(row))
        }
        return highest
    }

    /// Reads the unfinished runs.
    static func open(_ connection: Connection, nextRun: RunID) throws -> Open {
        var open = Open(nextRun: nextRun)
        try RunRow.forEach("\(RunRow.open) ORDER BY id", [], connection) { run, _ in
            open.runs.append(run)
        }
        if !open.runs.isEmpty { try readWaits(connection, into: &open) }
        return open
    }

    /// Reads what the unfinished runs wait for.
    private static func readWaits(_ connection: Connection, into open: inout Open) throws {
        // Join from the runs to their deferrals: there are few open runs, and many old deferrals.
        try connection.forEach(
            """
            SELECT \(DeferralRow.columns)
            FROM (SELECT id FROM \(RunRow.open)) AS open
            CROSS JOIN deferrals
            WHERE run_id = open.id AND until_ms IS NULL ORDER BY run_id, place
            """
        ) { row in
            let span = DeferralRow.span(row)
            open.waits[span.run, default: []].append(span.deferral)
        }
    }

    /// Reads the starts of attempts that a decision has to know.
    ///
    /// An attempt that started after an instant belongs to a run that is open or finished after it.
    static func starts(
        _ recall: StartRecall, _ connection: Connection
    ) throws(DatabaseError) -> [AttemptStart] {
        let jobs = recall.jobs.map { "\($0)/" }.joined()
        return try connection.all(startsQuery, .instant(recall.since), .text("/\(jobs)")) { row in
            JobID(row.text(0)).map { AttemptStart(of: $0, at: row.instant(1)) }
        }
    }

    /// The starts after `?1` of the jobs whose declared ids `?2` has, as `/a/b/`.
    ///
    /// Ended runs are found by their ends, whatever their job: a group counts mostly minutes, and
    /// an index by job would read all runs that are kept of it.
    static let startsQuery = """
        SELECT job_id, attempts.started_at_ms
        FROM (SELECT id, job_id FROM \(RunRow.open) AND \(isRecalled)
            UNION ALL \(ended) = FALSE UNION ALL \(ended) = TRUE) AS late
        CROSS JOIN attempts
        WHERE run_id = late.id AND attempts.started_at_ms > ?1
        """

    private static let ended = """
        SELECT id, job_id FROM runs
        WHERE finished_at_ms > ?1 AND \(isRecalled) AND (state = 'failed')
        """

    /// Whether `?2` has the id without its account.
    private static let isRecalled = """
        instr(?2, '/' || substr(job_id, CAST(instr(job_id, '/') AS INTEGER) + 1) || '/') > 0
        """

    /// Reads the last boot for which runs were enqueued.
    static func boot(_ connection: Connection) throws(DatabaseError) -> String? {
        try connection.first("SELECT boot FROM boot_mark") { $0.text(0) }
    }

    /// Reads the last known fingerprint of each source.
    static func sources(
        _ connection: Connection
    ) throws(DatabaseError) -> [String: SourceFingerprint] {
        var sources: [String: SourceFingerprint] = [:]
        try connection.forEach(
            "SELECT path, is_folder, files, newest_change_ns FROM source_fingerprints", []
        ) { row in
            sources[row.text(0)] = SourceFingerprint(
                isFolder: row.integer(1) == 1, files: Int(row.integer(2)),
                newestChange: row.integer(3))
        }
        return sources
    }

    /// Reads how far the history has been pruned.
    static func pruned(_ connection: Connection) throws(DatabaseError) -> PruneMark? {
        try connection.first("SELECT at_ms, through_run FROM prune_mark") { row in
            PruneMark(at: row.instant(0), through: RunID(row.integer(1)))
        }
    }
}

/// A job's record, as a row of `job_records`.
enum JobRecordRow {
    enum Column: String, RowColumn {
        case job_id, anchor_at_ms, considered_until_ms, era, schedule, schedule_since_ms
        case last_finished_ms, paused_since_ms, paused_until_ms, pause_reason, retry_after_ms
        case revision
    }

    static let columns = Column.list

    static func record(_ row: borrowing Row) -> JobRecord {
        var record = JobRecord(lastFinished: row.optionalInstant(Column.last_finished_ms))
        if let anchor = row.optionalInstant(Column.anchor_at_ms) {
            record.clock = JobClock(
                anchor: anchor, considered: row.instant(Column.considered_until_ms),
                era: Int(row.integer(Column.era)), schedule: row.text(Column.schedule),
                scheduleSince: row.instant(Column.schedule_since_ms))
        }
        if let since = row.optionalInstant(Column.paused_since_ms) {
            record.pause = Pause(
                since: since, until: row.optionalInstant(Column.paused_until_ms),
                reason: row.text(Column.pause_reason))
        }
        record.retryAfter = row.optionalInstant(Column.retry_after_ms)
        return record
    }

    /// The changes that a decision makes to a job's counters.
    struct Step {
        /// The runs that finished without failing.
        var runs: Int64 = 0
        /// The runs that failed.
        var failures: Int64 = 0
    }

    static func put(
        _ record: JobRecord, of job: JobID, _ step: Step, revision: Int64,
        _ connection: Connection
    ) throws(DatabaseError) {
        let clock = record.clock
        let values = Column.allCases.map { column -> Value in
            switch column {
            case .job_id: .text(job.rawValue)
            case .anchor_at_ms: .instant(clock?.anchor)
            case .considered_until_ms: .instant(clock?.considered)
            case .era: .integer(Int64(clock?.era ?? 0))
            case .schedule: .text(clock?.schedule)
            case .schedule_since_ms: .instant(clock?.scheduleSince)
            case .last_finished_ms: .instant(record.lastFinished)
            case .paused_since_ms: .instant(record.pause?.since)
            case .paused_until_ms: .instant(record.pause?.until)
            case .pause_reason: .text(record.pause?.reason)
            case .retry_after_ms: .instant(record.retryAfter)
            case .revision: .integer(revision)
            }
        }
        try connection.run(
            upsert, with: values + [.integer(step.runs), .integer(step.failures)])
    }

    private static let upsert = """
        INSERT INTO job_records (\(columns), kept_runs, kept_failures)
        VALUES (\(Column.parameters), ?, ?)
        ON CONFLICT (job_id) DO UPDATE SET
            \(Column.replacements(besides: [.job_id])),
            kept_runs = job_records.kept_runs + excluded.kept_runs,
            kept_failures = job_records.kept_failures + excluded.kept_failures
        """
}

/// A deferral as a row of `deferrals`.
enum DeferralRow {
    enum Column: String, RowColumn {
        case reason, subject, wanted, measured, source, since_ms, until_ms, run_id
    }

    static let columns = Column.list

    static func span(_ row: borrowing Row) -> DeferralSpan {
        DeferralSpan(
            Deferral(
                row.word(Column.reason) ?? .constraint, subject: row.text(Column.subject),
                wanted: row.text(Column.wanted), measured: row.text(Column.measured),
                source: row.text(Column.source)),
            of: RunID(row.integer(Column.run_id)), since: row.instant(Column.since_ms),
            until: row.optionalInstant(Column.until_ms))
    }

    /// Ends the spans of causes that no longer hold, continues those that do, and starts the new ones.
    ///
    /// `known` are the deferrals that the table has as open. Unchanged deferrals are not written,
    /// so that a run can wait for days without a commit. If a deferral starts again in the same
    /// millisecond as an earlier span, as it can after the clock was set back, that span continues.
    static func put(
        _ deferrals: [Deferral], of run: RunID, known: [Deferral], at instant: Instant,
        _ connection: Connection
    ) throws(DatabaseError) {
        for old in known where !deferrals.contains(where: { $0.cause == old.cause }) {
            try connection.run(
                """
                UPDATE deferrals SET until_ms = max(?, since_ms)
                WHERE run_id = ? AND subject = ? AND until_ms IS NULL
                """,
                .instant(instant), .integer(run.rawValue), .text(old.subject))
        }
        for (position, deferral) in deferrals.enumerated() {
            let before = known.firstIndex { $0.cause == deferral.cause }
            if let before, before == position, known[before] == deferral { continue }
            try connection.run(
                before == nil ? insert : update, .integer(run.rawValue), .text(deferral.subject),
                .text(deferral.reason.rawValue), .text(deferral.wanted), .text(deferral.measured),
                .text(deferral.source), .integer(Int64(position)), .instant(instant))
        }
    }

    /// Ends every open deferral of a run.
    static func end(of run: RunID, at instant: Instant, _ connection: Connection)
        throws(DatabaseError)
    {
        try connection.run(
            "UPDATE deferrals SET until_ms = max(?, since_ms) WHERE run_id = ? AND until_ms IS NULL",
            .instant(instant), .integer(run.rawValue))
    }

    private static let insert = """
        INSERT INTO deferrals
            (run_id, subject, reason, wanted, measured, source, place, since_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (run_id, subject, since_ms) DO UPDATE SET
            until_ms = NULL, reason = excluded.reason, wanted = excluded.wanted,
            measured = excluded.measured, source = excluded.source, place = excluded.place
        """

    private static let update = """
        UPDATE deferrals SET
            reason = ?3, wanted = ?4, measured = ?5, source = ?6, place = ?7
        WHERE run_id = ?1 AND subject = ?2 AND until_ms IS NULL AND CAST(?8 AS BIGINT) IS NOT NULL
        """
}

/// A fact of an account as a row of `account_facts`.
enum FactRow {
    /// Replaces the facts of an account, unless those that are known are newer.
    ///
    /// Two jobs of an account may end in the order in which they did not look. Known facts from
    /// after `now` are of a clock that was set back since, and are replaced.
    static func put(
        _ facts: [AttemptFact], of account: AccountID?, at now: Instant, _ connection: Connection
    ) throws(DatabaseError) {
        let name = Value.text(account?.rawValue ?? "")
        let known =
            try connection.first(
                "SELECT max(at_ms) FROM account_facts WHERE account = ?", name
            ) { $0.optionalInstant(0) } ?? nil
        if let known, known <= now, let newest = facts.map(\.at).max(), newest < known { return }
        try connection.run("DELETE FROM account_facts WHERE account = ?", name)
        for fact in facts {
            try connection.run(
                "INSERT INTO account_facts (account, name, value, at_ms) VALUES (?, ?, ?, ?)",
                name, .text(fact.name), .integer(fact.value), .instant(fact.at))
        }
    }
}
