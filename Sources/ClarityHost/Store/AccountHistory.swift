public import ClarityScheduler
import Database
import Platform
import Glibc

/// What the history knows of one account.
public struct AccountHistory: Sendable {
    /// Why a job of the account does not get on.
    public enum Obstacle: Hashable, Sendable {
        /// An unfinished run waits; `lastTry` says why its last attempt failed, if it did.
        case waits(Deferral, lastTry: String?)
        /// The last run failed.
        case failed(reason: String, at: Instant)
        case paused(Pause)
    }

    /// What held when the account's last attempt ended, by name.
    public var facts: [(name: String, value: Int64?)] = []
    /// When the worker looked; `nil` if there are no facts.
    public var factsAt: Instant?
    /// How far the schedule of each job has been handled.
    public var clocks: [(job: JobID, clock: JobClock)] = []
    public var obstacles: [(job: JobID, obstacle: Obstacle)] = []

    /// Creates the history of an account that has none yet.
    public init() {}
}

// Reads each table once: a job file may have ten thousand accounts.
extension RunHistory {
    /// Returns what is known of every account; the key `nil` is for jobs without an account.
    public func accounts(at now: Instant) throws(RunStoreError) -> [AccountID?: AccountHistory] {
        guard let connection else { return [:] }
        return try rethrowing(path) {
            try connection.snapshot {
                var accounts = AccountHistories()
                try readFacts(connection, into: &accounts)
                try readRecords(connection, at: now, into: &accounts)
                try readFailures(connection, into: &accounts)
                try readWaits(connection, into: &accounts)
                return accounts.histories
            }
        }
    }

    private func readFacts(
        _ connection: Connection, into accounts: inout AccountHistories
    ) throws(DatabaseError) {
        var (name, account) = ("", AccountID?.none)
        try connection.forEach(
            "SELECT account, name, value, at_ms FROM account_facts ORDER BY account, name", []
        ) { row in
            let next = row.text(0)
            if next != name { (name, account) = (next, AccountID(next)) }
            guard account != nil || name.isEmpty else { return }
            accounts.change(account) { history in
                history.facts.append((row.text(1), row.optionalInteger(2)))
                history.factsAt = row.instant(3)
            }
        }
    }

    private func readRecords(
        _ connection: Connection, at now: Instant, into accounts: inout AccountHistories
    ) throws(DatabaseError) {
        try connection.forEach(
            """
            SELECT job_id, anchor_at_ms, considered_until_ms, paused_since_ms, paused_until_ms,
                pause_reason
            FROM job_records ORDER BY job_id
            """, []
        ) { row in
            guard let job = JobID(row.text(0)) else { return }
            accounts.change(job.account) { history in
                if let anchor = row.optionalInstant(1) {
                    history.clocks.append(
                        (job, JobClock(anchor: anchor, considered: row.instant(2))))
                }
                guard let since = row.optionalInstant(3) else { return }
                let pause = Pause(since: since, until: row.optionalInstant(4), reason: row.text(5))
                if pause.holds(at: now) { history.obstacles.append((job, .paused(pause))) }
            }
        }
    }

    /// The jobs whose last run with an attempt failed. Jobs without a kept failure cost nothing, and
    /// each of the others costs one search in an index.
    static let lastFailures = """
        SELECT runs.job_id, failure_reason, finished_at_ms
        FROM job_records CROSS JOIN runs
        WHERE runs.id = (
                SELECT id FROM runs INDEXED BY runs_kept
                WHERE job_id = job_records.job_id AND (state = 'failed') = TRUE
                    AND finished_at_ms IS NOT NULL ORDER BY id DESC LIMIT 1)
            AND kept_failures > 0 AND finished_at_ms >= last_finished_ms
        ORDER BY job_records.job_id
        """

    private func readFailures(
        _ connection: Connection, into accounts: inout AccountHistories
    ) throws(DatabaseError) {
        let hidesOutput = hidesOutput
        try connection.forEach(RunHistory.lastFailures, []) { row in
            guard let job = JobID(row.text(0)) else { return }
            let reason = row.text(1)
            accounts.change(job.account) { history in
                let shown = hidesOutput ? reason.withoutOutput : reason
                history.obstacles.append((job, .failed(reason: shown, at: row.instant(2))))
            }
        }
    }

