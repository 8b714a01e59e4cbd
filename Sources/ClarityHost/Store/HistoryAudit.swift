public import ClarityScheduler
import Database

extension RunHistory {
    /// Checks that the history is consistent, and that each occurrence of `jobs` is in it exactly
    /// once.
    ///
    /// Checks the occurrences since the job got its current schedule, and after the last one that
    /// retention has removed. Takes time in proportion to the number of rows.
    ///
    /// - Returns: the findings, in the order of `AuditFinding.Rule`.
    /// - Throws: `RunStoreError` if the file cannot be read at all, or if its schema is not the one
    ///   that this program creates.
    public func audit(_ jobs: JobSet) throws(RunStoreError) -> [AuditFinding] {
        guard let connection else { return [] }
        return try rethrowing(path) {
            try connection.snapshot {
                let audit = HistoryAudit(connection: connection, peers: peers)
                // A damaged file would only make the other checks fail.
                let faults = try audit.file()
                guard faults.isEmpty else { return faults }
                let findings =
                    try audit.words() + audit.references() + audit.attempts() + audit.deferrals()
                    + audit.running() + audit.leasesHeld()
                    + OccurrenceAudit(connection: connection).findings(jobs)
                    + audit.counts()
                // Rows that a damaged schema let in say more than the damage itself.
                if findings.isEmpty, let file = connection as? FileConnection {
                    try file.requireSchema(of: historyMigrations)
                }
                return findings
            }
        }
    }
}

/// The rules that can be checked from the tables alone.
struct HistoryAudit {
    let connection: Connection
    let peers: any HistoryPeers

    /// Checks the pages of a file, and of a server nothing: it checks its own.
    func file() throws(DatabaseError) -> [AuditFinding] {
        guard connection is FileConnection else { return [] }
        return try connection.all("PRAGMA quick_check") { $0.text(0) }.filter { $0 != "ok" }
            .map { AuditFinding(.file, "the file is damaged: \($0)") }
    }

