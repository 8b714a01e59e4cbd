import ClarityScheduler
import Database

/// The ledger of a history that several processes share: reads it, and writes what is decided on
/// it.
struct SharedLedger {
    /// What a decision wrote.
    struct Written {
        var changes: [LedgerChange]
        /// Whether other processes should look now, and not at their next regular look.
        var isNews: Bool
    }

    let connection: Connection
    let peers: any HistoryPeers
    private var cache = LedgerCache()

    init(_ connection: Connection, _ peers: any HistoryPeers) {
        (self.connection, self.peers) = (connection, peers)
    }

    /// Passes the ledger to `decide` and writes the changes that it returns, in one transaction.
    mutating func decide(
        recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
    ) throws -> Written {
        do {
            return try connection.transaction {
                try cache.refresh(connection, peers, recalling: starts, isDeciding: true)
                let changes = decide(cache.ledger)
                try LedgerWriter(connection: connection, peers: peers).write(changes, to: &cache)
                if !changes.isEmpty { try peers.noteWrite(connection) }
                return Written(
                    changes: changes, isNews: changes.contains { $0.concernsOthers })
            }
        } catch {
            // The cache may hold changes that were rolled back, or whose commit is uncertain.
            cache = LedgerCache()
            throw error
        }
    }

    /// Returns the current ledger.
    mutating func ledger(recalling starts: StartRecall?) throws -> Ledger {
        try connection.snapshot {
            try cache.refresh(connection, peers, recalling: starts)
            return cache.ledger
        }
    }
}

extension LedgerChange {
    fileprivate var concernsOthers: Bool {
        switch self {
        case .put, .setPause, .requestStop: true
        case .setClock, .setBoot, .setSource, .setRetryAfter, .recordOutcome, .putAttempt,
            .putFacts, .deferred, .prune, .placing:
            false
        }
    }
}

/// The ledger as one connection last saw it, kept so that a decision reads only what has changed.
struct LedgerCache {
    private(set) var ledger = Ledger()
    /// The attempts of other processes.
    private var held: [HeldAttempt] = []
    private var dataVersion: Int64 = -1
    private var revision: Int64 = .min

    /// Brings the ledger up to date in the current transaction.
    ///
    /// Reads the tables only if another process has committed a change; `apply` adds the changes of
    /// this one. The leases of other processes are checked each time, because they lapse without a
    /// write.
    ///
    /// - Returns: whether another connection has written since the last call.
    @discardableResult
    mutating func refresh(
        _ connection: Connection, _ peers: any HistoryPeers, recalling starts: StartRecall? = nil,
        isDeciding: Bool = false
    ) throws -> Bool {
        let version = try peers.version(connection)
        let isStale = version != dataVersion
        if isStale {
            revision = try LedgerRows.records(connection, after: revision) { job, record in
                ledger.setRecord(record, of: job)
            }
            let open = try LedgerRows.open(
                connection, nextRun: RunID(peers.lastRun(connection) + 1))
            ledger.replaceAllButRecords(
                open: open.runs, waits: open.waits, nextRun: open.nextRun,
                pruned: try LedgerRows.pruned(connection), boot: try LedgerRows.boot(connection),
                sources: try LedgerRows.sources(connection))
            held = open.runs.compactMap { run in
                run.lease.map { HeldAttempt(run: run.id, number: run.attempts, owner: $0.owner) }
            }
            dataVersion = version
        }
        try ledger.recall(starts, isStale: isStale) { recall throws(DatabaseError) in
            try LedgerRows.starts(recall, connection)
        }
        try judge(connection, peers)
        if isStale {
            held.removeAll { ledger.open[$0.run]?.lease?.state == .mine }
        }
        try peers.share(with: &ledger, isDeciding: isDeciding, connection)
        return isStale
    }

    private mutating func judge(_ connection: Connection, _ peers: any HistoryPeers) throws {
        guard !held.isEmpty else { return }
        let states = try peers.states(of: held, connection)
        for attempt in held {
            // A run that this process has taken over meanwhile has another owner, or none.
            guard let lease = ledger.open[attempt.run]?.lease, lease.owner == attempt.owner,
                let state = states[attempt.run], state != lease.state
            else { continue }
            ledger.setLeaseState(state, of: attempt.run)
        }
    }