    private func readWaits(
        _ connection: Connection, into accounts: inout AccountHistories
    ) throws(DatabaseError) {
        let hidesOutput = hidesOutput
        try connection.forEach(
            """
            SELECT job_id, reason, subject, wanted, measured, source, last_try
            FROM (
                SELECT id, job_id, state,
                    iif(needs IS NULL AND awaits IS NULL, failure_reason, NULL) AS last_try
                FROM \(RunRow.open)) AS open
            CROSS JOIN deferrals INDEXED BY deferrals_now
            WHERE run_id = open.id AND state = 'enqueued' AND until_ms IS NULL ORDER BY run_id, place
            """, []
        ) { row in
            guard let job = JobID(row.text(0)), let reason = WaitReason(rawValue: row.text(1))
            else { return }
            let deferral = Deferral(
                reason, subject: row.text(2), wanted: row.text(3), measured: row.text(4),
                source: row.text(5))
            let failure = row.optionalText(6)
            let lastTry = hidesOutput ? failure?.withoutOutput : failure
            accounts.change(job.account) { history in
                history.obstacles.append((job, .waits(deferral, lastTry: lastTry)))
            }
        }
    }
}

/// Collects the histories of accounts of which several rows follow each other.
private struct AccountHistories {
    private var places: [AccountID?: Int] = [:]
    private var list: [(account: AccountID?, history: AccountHistory)] = []

    mutating func change(_ account: AccountID?, _ body: (inout AccountHistory) -> Void) {
        if let last = list.last, last.account == account {
            return body(&list[list.count - 1].history)
        }
        let place = places[account] ?? list.count
        if place == list.count {
            places[account] = place
            list.append((account, AccountHistory()))
        }
        body(&list[place].history)
    }

    var histories: [AccountID?: AccountHistory] { places.mapValues { list[$0].history } }
}

/// Removes from a history what an account's programs wrote: outputs, notes, reasons and facts.
///
/// In a file the runs stay, with their times and counts, until retention removes them. On a server
/// they go too, and every other row that names the account.
public struct AccountErasure {
    /// What stands for a reason that was removed, because a run that failed has one.
    static let removedReason = "removed with its account"
    /// The name of the fact that an account's texts were removed, so that a scheduler that ends an
    /// attempt afterwards writes none.
    private static let mark = "removed"

    private let connection: Connection
    private let path: String

    /// Opens the file of a state directory; `nil` if there is none.
    static func file(
        in directory: StateDirectory
    ) throws(RunStoreError) -> (connection: FileConnection, path: String)? {
        let path = "\(directory.path)/history.db"
        return try rethrowing(path) {
            try demandUsable(path)
            guard access(path, F_OK) == 0 else { return nil }
            let connection = try FileConnection(path: path, access: .readWrite)
            try migrateHistory(connection, at: path)
            return (connection, path)
        }
    }

    init(_ connection: Connection, at path: String) {
        (self.connection, self.path) = (connection, path)
    }

    /// Removes the texts of an account, and then what is left of them in the file and its log.
    ///
    /// It changes nothing the second time. A file's backups of before keep what they have.
    ///
    /// - Parameter sources: the paths of the account's sources.
    public func run(
        of account: AccountID, sources: [String] = [], at now: Instant
    ) throws(RunStoreError) {
        guard connection is FileConnection else {
            return try rethrowing(server: path) { try removeAll(of: account, sources, at: now) }
        }
        try rethrowing(path) {
            try connection.overwrite(true)
            try connection.transaction {
                for statement in AccountErasure.statements {
                    try connection.run(
                        statement, .text(account.jobs.lowerBound), .text(account.jobs.upperBound))
                }
                try connection.run(
                    "DELETE FROM account_facts WHERE account = ?", .text(account.rawValue))
                try connection.run(
                    "INSERT INTO account_facts (account, name, value, at_ms) VALUES (?, ?, 1, ?)",
                    .text(account.rawValue), .text(AccountErasure.mark), .instant(now))
            }
            try connection.rewrite()
        }
    }