    /// Checks the words that the CHECK constraints allow.
    ///
    /// SQLite 3.40 does not check them in a file that is opened for reading.
    func words() throws(DatabaseError) -> [AuditFinding] {
        func list<Word: CaseIterable & RawRepresentable<String>>(_ type: Word.Type) -> String {
            "(" + type.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ") + ")"
        }
        return try connection.all(
            """
            SELECT 'run ' || id || ' has a state of', state FROM runs
                WHERE state NOT IN \(list(RunState.self))
            UNION ALL SELECT 'run ' || id || ' has a trigger of', trigger FROM runs
                WHERE trigger NOT IN \(list(Trigger.self))
            UNION ALL SELECT 'attempt ' || number || ' of run ' || run_id || ' has a result of',
                result FROM attempts WHERE result NOT IN \(list(Attempt.Result.self))
            UNION ALL SELECT 'the occurrences of job `' || job_id || '` at ' || first_ms
                || ' have an outcome of', fate FROM occurrence_fates
                WHERE fate NOT IN \(list(OccurrenceOutcome.self))
            """
        ) { AuditFinding(.file, "\($0.text(0)) `\($0.text(1))`, which does not exist") }
    }

    func references() throws(DatabaseError) -> [AuditFinding] {
        guard connection is FileConnection else { return [] }
        return try connection.all("PRAGMA foreign_key_check") { row in
            AuditFinding(
                .file, "a row of `\(row.text(0))` refers to one of `\(row.text(2))` that is gone")
        }
    }

    func attempts() throws(DatabaseError) -> [AuditFinding] {
        try connection.all(
            """
            SELECT id, state, attempts, count(number), coalesce(max(number), 0),
                coalesce(sum(result = 'running'), 0), coalesce(max(number)
                    FILTER (WHERE result = 'running'), 0)
            FROM runs LEFT JOIN attempts AS attempt ON run_id = id
            GROUP BY id, state, attempts
            HAVING count(number) <> attempts OR coalesce(max(number), 0) <> attempts
                OR coalesce(sum(result = 'running'), 0) <> CAST(state = 'running' AS INTEGER)
                OR (state = 'running' AND max(number) FILTER (WHERE result = 'running')
                    <> attempts)
            ORDER BY id
            """
        ) { row in
            let run = "run \(row.integer(0)), which is \(row.text(1)),"
            let (started, known, last) = (row.integer(2), row.integer(3), row.integer(4))
            let (running, latest) = (row.integer(5), row.integer(6))
            if known != started || last != started {
                return AuditFinding(
                    .attempts,
                    "\(run) had \(started) attempts; \(known) are recorded, the last is \(last)")
            }
            return AuditFinding(
                .attempts,
                running == 0
                    ? "\(run) has no running attempt" : "\(run) has a running attempt \(latest)")
        }
    }

    func deferrals() throws(DatabaseError) -> [AuditFinding] {
        try connection.all(
            """
            SELECT run_id, state, subject FROM deferrals JOIN runs ON id = run_id
            WHERE until_ms IS NULL AND finished_at_ms IS NOT NULL ORDER BY run_id, subject
            """
        ) { row in
            AuditFinding(
                .deferrals,
                "run \(row.integer(0)), which is \(row.text(1)), still waits for `\(row.text(2))`")
        }
    }

    func running() throws(DatabaseError) -> [AuditFinding] {
        try connection.all(
            """
            SELECT job_id, group_concat(id, ', ') FROM
                (SELECT job_id, id FROM runs WHERE state = 'running' ORDER BY id) AS running
            GROUP BY job_id HAVING count(*) > 1 ORDER BY job_id
            """
        ) { row in
            AuditFinding(
                .oneRunning, of: row.text(0),
                "job `\(row.text(0))` has several running runs: \(row.text(1))")
        }
    }

    func leasesHeld() throws(DatabaseError) -> [AuditFinding] {
        let running = try connection.all(
            """
            SELECT id, job_id, lease_owner, attempts FROM runs
            WHERE state = 'running' ORDER BY id
            """
        ) { row in
            (
                job: row.text(1),
                attempt: HeldAttempt(
                    run: RunID(row.integer(0)), number: Int(row.integer(3)), owner: row.text(2))
            )
        }
        let states = try peers.states(of: running.map(\.attempt), connection)
        return running.filter { [.lapsed, .succeeded].contains(states[$0.attempt.run]) }.map {
            run in
            AuditFinding(
                .lease, isOffence: false, of: run.job,
                "run \(run.attempt.run) of `\(run.job)` is running under the lease of "
                    + "`\(run.attempt.owner)`, which has lapsed; the next look takes it over")
        }
    }

    func counts() throws(DatabaseError) -> [AuditFinding] {
        try connection.all(
            """
            WITH found AS (
                SELECT job_id, sum(state <> 'failed') AS runs, sum(state = 'failed') AS failures
                FROM runs WHERE finished_at_ms IS NOT NULL GROUP BY job_id)
            SELECT job_id, coalesce(kept_runs, 0), coalesce(kept_failures, 0),
                coalesce(runs, 0), coalesce(failures, 0)
            FROM (SELECT job_id FROM found UNION SELECT job_id FROM job_records) AS jobs
            LEFT JOIN found USING (job_id) LEFT JOIN job_records USING (job_id)
            WHERE coalesce(kept_runs, 0) <> coalesce(runs, 0)
                OR coalesce(kept_failures, 0) <> coalesce(failures, 0)
            ORDER BY job_id
            """
        ) { row in
            AuditFinding(
                .counts, of: row.text(0),
                "job `\(row.text(0))` counts \(row.integer(1)) finished runs and "
                    + "\(row.integer(2)) failed ones, it has \(row.integer(3)) and "
                    + "\(row.integer(4))")
        }
    }
}

/// Something that an audit of the history found.
public struct AuditFinding: Hashable, Sendable, CustomStringConvertible {
    /// The rule that the history was checked against.
    public enum Rule: String, CaseIterable, Sendable {
        /// The file is intact and matches its schema, and every reference leads to an existing row.
        case file
        /// A run's attempts are numbered from 1 without a gap and are finished when the run is.
        case attempts
        /// A finished run has no deferral that is still open.
        case deferrals
        /// A job has at most one running run.
        case oneRunning
        /// A living process holds the lease of each running run.
        case lease
        /// Each occurrence has exactly one outcome.
        case occurrences
        /// A job's record counts exactly the finished runs that exist.
        case counts
    }

    public var rule: Rule
    /// Whether a rule is broken; otherwise the finding is only a remark.
    public var isOffence: Bool
    /// The account whose job it is about; `nil` if it names none.
    public var account: AccountID?
    /// One line for people.
    public var description: String

    init(
        _ rule: Rule, isOffence: Bool = true, of job: String? = nil, _ description: String
    ) {
        self.rule = rule
        account = job.flatMap { JobID($0) }?.account
        self.isOffence = isOffence
        self.description = description
    }
}