    /// Applies a change to the cached ledger.
    mutating func apply(_ change: LedgerChange) {
        ledger.apply(change)
        guard case .put(let run) = change else { return }
        held.removeAll { $0.run == run.id }
        if let lease = run.lease, lease.state == .held {
            held.append(HeldAttempt(run: run.id, number: run.attempts, owner: lease.owner))
        }
    }

    /// Returns the revision for the next record that is written.
    mutating func nextRevision() -> Int64 {
        revision = max(revision, 0) + 1
        return revision
    }
}

/// Writes the changes of one decision in its transaction, and applies them to the cached ledger.
struct LedgerWriter {
    let connection: Connection
    let peers: any HistoryPeers

    /// Writes all changes, and each changed job record once, in its final state.
    func write(_ changes: [LedgerChange], to cache: inout LedgerCache) throws {
        try beginEras(changes, cache.ledger)
        var steps: [JobID: JobRecordRow.Step] = [:]
        var prune: (policy: RetentionPolicy, instant: Instant)?
        for change in changes {
            try write(change, cache.ledger)
            switch change {
            case .setClock(let job, _), .setPause(let job, _), .setRetryAfter(let job, _):
                steps[job, default: JobRecordRow.Step()].runs += 0
            case .put(let run) where run.state.isFinished:
                // A run that was already finished has been counted before.
                let isNew = cache.ledger.open[run.id] != nil || run.id >= cache.ledger.nextRun
                let failed: Int64 = run.state == .failed ? 1 : 0
                steps[run.job, default: JobRecordRow.Step()].failures += isNew ? failed : 0
                steps[run.job, default: JobRecordRow.Step()].runs += isNew ? 1 - failed : 0
            case .prune(let policy, let instant): prune = (policy, instant)
            default: break
            }
            cache.apply(change)
        }
        for (job, step) in steps {
            try JobRecordRow.put(
                cache.ledger.jobs[job] ?? JobRecord(), of: job, step,
                revision: cache.nextRevision(), connection)
        }
        // Prune last, after everything that it counts has been written.
        if let prune, let mark = cache.ledger.pruned {
            try Retention(connection: connection, policy: prune.policy, now: prune.instant)
                .prune(mark)
        }
    }

    /// Writes the new eras of clocks that were set back, before the runs and outcomes that belong
    /// to them.
    private func beginEras(_ changes: [LedgerChange], _ ledger: Ledger) throws(DatabaseError) {
        for case .setClock(let job, let clock) in changes
        where clock.era != ledger.jobs[job]?.clock?.era ?? 0 {
            try connection.run(
                "UPDATE job_records SET era = ?, pruned_until_ms = NULL WHERE job_id = ?",
                .integer(Int64(clock.era)), .text(job.rawValue))
        }
    }

    /// Returns the job of a run, which may have ended in the same decision.
    private func job(of run: RunID, _ ledger: Ledger) throws(DatabaseError) -> JobID? {
        if let open = ledger.open[run] { return open.job }
        return try connection.first(
            "SELECT job_id FROM runs WHERE id = ?", .integer(run.rawValue)
        ) { JobID($0.text(0)) } ?? nil
    }

    /// Whether what the programs of a job's account wrote was removed from the history.
    private func isErased(_ job: JobID) throws(DatabaseError) -> Bool {
        try AccountErasure.isDone(for: job.account, connection)
    }

