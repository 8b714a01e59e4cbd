import SQLite

/// Which rows of the store are old enough to go, as SQL. `?1` is the instant before which they are.
struct PruneRule {
    /// The tables, with the one that is walked first outside.
    let tables: String
    let condition: String
    /// What the rows are walked by: a number, and the key of the row that goes.
    let order: (first: String, key: String)
    /// Whether that key is text.
    let isKeyText: Bool
    /// The instant by which it is old, the bytes that it takes, and what tells it from the others.
    let columns: (instant: String, bytes: String, identity: String)
    /// What removes the rows whose `key` is among those that follow.
    let removal: String

    /// The rule of a kind; `nil` for what is no table's rows.
    static func rule(for kind: PrunedKind) -> PruneRule? {
        switch kind {
        case .samples: samples
        case .batches: batches
        case .metrics: pulled("metrics")
        case .insights: pulled("insights")
        case .versions: versions
        case .auditEntries, .files: nil
        }
    }

    /// By when the upload was confirmed. CROSS keeps the batches outside: from the samples each
    /// portion would pass over all whose values are gone already.
    private static let samples = PruneRule(
        tables: "batches CROSS JOIN outbox ON batch_id = batches.id",
        condition: "batches.id >= ?2 AND finished_at_ms < ?1 AND outbox.state = 'confirmed'",
        order: ("batches.id", "outbox.id"), isKeyText: false,
        columns: (
            "finished_at_ms", "length(outbox.sealed)",
            "outbox.kind || ' ' || start_s || ' ' || end_s || ' ' || hex(tag)"
        ),
        removal: "UPDATE outbox SET sealed = NULL, batch_id = NULL WHERE id")

    /// Finished ones, and those that nobody is in any more.
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
        removal: "DELETE FROM batches WHERE id")

    /// By its own time and by when the backend last listed it.
    private static func pulled(_ table: String) -> PruneRule {
        PruneRule(
            tables: table, condition: "timestamp_ms < ?1 AND synced_at_ms < ?1",
            order: ("timestamp_ms", "id"), isKeyText: true,
            columns: ("timestamp_ms", "length(sealed)", "hex(digest) || ' ' || id"),
            removal: "DELETE FROM \(table) WHERE id")
    }

    /// By when it was archived.
    private static let versions = PruneRule(
        tables: "archive", condition: "archived_at_ms < ?1",
        order: ("archived_at_ms", "id"), isKeyText: false,
        columns: (
            "archived_at_ms", "length(sealed)", "hex(digest) || ' ' || origin || ' ' || row_id"
        ),
        removal: "DELETE FROM archive WHERE id")

    /// Finds the rows of a portion: after `?2` and `?3`, at most `?4`.
    var selection: String {
        """
        SELECT \(order.first), \(order.key), \(columns.instant), \(columns.bytes),
            \(columns.identity)
        \(portion)
        """
    }

    /// Removes the same.
    var deletion: String { "\(removal) IN (SELECT \(order.key) \(portion))" }

    private var portion: String {
        """
        FROM \(tables)
        WHERE \(condition) AND (\(order.first), \(order.key)) > (?2, ?3)
        ORDER BY \(order.first), \(order.key) LIMIT ?4
        """
    }
}

/// How far the removal of one kind has come.
public struct PruneCursor: Sendable {
    var first: Int64 = .min
    var key: Value = .null

    /// Creates a cursor at the beginning.
    public init() {}
}
