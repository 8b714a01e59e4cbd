public import ClarityScheduler
import SQLite

// What is kept no longer than a retention. Nothing that the backend has not confirmed is touched.

extension HealthStore {
    /// Removes what is older than `cutoff` of one kind, looking at `limit` of it at most, whether it
    /// goes or stays, so that no other process waits for long. The removal and its entry in the audit
    /// log are one transaction; the entry has the receipt's digest as it is after it.
    ///
    /// A sample goes by the instant at which its upload was confirmed; only its value is removed,
    /// so that it is not sent again from the next export. A pulled row goes when both its own time
    /// and the last time that the backend listed it are before `cutoff`. An archived version goes by
    /// when it was archived, an entry of the audit log by when it was made, the oldest first and
    /// never before it was uploaded. An analysis goes when it and the request for its insight ended
    /// before `cutoff`, but never that of the newest week nor the latest result.
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
        let (end, after, isMore) = try change { connection in
            var (cursor, receipt, isMore) = (start, before, false)
            if let rule = PruneRule.rule(for: kind) {
                isMore = try remove(
                    rule, kind, before: cutoff, limit, &cursor, &receipt, connection)
            } else if kind == .auditEntries {
                isMore = try removeAudit(before: cutoff, limit, &receipt, connection)
            }
            if kind == .insights, !isMore { try forgetTexts(before: cutoff, connection) }
            let removed = receipt[kind].count - before[kind].count
            if removed > 0 {
                try record(
                    .removed, [kind.rawValue: removed], detail: receipt.auditDetail, connection)
            }
            return (cursor, receipt, isMore)
        }
        (cursor, receipt) = (end, after)
        return isMore
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

    /// Removes a portion; whether there may be more.
    private func remove(
        _ rule: PruneRule, _ kind: PrunedKind, before cutoff: Instant, _ limit: Int,
        _ cursor: inout PruneCursor, _ receipt: inout PruneReceipt, _ connection: Connection
    ) throws -> Bool {
        let values: [Value] = [
            .integer(cutoff.millisecondsSince1970), .integer(cursor.first), cursor.key,
            .integer(Int64(limit)),
        ]
        var (looked, gone) = (0, 0)
        try connection.forEach(rule.selection, values) { row in
            looked += 1
            cursor.first = row.integer(0)
            cursor.key = rule.isKeyText ? .text(row.text(1)) : .integer(row.integer(1))
            guard row.integer(2) != 0 else { return }
            gone += 1
            receipt.add(
                kind, identity: row.text(5),
                at: Instant(millisecondsSince1970: row.integer(3)), bytes: row.integer(4))
        }
        if gone > 0 {
            for deletion in rule.deletions {
                try connection.run(deletion, values[0], values[1], values[2], values[3])
            }
        }
        return looked == limit
    }

    /// Forgets that texts are missing of insights that the history never had.
    private func forgetTexts(before cutoff: Instant, _ connection: Connection) throws {
        try connection.run(
            """
            DELETE FROM missing_texts WHERE last_asked_at_ms < ?
                AND NOT EXISTS (SELECT 1 FROM insights WHERE id = insight_id)
            """, .integer(cutoff.millisecondsSince1970))
    }

    /// Removes entries before the first one that is young enough, since the log stays one chain;
    /// whether there may be more.
    private func removeAudit(
        before cutoff: Instant, _ limit: Int, _ receipt: inout PruneReceipt,
        _ connection: Connection
    ) throws -> Bool {
        let head = try AuditHead.current(connection, sealer)
        var last: Int64?
        var (gone, isYoung) = (0, false)
        try connection.forEach(
            """
            SELECT number, at_ms, length(sealed), hex(hash) FROM audit
            WHERE number <= ? ORDER BY number LIMIT ?
            """, [.integer(head.uploadedNumber), .integer(Int64(limit))]
        ) { row in
            let at = Instant(millisecondsSince1970: row.integer(1))
            isYoung = isYoung || at >= cutoff
            guard !isYoung else { return }
            gone += 1
            last = row.integer(0)
            receipt.add(
                .auditEntries, identity: "\(row.integer(0)) \(row.text(3))", at: at,
                bytes: row.integer(2))
        }
        if let last { _ = try pruneAudit(through: last, connection) }
        return gone == limit
    }

    /// Gives unused pages back to the file system, at most `pages` of them in one transaction, so
    /// that no other process waits for long; after the last of them the write-ahead log is brought
    /// into the file.
    ///
    /// Another process that reads or writes meanwhile keeps a part of both back for the next time.
    ///
    /// - Returns: the bytes by which the file shrank, and whether there is more to give back.
    public func compact(
        pages: Int = 2000
    ) throws(HealthStoreError) -> (freed: Int64, isMore: Bool) {
        try access { connection in
            func size() throws(SQLiteError) -> (bytes: Int64, unused: Int64) {
                try connection.first(
                    """
                    SELECT page_count * page_size, freelist_count
                    FROM pragma_page_count, pragma_page_size, pragma_freelist_count
                    """
                ) { ($0.integer(0), $0.integer(1)) } ?? (0, 0)
            }
            let before = try size()
            try connection.execute("PRAGMA incremental_vacuum(\(pages))")
            let after = try size()
            // What gives nothing back would never come to an end.
            let isMore = after.unused > 0 && after.bytes < before.bytes
            if !isMore { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
            return (max(0, before.bytes - after.bytes), isMore)
        }
    }
}

extension PruneReceipt {
    /// What the audit log says of it, as it is so far.
    fileprivate var auditDetail: String { "their retention is over, receipt \(digest)" }
}
