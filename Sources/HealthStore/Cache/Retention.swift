import HealthModel
public import ClarityScheduler
import Database

// Removal at the end of a retention. Data that the backend has not confirmed is never touched.

extension HealthStore {
    /// Removes items of one kind that are older than `cutoff`.
    ///
    /// It examines at most `limit` items, removed or not, so that no other process waits for long.
    /// The removal and its audit entry are one transaction; the entry has the receipt's digest
    /// after the removal.
    ///
    /// A sample's age is the time since its upload was confirmed. Only its value is removed, so
    /// that it is not sent again from the next export. Packed samples go by months, once the last
    /// of a month has been packed for as long. A pulled row is removed if both its own time
    /// and the last time that the backend listed it are before `cutoff`. An archived version's age
    /// is the time since it was archived, an audit entry's the time since it was made. Audit
    /// entries are removed oldest first, and never before they are uploaded. An analysis is removed
    /// if it and its insight request ended before `cutoff`, but never the one of the newest week
    /// nor the latest result.
    ///
    /// - Parameters:
    ///   - cursor: the progress of the kind; use one for each kind and cleanup.
    ///   - receipt: the receipt to add to; unchanged if an error is thrown.
    /// - Returns: whether there may be more to remove.
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
            if kind == .samples, !isMore {
                try removePackedValues(before: cutoff, &receipt, connection)
            }
            if kind == .insights, !isMore { try forgetTexts(before: cutoff, connection) }
            let removed = receipt[kind].count - before[kind].count
            if removed > 0 {
                try audit.record(
                    .removed, [kind.rawValue: removed], detail: receipt.auditDetail, connection)
            }
            return (cursor, receipt, isMore)
        }
        (cursor, receipt) = (end, after)
        return isMore
    }

    /// Removes the values of packed samples.
    private func removePackedValues(
        before cutoff: Instant, _ receipt: inout PruneReceipt, _ connection: Connection
    ) throws {
        let packed = PackedSamples(cipher: cipher, connection: connection)
        for (kind, old) in try packed.totals().sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where old.withoutValue < old.count {
            var totals = old
            for (month, packedAt) in try packed.months(of: kind, packedBefore: cutoff) {
                let count = try packed.removeValues(of: kind, in: month)
                guard count > 0 else { continue }
                totals.withoutValue += count
                let name = TypeMonth(type: kind.rawValue, month: month)
                receipt.add(
                    .samples, identity: "\(name) \(count)", at: packedAt, bytes: 8 * count,
                    count: count)
            }
            guard totals != old else { continue }
            (totals.firstStart, totals.lastStart) = try packed.valued(kind)
            try packed.write(totals, of: kind)
        }
    }

    /// Records the removal of files; the receipt's digest already includes them.
    public func recordRemovedFiles(
        _ count: Int64, _ receipt: PruneReceipt
    ) throws(HealthStoreError) {
        try audit.record(.removed, [PrunedKind.files.rawValue: count], detail: receipt.auditDetail)
    }

    /// Removes one portion and returns whether there may be more.
    private func remove(
        _ rule: PruneRule, _ kind: PrunedKind, before cutoff: Instant, _ limit: Int,
        _ cursor: inout PruneCursor, _ receipt: inout PruneReceipt, _ connection: Connection
    ) throws -> Bool {
        let values: [Value] = [
            .instant(cutoff), .integer(cursor.first), cursor.key,
            .integer(Int64(limit)),
        ]
        var (looked, gone) = (0, 0)
        try connection.forEach(rule.selection, values) { row in
            looked += 1
            cursor.first = row.integer(0)
            cursor.key = rule.isKeyText ? .text(row.text(1)) : .integer(row.integer(1))
            guard row.integer(2) != 0 else { return }
            gone += 1
            receipt.add(kind, identity: row.text(5), at: row.instant(3), bytes: row.integer(4))
        }
        if gone > 0 {
            for deletion in rule.deletions {
                try connection.run(deletion, values[0], values[1], values[2], values[3])
            }
        }
        return looked == limit
    }

    /// Forgets missing texts of insights that are not in the history.
    private func forgetTexts(before cutoff: Instant, _ connection: Connection) throws {
        try connection.run(
            """
            DELETE FROM missing_texts WHERE last_asked_at_ms < ?
                AND NOT EXISTS (SELECT 1 FROM insights WHERE id = insight_id)
            """, .instant(cutoff))
    }

    /// Removes entries before the first one that is too young, because the log must stay one chain.
    ///
    /// - Returns: whether there may be more to remove.
    private func removeAudit(
        before cutoff: Instant, _ limit: Int, _ receipt: inout PruneReceipt,
        _ connection: Connection
    ) throws -> Bool {
        let head = try AuditHead.current(connection, cipher)
        var last: Int64?
        var (gone, isYoung) = (0, false)
        try connection.forEach(
            """
            SELECT number, at_ms, length(sealed), hex(hash) FROM audit
            WHERE number <= ? ORDER BY number LIMIT ?
            """, [.integer(head.uploadedNumber), .integer(Int64(limit))]
        ) { row in
            let at = row.instant(1)
            isYoung = isYoung || at >= cutoff
            guard !isYoung else { return }
            gone += 1
            last = row.integer(0)
            receipt.add(
                .auditEntries, identity: "\(row.integer(0)) \(row.text(3))", at: at,
                bytes: row.integer(2))
        }
        if let last { _ = try audit.prune(through: last, connection) }
        return gone == limit
    }

    /// Returns unused pages to the file system, at most `pages` of them in one transaction.
    ///
    /// The limit keeps other processes from waiting for long.
    ///
    /// - Returns: the bytes by which the file shrank, and whether there is more to give back.
    public func compact(
        pages: Int = 2000
    ) throws(HealthStoreError) -> (freed: Int64, isMore: Bool) {
        try access { connection in try connection.giveBack(pages: pages) }
    }
}

extension PruneReceipt {
    /// The text about the receipt so far for the audit log.
    fileprivate var auditDetail: String { "their retention is over, receipt \(digest)" }
}