    /// Removes every row of an account's jobs. The end of an attempt whose run is gone is recorded
    /// nowhere.
    private func removeAll(
        of account: AccountID, _ sources: [String], at now: Instant
    ) throws {
        try connection.transaction {
            // No later run gets the number of one that goes.
            try connection.run(
                """
                INSERT INTO prune_mark (id, at_ms, through_run, counted_run, counted_limit)
                SELECT 1, CAST(? AS bigint), max(id), 0, 0 FROM runs HAVING max(id) IS NOT NULL
                ON CONFLICT (id) DO UPDATE SET
                    through_run = max(prune_mark.through_run, excluded.through_run)
                """, .instant(now))
            // Rows that refer to a run go with it.
            for table in AccountErasure.tablesOfJobs {
                try connection.run(
                    "DELETE FROM \(table.name) WHERE \(table.condition)",
                    .text(account.jobs.lowerBound), .text(account.jobs.upperBound))
            }
            try connection.run(
                "DELETE FROM account_facts WHERE account = ?", .text(account.rawValue))
            // A loop that lives publishes anew when it reads the job file without the account.
            try connection.run(
                """
                UPDATE machines SET revision = revision + 1,
                    sources = trim(replace(' ' || sources || ' ', ' ' || ?1 || ' ', ' '))
                WHERE strpos(' ' || sources || ' ', ' ' || CAST(?1 AS text) || ' ') > 0
                """, .text(account.rawValue))
            for path in sources {
                try connection.run("DELETE FROM source_fingerprints WHERE path = ?", .text(path))
            }
            // Processes that have read these rows before read anew.
            try connection.run("UPDATE writes SET version = version + 1")
        }
    }

    private static let ofJob = "job_id > ?1 AND job_id < ?2"
    private static let tablesOfJobs =
        [(name: "placements", condition: "run_id IN (\(runs))")]
        + [
            "occurrence_fates", "runs", "job_records", "totals", "answer_totals", "wait_totals",
            "missed_totals",
        ].map { (name: $0, condition: ofJob) }

    private static let runs = "SELECT id FROM runs WHERE \(ofJob)"

    private static let statements = [
        "DELETE FROM attempt_outputs WHERE run_id IN (\(runs))",
        "UPDATE attempts SET reason = NULL WHERE reason IS NOT NULL AND run_id IN (\(runs))",
        "UPDATE deferrals SET wanted = '', measured = '', source = '' WHERE run_id IN (\(runs))",
        """
        UPDATE runs SET notes = '', checkpoint = NULL, parameters = NULL,
            failure_reason = CASE WHEN failure_reason IS NOT NULL THEN '\(removedReason)' END
        WHERE job_id > ?1 AND job_id < ?2
        """,
        """
        UPDATE job_records SET pause_reason = ''
        WHERE pause_reason IS NOT NULL AND job_id > ?1 AND job_id < ?2
        """,
    ]

    /// Returns whether an account's texts were removed.
    static func isDone(
        for account: AccountID?, _ connection: Connection
    ) throws(DatabaseError) -> Bool {
        guard let account else { return false }
        return try connection.first(
            "SELECT 1 FROM account_facts WHERE account = ? AND name = ?",
            .text(account.rawValue), .text(mark)
        ) { _ in true } ?? false
    }
}

extension Run {
    /// The run without what its programs wrote, if they did.
    var withoutTexts: Run? {
        guard !notes.isEmpty || checkpoint != nil || failure != nil || !parameters.isEmpty else {
            return nil
        }
        var run = self
        (run.notes, run.checkpoint, run.parameters) = ([], nil, [:])
        if let failure { run.failure = Failure(failure.category, AccountErasure.removedReason) }
        return run
    }
}

extension Attempt {
    /// The attempt without what its programs wrote, if they did.
    var withoutTexts: Attempt? {
        guard output != nil || reason != nil else { return nil }
        var attempt = self
        (attempt.output, attempt.reason) = (nil, nil)
        return attempt
    }
}