/// Checks that each occurrence has exactly one outcome: a run of its own, or a share in a row of
/// `occurrence_fates`.
struct OccurrenceAudit {
    let connection: Connection

    /// One run, or one row of counted occurrences.
    private struct Outcome {
        var due: DueOccurrences
        /// The name that messages use.
        var name: String
    }

    func findings(_ jobs: JobSet) throws(DatabaseError) -> [AuditFinding] {
        var findings: [AuditFinding] = []
        for job in jobs.jobs {
            guard let schedule = job.schedule else { continue }
            findings += try self.findings(job.id, schedule)
        }
        return findings
    }

    private func findings(
        _ job: JobID, _ schedule: Schedule
    ) throws(DatabaseError) -> [AuditFinding] {
        let known = try connection.first(
            "SELECT \(JobRecordRow.columns), pruned_until_ms FROM job_records WHERE job_id = ?",
            .text(job.rawValue)
        ) { row in
            let last = Int32(JobRecordRow.Column.allCases.count)
            return (JobRecordRow.record(row).clock, pruned: row.optionalInstant(last))
        }
        // The current schedule does not determine the occurrences of an earlier one.
        guard case (let clock?, let pruned)? = known, clock.schedule == "\(schedule)"
        else { return [] }
        let start = max(clock.scheduleSince, pruned ?? clock.scheduleSince)
        return judge(
            try outcomes(of: job, era: Int64(clock.era), after: start), schedule, job, clock,
            after: start)
    }

    private func judge(
        _ outcomes: [Outcome], _ schedule: Schedule, _ job: JobID, _ clock: JobClock,
        after start: Instant
    ) -> [AuditFinding] {
        var findings: [AuditFinding] = []
        func offend(_ text: String) {
            findings.append(AuditFinding(.occurrences, "job `\(job)`: \(text)"))
        }
        func expectNone(after: Instant, through: Instant) {
            guard let due = schedule.due(after: after, through: through, anchor: clock.anchor)
            else { return }
            offend(
                due.count == 1
                    ? "the occurrence at \(due.first) has no outcome"
                    : "\(due.count) occurrences from \(due.first) to \(due.latest) have no outcome")
        }
        var settled = start
        for outcome in outcomes {
            let due = outcome.due
            if due.first <= settled {
                offend("the occurrence at \(due.first) has another outcome beside \(outcome.name)")
            } else {
                expectNone(after: settled, through: due.first - .milliseconds(1))
            }
            let named = schedule.due(
                after: due.first - .milliseconds(1), through: due.latest, anchor: clock.anchor)
            if named != due {
                offend(
                    due.first == due.latest
                        ? "\(outcome.name) is for \(due.first), which the schedule does not name"
                        : "\(outcome.name) counts \(due.count) occurrences from \(due.first) to "
                            + "\(due.latest), the schedule names \(named?.count ?? 0)")
            }
            settled = max(settled, due.latest)
        }
        if settled > max(clock.considered, start) {
            offend("what comes after \(clock.considered) has its outcome before its time")
        }
        expectNone(after: settled, through: clock.considered)
        return findings
    }

    /// Returns the outcomes of one era after an instant, in order of time.
    private func outcomes(
        of job: JobID, era: Int64, after start: Instant
    ) throws(DatabaseError) -> [Outcome] {
        let runs = try connection.all(
            """
            SELECT id, scheduled_for_ms FROM runs
            WHERE job_id = ? AND era = ? AND \(RunRow.ofOccurrence)
                AND scheduled_for_ms > ?
            ORDER BY scheduled_for_ms, id
            """, .text(job.rawValue), .integer(era), .instant(start)
        ) { row in
            Outcome(
                due: DueOccurrences(first: row.instant(1), latest: row.instant(1), count: 1),
                name: "run \(row.integer(0))")
        }
        let counted = try connection.all(
            """
            SELECT first_ms, latest_ms, occurrences, fate FROM occurrence_fates
            WHERE job_id = ? AND era = ? AND first_ms > ? ORDER BY first_ms
            """, .text(job.rawValue), .integer(era), .instant(start)
        ) { row in
            Outcome(
                due: DueOccurrences(
                    first: row.instant(0), latest: row.instant(1), count: Int(row.integer(2))),
                name: "what is \(row.text(3))")
        }
        return (runs + counted).sorted {
            ($0.due.first, $0.due.latest) < ($1.due.first, $1.due.latest)
        }
    }
}
