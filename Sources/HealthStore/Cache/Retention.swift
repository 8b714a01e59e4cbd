import HealthModel
public import ClarityScheduler
import Database
import Platform

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

/// Selects the rows that are old enough to remove, as SQL; `?1` is the cutoff.
struct PruneRule {
    /// The tables; the first one is the outer loop of the join.
    let tables: String
    /// Selects the rows to walk. If this excludes many rows, an index must find the rest: excluded
    /// rows do not count towards a portion.
    var walk = "true"
    /// Selects those of the walked rows that are removed.
    var condition = "true"
    /// The order of the walk: a number, and the key of the row to remove.
    let order: (first: String, key: String)
    /// Whether that key is text.
    let isKeyText: Bool
    /// The instant that decides the age, the size in bytes, and what identifies the row.
    let columns: (instant: String, bytes: String, identity: String)
    /// The statements that remove rows by a list of keys that follows, dependent rows first.
    let removals: [String]

    /// Returns the rule of a kind, or `nil` if the kind is not stored as rows of a table.
    static func rule(for kind: PrunedKind) -> PruneRule? {
        switch kind {
        case .samples: samples
        case .batches: batches
        case .metrics: pulled("metrics")
        case .insights:
            pulled("insights", with: "DELETE FROM missing_texts WHERE insight_id")
        case .versions: versions
        case .analyses: analyses
        case .records, .auditEntries, .files: nil
        }
    }

    /// By the time at which the upload was confirmed or found to be stored. CROSS JOIN keeps the
    /// batches in the outer loop: a walk of the samples would pass over all pruned samples in each
    /// portion.
    private static let samples = PruneRule(
        tables: "batches CROSS JOIN outbox",
        walk: "batch_id = batches.id AND finished_at_ms < ?1",
        condition: """
            outbox.state = 'confirmed' OR outbox.state = 'stored' OR outbox.state = 'batched'
                AND (batches.state = 'confirmed' OR batches.state = 'stored')
            """,
        order: ("batches.id", "outbox.id"), isKeyText: false,
        columns: (
            "finished_at_ms", "length(outbox.sealed)",
            "outbox.kind || ' ' || start_s || ' ' || end_s || ' ' || hex(tag)"
        ),
        removals: [
            """
            UPDATE outbox SET sealed = NULL, batch_id = NULL, reason = NULL,
                state = iif(state = 'batched',
                    (SELECT state FROM batches WHERE id = batch_id), state)
            WHERE id
            """
        ])

    /// Batches without samples, by when they ended, or else by when they were made.
    private static let batches = PruneRule(
        tables: "batches",
        condition: """
            coalesce(finished_at_ms, client_timestamp_ms) < ?1
                AND NOT EXISTS (SELECT 1 FROM outbox WHERE batch_id = batches.id)
            """,
        order: ("id", "id"), isKeyText: false,
        columns: (
            "coalesce(finished_at_ms, client_timestamp_ms)",
            "coalesce(length(processing_id), 0) + coalesce(length(reason), 0)",
            "id || ' ' || coalesce(processing_id, '')"
        ),
        removals: ["DELETE FROM batches WHERE id"])

    /// By the row's own time and by when the backend last listed it; most old rows are still
    /// listed.
    private static func pulled(_ table: String, with dependent: String? = nil) -> PruneRule {
        PruneRule(
            tables: table, walk: "timestamp_ms < ?1", condition: "synced_at_ms < ?1",
            order: ("timestamp_ms", "id"), isKeyText: true,
            columns: ("timestamp_ms", "length(sealed)", "hex(digest) || ' ' || id"),
            removals: (dependent.map { [$0] } ?? []) + ["DELETE FROM \(table) WHERE id"])
    }

    /// By the time of archiving.
    private static let versions = PruneRule(
        tables: "archive", walk: "archived_at_ms < ?1",
        order: ("archived_at_ms", "id"), isKeyText: false,
        columns: (
            "archived_at_ms", "length(sealed)", "hex(digest) || ' ' || origin || ' ' || row_id"
        ),
        removals: ["DELETE FROM archive WHERE id"])

