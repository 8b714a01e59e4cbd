public import ClarityScheduler
import Platform
@preconcurrency import Glibc
package import Database

/// Answers queries about past and present runs, and changes nothing.
public struct RunHistory: ~Copyable {
    let connection: Connection?
    let path: String
    private let listLoops: (Connection) throws -> [RunningLoop]
    let peers: any HistoryPeers
    /// Whether what the programs of jobs wrote is left out: outputs, notes, and the line of output at
    /// the end of a reason.
    public var hidesOutput = false
    /// What the attempts that run on this machine have written so far; `nil` if nobody is to look.
    var live: LiveAttempts?
    /// Prevents a restore of the state directory while the history is open.
    private let share: FileLock?

    /// Opens the history of a state directory for reading; a history that does not exist yet is
    /// empty.
    ///
    /// Writes and creates nothing in the directory. While no process has the file open, it is read
    /// as immutable, since SQLite would otherwise create a `-shm` file beside it. If an older
    /// version of this program wrote the file, it is copied and the copy is migrated.
    ///
    /// - Throws: `RunStoreError` if the history exists and cannot be read.
    public init(inDirectory directory: String) throws(RunStoreError) {
        let path = "\(directory)/history.db"
        let (share, connection) = try rethrowing(path) {
            (try StateDirectory.shareIfThere(directory), try RunHistory.connection(path))
        }
        self.path = path
        self.share = share
        self.connection = connection
        live = LiveAttempts(inDirectory: directory)
        let leases = Leases(inDirectory: directory, ownOwner: nil)
        listLoops = { _ in leases.loops() }
        peers = FilePeers(leases)
    }

    /// Reads what a connection of another place has.
    init(
        _ connection: Connection, at path: String, _ peers: any HistoryPeers,
        loops: @escaping (Connection) throws -> [RunningLoop]
    ) {
        (self.connection, self.path, self.peers, listLoops) = (connection, path, peers, loops)
        share = nil
    }

    private static func connection(_ path: String) throws -> Connection? {
        try demandUsable(path)
        guard access(path, F_OK) == 0 || errno != ENOENT else { return nil }
        let isOpenElsewhere = access("\(path)-wal", F_OK) == 0
        let connection = try FileConnection(
            path: path, access: isOpenElsewhere ? .readOnly : .immutable)
        let version = try historyMigrations.version(of: connection)
        if version == 0 { return nil }
        if version == historyMigrations.newest { return connection }
        let copy = try FileConnection(path: "")
        try connection.copy(into: copy)
        try historyMigrations.migrate(copy)
        return copy
    }

    /// Returns the newest schema that this program knows (`SchemaForm`), for a caller that copies
    /// the file.
    package static func newestForm() throws(RunStoreError) -> SchemaForm {
        try rethrowing(":memory:") { try historyMigrations.form() }
    }

    /// Returns the loops that run now, on this machine or with this server, the oldest first.
    public func loops() throws(RunStoreError) -> [RunningLoop] {
        guard let connection else { return [] }
        return try rethrowing(path) { try listLoops(connection) }
    }

    /// Returns the current ledger.
    ///
    /// - Parameter starts: the starts of attempts that it has to have; `nil` for none.
    public func ledger(
        recalling starts: StartRecall? = nil
    ) throws(RunStoreError) -> Ledger {
        guard let connection else { return Ledger() }
        return try rethrowing(path) {
            try connection.snapshot {
                var cache = LedgerCache()
                try cache.refresh(connection, peers, recalling: starts)
                var ledger = cache.ledger
                if hidesOutput {
                    for run in cache.ledger.open.values { ledger.apply(.put(run.withoutOutput)) }
                }
                return ledger
            }
        }
    }

    /// Returns the last `limit` runs that match a filter, newest first.
    public func runs(_ filter: RunFilter, limit: Int) throws(RunStoreError) -> [Run] {
        let condition = filter.condition
        return try runs(
            "runs \(condition.text) ORDER BY id DESC LIMIT ?",
            condition.values + [.integer(Int64(limit))])
    }

    /// Returns the last `limit` runs of one job or of all jobs, newest first.
    public func runs(of job: JobID?, limit: Int) throws(RunStoreError) -> [Run] {
        try runs(RunFilter(job: job), limit: limit)
    }

    /// Returns a run, or `nil` if there is none with this number.
    public func run(_ id: RunID) throws(RunStoreError) -> Run? {
        try runs("runs WHERE id = ?", [.integer(id.rawValue)]).first
    }

