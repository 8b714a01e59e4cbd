public import ClarityScheduler
import SQLite

// What is kept no longer than a retention. Nothing that the backend has not confirmed is touched.

extension HealthStore {
    /// Removes what is older than `cutoff` of one kind, at most `limit` of it, so that no other
    /// process waits for long. The removal and its entry in the audit log are one transaction; the
    /// entry has the receipt's digest as it is after it.
    ///
    /// A sample goes by the instant at which its upload was confirmed; only its value is removed,
    /// so that it is not sent again from the next export. A pulled row goes when both its own time
    /// and the last time that the backend listed it are before `cutoff`. An archived version goes by
    /// when it was archived, an entry of the audit log by when it was made, the oldest first and
    /// never before it was uploaded.
    ///
    /// - Parameters:
    ///   - cursor: how far the kind has come; one for each kind and cleanup.
    ///   - receipt: what this adds to; as it was when an error is thrown.
    /// - Returns: whether there may be more of it.
    public func prune(
        _ kind: PrunedKind, before cutoff: Instant, limit: Int = 10_000,
        from cursor: inout PruneCursor, into receipt: inout PruneReceipt
    ) throws(HealthStoreError) -> Bool {
        let (start, before) = (cursor, receipt)
        let (end, after) = try change { connection in
            var (cursor, receipt) = (start, before)
            if let rule = PruneRule.rule(for: kind) {
                try remove(
                    rule, kind, before: cutoff, limit, &cursor, &receipt, connection)
            } else if kind == .auditEntries {
                try removeAudit(before: cutoff, limit, &receipt, connection)
            }
            let removed = receipt[kind].count - before[kind].count
            if removed > 0 {
                try record(
                    .removed, [kind.rawValue: removed], detail: receipt.auditDetail, connection)
            }
            return (cursor, receipt)
        }
        (cursor, receipt) = (end, after)
        return after[kind].count - before[kind].count == limit
    }

    /// Removes all that the store has of every kind from before `cutoff`.
    public func prune(before cutoff: Instant) throws(HealthStoreError) -> PruneReceipt {
        var receipt = PruneReceipt()
        for kind in PrunedKind.allCases {
            var cursor = PruneCursor()
            while try prune(kind, before: cutoff, from: &cursor, into: &receipt) {}
        }
        return receipt
    }

    /// Notes that files were removed; the receipt's digest is that after them.
    public func recordRemovedFiles(
        _ count: Int64, _ receipt: PruneReceipt
    ) throws(HealthStoreError) {
        try record(.removed, [PrunedKind.files.rawValue: count], detail: receipt.auditDetail)
    }

    private func remove(
        _ rule: PruneRule, _ kind: PrunedKind, before cutoff: Instant, _ limit: Int,
        _ cursor: inout PruneCursor, _ receipt: inout PruneReceipt, _ connection: Connection
    ) throws {
        let values: [Value] = [
            .integer(cutoff.millisecondsSince1970), .integer(cursor.first), cursor.key,
            .integer(Int64(limit)),
        ]
        try connection.forEach(rule.selection, values) { row in
            cursor.first = row.integer(0)
            cursor.key = rule.isKeyText ? .text(row.text(1)) : .integer(row.integer(1))
            receipt.add(
                kind, identity: row.text(4),
                at: Instant(millisecondsSince1970: row.integer(2)), bytes: row.integer(3))
        }
        try connection.run(rule.deletion, values[0], values[1], values[2], values[3])
    }

    /// The entries before the first one that is young enough: the log stays one chain.
    private func removeAudit(
        before cutoff: Instant, _ limit: Int, _ receipt: inout PruneReceipt,
        _ connection: Connection
    ) throws {
        let head = try AuditHead.current(connection, sealer)
        let young =
            try connection.first(
                "SELECT min(number) FROM audit WHERE at_ms >= ?",
                .integer(cutoff.millisecondsSince1970)
            ) { $0.optionalInteger(0) } ?? nil
        let end = min(head.uploadedNumber, young.map { $0 - 1 } ?? .max)
        var last: Int64?
        try connection.forEach(
            """
            SELECT number, at_ms, length(sealed), hex(hash) FROM audit
            WHERE number <= ? ORDER BY number LIMIT ?
            """, [.integer(end), .integer(Int64(limit))]
        ) { row in
            last = row.integer(0)
            receipt.add(
                .auditEntries, identity: "\(row.integer(0)) \(row.text(3))",
                at: Instant(millisecondsSince1970: row.integer(1)), bytes: row.integer(2))
        }
        if let last { _ = try pruneAudit(through: last, connection) }
    }

    /// Brings the write-ahead log into the file and gives unused pages back to the file system.
    ///
    /// Another process that reads meanwhile keeps a part of both back for the next time.
    ///
    /// - Returns: the bytes by which the file shrank.
    public func compact() throws(HealthStoreError) -> Int64 {
        try access { connection in
            func size() throws(SQLiteError) -> Int64 {
                try connection.first(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
                ) { $0.integer(0) } ?? 0
            }
            let before = try size()
            try connection.execute("PRAGMA incremental_vacuum")
            let after = try size()
            try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return max(0, before - after)
        }
    }
}

extension PruneReceipt {
    /// What the audit log says of it, as it is so far.
    fileprivate var auditDetail: String { "their retention is over, receipt \(digest)" }
}