    /// By the end of the analysis and of its insight request. The newest week of each form stays,
    /// whatever its outcome, so that it is not sent again. The latest result stays too, because an
    /// insight of it may still be requested.
    private static let analyses = PruneRule(
        tables: "analyses",
        condition: """
            finished_at_ms < ?1
                AND last_day < (SELECT max(last_day) FROM analyses AS others
                    WHERE others.form = analyses.form)
                AND id IS DISTINCT FROM (SELECT id FROM analyses
                    WHERE state = 'completed' AND sealed IS NOT NULL
                    ORDER BY last_day DESC, id DESC LIMIT 1)
                AND NOT EXISTS (SELECT 1 FROM insight_requests
                    WHERE analysis_id = analyses.id AND coalesce(finished_at_ms >= ?1, true))
            """,
        order: ("id", "id"), isKeyText: false,
        columns: (
            "finished_at_ms", "coalesce(length(sealed), 0) + coalesce(length(processing_id), 0)",
            "id || ' ' || form || ' ' || last_day || ' ' || coalesce(processing_id, '')"
        ),
        removals: [
            "DELETE FROM insight_requests WHERE analysis_id", "DELETE FROM analyses WHERE id",
        ])

    /// Walks one portion, after `?2` and `?3` and at most `?4` rows: position, key, whether the row
    /// is removed, and its columns.
    var selection: String {
        portion(of: ", \(columns.instant), \(columns.bytes), \(columns.identity)")
    }

    /// Removes the selected rows of the same portion.
    var deletions: [String] {
        removals.map { "\($0) IN (SELECT row_key FROM (\(portion(of: ""))) AS portion WHERE goes)" }
    }

    private func portion(of more: String) -> String {
        """
        SELECT \(order.first), \(order.key) AS row_key, (\(condition)) AS goes\(more)
        FROM \(tables)
        WHERE \(walk) AND \(order.first) >= ?2 AND (\(order.first), \(order.key)) > (?2, ?3)
        ORDER BY \(order.first), \(order.key) LIMIT ?4
        """
    }
}

/// The progress of removing one kind.
public struct PruneCursor: Sendable {
    var first: Int64 = .min
    var key: Value = .null

    /// Creates a cursor at the beginning.
    public init() {}
}

/// A kind of data that a cleanup removes; the cases are in the order of removal.
public enum PrunedKind: String, CaseIterable, Sendable {
    /// The values of confirmed and stored samples; the record that they were sent stays.
    case samples
    /// Uploads without samples: those were pruned, discarded or moved to other uploads.
    case batches
    /// Metrics that the backend has not listed for the length of the retention.
    case metrics
    /// Insights that the backend has not listed for the length of the retention.
    case insights
    /// Versions that later ones replaced.
    case versions
    /// Analyses that ended, with their insight requests.
    case analyses
    /// Entries of the audit log that were uploaded.
    case auditEntries = "audit_entries"
    /// Records of the archive, by the person's own rule.
    case records
    /// Files in a spool folder that were read completely.
    case files
}

/// What was removed: how much of each kind, and a digest that is unique to this removal.
///
/// The digest is a chain over the identities of what was removed, in the order of `PrunedKind` and
/// by time within each kind: BLAKE2b-256 of the digest so far, the kind and the identity. The size
/// of the portions and the time of removal do not affect it, so a dry run over the same store has
/// the same digest.
public struct PruneReceipt: Hashable, Sendable {
    /// What was removed of one kind.
    public struct Part: Hashable, Sendable {
        public var count: Int64 = 0
        /// The size of the content, without the overhead of the file.
        public var bytes: Int64 = 0
        public var oldest: Instant?
        public var newest: Instant?
    }

    /// The kinds of which something was removed.
    public private(set) var parts: [PrunedKind: Part] = [:]
    private var chain = blake2b(RowIdentity("clarity-jobs cleanup 1").bytes)

    /// Creates an empty receipt.
    public init() {}

    /// The digest, as 64 hex digits.
    public var digest: String { hexEncoded(chain) }

    /// The count over all kinds.
    public var count: Int64 { parts.values.reduce(0) { $0 + $1.count } }

    /// Returns what was removed of a kind.
    public subscript(kind: PrunedKind) -> Part { parts[kind] ?? Part() }

    /// Adds one removed item.
    ///
    /// - Parameters:
    ///   - identity: identifies the item among all of its kind; used only for the digest.
    ///   - instant: the time that made it old enough.
    ///   - count: how many it stands for.
    public mutating func add(
        _ kind: PrunedKind, identity: String, at instant: Instant, bytes: Int64, count: Int64 = 1
    ) {
        var part = self[kind]
        part.count += count
        part.bytes += bytes
        part.oldest = min(part.oldest ?? instant, instant)
        part.newest = max(part.newest ?? instant, instant)
        parts[kind] = part
        chain = blake2b(RowIdentity("clarity-jobs cleanup 1", chain, kind.rawValue, identity).bytes)
    }

    /// A summary such as `samples 3, metrics 1`; empty if nothing was removed.
    public var summary: String {
        PrunedKind.allCases.filter { self[$0].count > 0 }.map { "\($0.rawValue) \(self[$0].count)" }
            .joined(separator: ", ")
    }
}