    /// Returns the attempts of a run, in order of their numbers.
    public func attempts(of run: RunID) throws(RunStoreError) -> [Attempt] {
        try rethrowing(path) {
            guard let connection else { return [] }
            let outputs = try OutputRow.outputs(of: run, connection)
            let machines = try MachineRow.machines(of: run, connection)
            return try connection.all(
                """
                SELECT \(AttemptRow.Column.list) FROM attempts WHERE run_id = ? ORDER BY number
                """,
                .integer(run.rawValue), map: AttemptRow.attempt
            ).map { attempt in
                var attempt = attempt
                if hidesOutput {
                    attempt.reason = attempt.reason?.withoutOutput
                } else {
                    attempt.output = outputs[attempt.number]
                    if attempt.result == .running {
                        attempt.output = live?.output(of: run, attempt.number)
                    }
                }
                if attempt.result == .running {
                    attempt.progress = try progress(of: run, attempt.number, connection)
                }
                attempt.machine = machines[attempt.number]
                return attempt
            }
        }
    }

    /// Returns how far the running attempt of a run is; `nil` if none runs or it has not said.
    public func progress(of run: Run) throws(RunStoreError) -> AttemptProgress? {
        guard run.state == .running, let connection else { return nil }
        return try rethrowing(path) { try progress(of: run.id, run.attempts, connection) }
    }

    private func progress(
        of run: RunID, _ number: Int, _ connection: Connection
    ) throws(DatabaseError) -> AttemptProgress? {
        if let own = live?.progress(of: run, number) { return own }
        return try peers.progress(of: run, number, connection)
    }

    /// Returns the deferrals of a run, in the order in which they began.
    public func deferrals(of run: RunID) throws(RunStoreError) -> [DeferralSpan] {
        try rethrowing(path) {
            try connection?.all(
                """
                SELECT \(DeferralRow.columns) FROM deferrals WHERE run_id = ?
                ORDER BY since_ms, place, subject
                """, .integer(run.rawValue), map: DeferralRow.span) ?? []
        }
    }

    /// Returns the occurrences from `first` to `last`, both included, for which a run succeeded: a
    /// run of their own or a backfill.
    public func doneOccurrences(
        of job: JobID, from first: Instant, through last: Instant
    ) throws(RunStoreError) -> Set<Instant> {
        try rethrowing(path) {
            let done = try connection?.all(
                """
                SELECT occurrence_ms FROM (
                    SELECT coalesce(latest_occurrence_ms, scheduled_for_ms) AS occurrence_ms
                    FROM runs WHERE job_id = ? AND state = 'succeeded'
                        AND (\(RunRow.ofOccurrence) OR trigger = 'backfill')) AS done
                WHERE occurrence_ms BETWEEN ? AND ?
                """, .text(job.rawValue), .instant(first), .instant(last)
            ) { $0.instant(0) }
            return Set(done ?? [])
        }
    }

    private func runs(_ query: String, _ values: [Value]) throws(RunStoreError) -> [Run] {
        guard let connection else { return [] }
        return try rethrowing(path) {
            var runs: [Run] = []
            try RunRow.forEach(query, values, connection) { run, _ in
                runs.append(hidesOutput ? run.withoutOutput : run)
            }
            return runs
        }
    }
}