    /// Writes one change; `ledger` is the state before it.
    private func write(_ change: LedgerChange, _ ledger: Ledger) throws {
        switch change {
        case .setClock, .setPause, .setRetryAfter, .prune: break
        case .setBoot(let boot):
            try connection.run(
                """
                INSERT INTO boot_mark (id, boot) VALUES (1, ?)
                ON CONFLICT (id) DO UPDATE SET boot = excluded.boot
                """, .text(boot))
        case .setSource(let path, let fingerprint):
            try connection.run(
                """
                INSERT INTO source_fingerprints (path, is_folder, files, newest_change_ns)
                VALUES (?, ?, ?, ?)
                ON CONFLICT (path) DO UPDATE SET is_folder = excluded.is_folder,
                    files = excluded.files, newest_change_ns = excluded.newest_change_ns
                """, .text(path), .integer(fingerprint.isFolder ? 1 : 0),
                .integer(Int64(fingerprint.files)), .integer(fingerprint.newestChange))
        case .recordOutcome(let job, let outcome, let first, let latest, let count, let run):
            let due = DueOccurrences(first: first, latest: latest, count: count)
            try OutcomeRow.put(
                outcome, of: job, due, run: run, after: ledger.jobs[job]?.clock, connection)
        case .put(var run):
            if let bare = run.withoutTexts, try isErased(run.job) { run = bare }
            try RunRow.put(run, connection)
            if run.state.isFinished, ledger.waits[run.id] != nil, let end = run.finishedAt {
                try DeferralRow.end(of: run.id, at: end, connection)
            }
        case .requestStop(let run, let reason):
            try connection.run(
                "UPDATE runs SET stop_request = coalesce(stop_request, ?) WHERE id = ?",
                .text(reason.rawValue), .integer(run.rawValue))
        case .putAttempt(var attempt):
            if let bare = attempt.withoutTexts, let job = try job(of: attempt.run, ledger),
                try isErased(job)
            {
                attempt = bare
            }
            try AttemptRow.put(attempt, connection)
            try OutputRow.put(attempt, connection)
            if attempt.result == .running, peers.machine != nil,
                let owner = ledger.open[attempt.run]?.lease?.owner
            {
                // As `ServerHistory.owner` begins.
                let machine = String(owner.prefix { $0 != "/" })
                try MachineRow.put(machine, of: attempt, connection)
            }
        case .placing(let change): try peers.write(change, connection)
        case .putFacts(let facts, let account, let instant):
            guard try !AccountErasure.isDone(for: account, connection) else { return }
            try FactRow.put(facts, of: account, at: instant, connection)
        case .deferred(let run, let deferrals, let instant):
            try DeferralRow.put(
                deferrals, of: run, known: ledger.waits[run] ?? [], at: instant, connection)
        }
    }
}

/// Occurrences with the same outcome, as a row of `occurrence_fates`.
enum OutcomeRow {
    /// Adds a stretch of occurrences, or extends the last one.
    ///
    /// A job that is paused or waiting passes over many occurrences in a row. They share one row as
    /// long as they have the same outcome and run, no other occurrence lies between them, and the
    /// schedule has not changed. `clock` is the job's clock before these occurrences.
    static func put(
        _ outcome: OccurrenceOutcome, of job: JobID, _ due: DueOccurrences, run: RunID?,
        after clock: JobClock?, _ connection: Connection
    ) throws(DatabaseError) {
        if let clock {
            let extended = try connection.change(
                extend, .instant(due.latest), .integer(Int64(due.count)), .text(job.rawValue),
                .integer(Int64(clock.era)), .instant(clock.considered), .text(outcome.rawValue),
                .integer(run?.rawValue), .instant(clock.scheduleSince))
            guard extended == 0 else { return }
        }
        try connection.run(
            insert, .text(job.rawValue), .instant(due.first), .instant(due.latest),
            .integer(Int64(due.count)), .text(outcome.rawValue), .integer(run?.rawValue))
    }

    private static let extend = """
        UPDATE occurrence_fates SET latest_ms = ?1, occurrences = occurrences + ?2
        WHERE job_id = ?3 AND era = ?4 AND latest_ms = ?5 AND fate = ?6
            AND run_id IS NOT DISTINCT FROM ?7 AND first_ms > ?8
            AND first_ms = (
                SELECT max(first_ms) FROM occurrence_fates WHERE job_id = ?3 AND era = ?4)
        """

    private static let insert = """
        INSERT INTO occurrence_fates
            (job_id, first_ms, latest_ms, occurrences, fate, run_id, era)
        VALUES (?1, ?, ?, ?, ?, ?, \(RunRow.eraOfJob(1)))
        """
}
