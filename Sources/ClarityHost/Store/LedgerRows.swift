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
            PruneMark(
                at: Instant(millisecondsSince1970: row.integer(0)), through: RunID(row.integer(1)))
        }
    }
}