/// A selection of runs for a query of the history.
public struct RunFilter: Hashable, Sendable {
    /// The job, or `nil` for all jobs.
    public var job: JobID?
    /// Only runs of this account's jobs.
    public var account: AccountID?
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
        job: JobID? = nil, account: AccountID? = nil, isFailed: Bool = false,
        isDeferred: Bool = false, since: Instant? = nil, until: Instant? = nil
    ) {
        self.job = job
        self.account = account
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
        if let account {
            terms.append("job_id > ? AND job_id < ?")
            values += [.text(account.jobs.lowerBound), .text(account.jobs.upperBound)]
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

extension Run {
    /// The run without what its programs wrote.
    fileprivate var withoutOutput: Run {
        var run = self
        (run.notes, run.checkpoint) = ([], nil)
        run.parameters = [:]
        run.failure = failure.map { Failure($0.category, $0.reason.withoutOutput) }
        return run
    }
}

extension AccountID {
    /// The bounds of the ids of the account's jobs, `anna/` and the text after every `anna/...`.
    var jobs: Range<String> { "\(rawValue)/"..<"\(rawValue)0" }
}

// Queries about one job.
extension RunHistory {
    /// The number of runs that `holds` looks at, newest first.
    public static let holdsReach = 20_000

    /// Returns for how long a run's attempt runs, beside the last successful attempts of its job;
    /// `nil` for a run that does not run.
    ///
    /// - Parameter expected: the time that the job file expects an attempt of the job to take.
    public func pace(of run: Run, expected: Duration?) throws(RunStoreError) -> JobPace? {
        guard run.state == .running, let connection else { return nil }
        return try rethrowing(path) {
            let since = try connection.first(
                "SELECT started_at_ms FROM attempts WHERE run_id = ? AND number = ?",
                .integer(run.id.rawValue), .integer(Int64(run.attempts))
            ) { $0.instant(0) }
            guard let since else { return nil }
            let lengths = try connection.all(
                """
                SELECT finished_at_ms - started_at_ms FROM attempts
                WHERE result = 'succeeded'
                    AND run_id IN (SELECT id FROM \(RunHistory.successes(of: "?")) LIMIT ?)
                """, .text(run.job.rawValue), .integer(Int64(JobPace.sampleSize))
            ) { Duration.milliseconds(max($0.integer(0), 0)) }
            return JobPace(since: since, lastSuccesses: lengths, expected: expected)
        }
    }

    /// Returns what held a job back from one instant to another, the longest reason first.
    ///
    /// Reads the job's runs from the newest down to one that finished before `since`, at most
    /// `holdsReach` runs.
    public func holds(
        _ job: JobID, since: Instant, until: Instant
    ) throws(RunStoreError) -> [HoldSummary] {
        guard let connection else { return [] }
        return try rethrowing(path) {
            try connection.snapshot {
                let first = try firstRun(of: job, since: since, connection)
                let spans = try connection.all(
                    """
                    SELECT \(DeferralRow.columns)
                    FROM runs CROSS JOIN deferrals
                    WHERE run_id = runs.id AND job_id = ?1 AND runs.id >= ?2 AND since_ms < ?4
                        AND (until_ms IS NULL OR until_ms > ?3)
                    """,
                    .text(job.rawValue), .integer(first), .instant(since), .instant(until),
                    map: DeferralRow.span)
                return HoldSummary.sums(of: spans, from: since, until: until)
            }
        }
    }

    /// Returns a run before which no run can have waited after `since`.
    ///
    /// Searches in strides, so that the runs in between are only counted.
    private func firstRun(
        of job: JobID, since: Instant, _ connection: Connection
    ) throws(DatabaseError) -> Int64 {
        var first = Int64.max
        for _ in 0..<(RunHistory.holdsReach / 500) {
            let run = try connection.first(
                """
                SELECT id, finished_at_ms FROM runs WHERE job_id = ? AND id < ?
                ORDER BY id DESC LIMIT 1 OFFSET 499
                """, .text(job.rawValue), .integer(first)
            ) { (id: $0.integer(0), finished: $0.optionalInstant(1)) }
            // Fewer than one stride is left: include all of them.
            guard let run else { return 0 }
            first = run.id
            if let finished = run.finished, finished < since { break }
        }
        return first
    }
}

/// How a job's last run ended that succeeded or failed; a cancelled or skipped one says nothing of
/// the job's work.
public struct JobEnd: Hashable, Sendable {
    public var run: RunID
    public var at: Instant
    /// Why it failed; `nil` if it succeeded.
    public var failure: String?
    /// When a run of the job last succeeded, as far as the history goes back.
    public var lastSuccess: Instant?

    /// Creates an end.
    public init(run: RunID, at: Instant, failure: String? = nil, lastSuccess: Instant? = nil) {
        self.run = run
        self.at = at
        self.failure = failure
        self.lastSuccess = lastSuccess
    }
}

extension RunHistory {
    /// The runs of a job that succeeded, from the newest on, by a search in an index.
    ///
    /// The condition is no `state = 'succeeded'`: SQLite would put that text into `state = 'failed'`
    /// too, which then is not the column of the index, and would read and sort all runs of the job.
    static func successes(of job: String) -> String {
        """
        runs INDEXED BY runs_kept
        WHERE job_id = \(job) AND (state = 'failed') = FALSE AND finished_at_ms IS NOT NULL
            AND state IN ('succeeded', 'failed')
        ORDER BY id DESC
        """
    }

    static let lastEndsQuery = """
        SELECT runs.job_id, runs.id, runs.finished_at_ms, runs.failure_reason,
            (SELECT finished_at_ms FROM \(successes(of: "job_records.job_id")) LIMIT 1), runs.state
        FROM job_records CROSS JOIN runs
        WHERE runs.id = (
            SELECT id FROM runs INDEXED BY runs_by_job
            WHERE job_id = job_records.job_id AND state IN ('succeeded', 'failed')
            ORDER BY id DESC LIMIT 1)
        """

    /// Returns how the last run of each job ended, in one query: two searches in an index for each job.
    public func lastEnds() throws(RunStoreError) -> [JobID: JobEnd] {
        guard let connection else { return [:] }
        let hidesOutput = hidesOutput
        return try rethrowing(path) {
            var ends: [JobID: JobEnd] = [:]
            try connection.forEach(RunHistory.lastEndsQuery, []) { row in
                guard let job = JobID(row.text(0)) else { return }
                let failure = row.text(5) == RunState.failed.rawValue ? row.optionalText(3) : nil
                ends[job] = JobEnd(
                    run: RunID(row.integer(1)), at: Instant(millisecondsSince1970: row.integer(2)),
                    failure: hidesOutput ? failure?.withoutOutput : failure,
                    lastSuccess: row.optionalInstant(4))
            }
            return ends
        }
    }
}
