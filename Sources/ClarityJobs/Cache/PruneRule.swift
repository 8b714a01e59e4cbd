import SQLite

/// Which rows of the store are old enough to go, as SQL. `?1` is the instant before which they are.
struct PruneRule {
    /// The tables, with the one that is walked first outside.
    let tables: String
    /// Which rows are walked. What leaves a long stretch of them out has to be found by an index: no
    /// portion counts it.
    var walk = "true"
    /// Which of the walked rows go.
    var condition = "true"
    /// What the rows are walked by: a number, and the key of the row that goes.
    let order: (first: String, key: String)
    /// Whether that key is text.
    let isKeyText: Bool
    /// The instant by which it is old, the bytes that it takes, and what tells it from the others.
    let columns: (instant: String, bytes: String, identity: String)
    /// What removes the rows whose key is among those that follow, and before it what hangs on them.
    let removals: [String]

    /// The rule of a kind; `nil` for what is no table's rows.
    static func rule(for kind: PrunedKind) -> PruneRule? {
        switch kind {
        case .samples: samples
        case .batches: batches
        case .metrics: pulled("metrics")
        case .insights:
            pulled("insights", with: "DELETE FROM missing_texts WHERE insight_id")
        case .versions: versions
        case .analyses: analyses
        case .auditEntries, .files: nil
        }
    }

    /// By when the upload was confirmed, or found to be stored. CROSS keeps the batches outside: from the samples each
    /// portion would pass over all whose values are gone already.
    private static let samples = PruneRule(
        tables: "batches CROSS JOIN outbox ON batch_id = batches.id",
        walk: "finished_at_ms < ?1",
        condition: "outbox.state = 'confirmed' OR outbox.state = 'stored'",
        order: ("batches.id", "outbox.id"), isKeyText: false,
        columns: (
            "finished_at_ms", "length(outbox.sealed)",
            "outbox.kind || ' ' || start_s || ' ' || end_s || ' ' || hex(tag)"
        ),
        removals: ["UPDATE outbox SET sealed = NULL, batch_id = NULL WHERE id"])

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
        removals: ["DELETE FROM batches WHERE id"])

    /// By its own time and by when the backend last listed it; most of what is old is listed still.
    private static func pulled(_ table: String, with dependent: String? = nil) -> PruneRule {
        PruneRule(
            tables: table, walk: "timestamp_ms < ?1", condition: "synced_at_ms < ?1",
            order: ("timestamp_ms", "id"), isKeyText: true,
            columns: ("timestamp_ms", "length(sealed)", "hex(digest) || ' ' || id"),
            removals: (dependent.map { [$0] } ?? []) + ["DELETE FROM \(table) WHERE id"])
    }

    /// By when it was archived.
    private static let versions = PruneRule(
        tables: "archive", walk: "archived_at_ms < ?1",
        order: ("archived_at_ms", "id"), isKeyText: false,
        columns: (
            "archived_at_ms", "length(sealed)", "hex(digest) || ' ' || origin || ' ' || row_id"
        ),
        removals: ["DELETE FROM archive WHERE id"])

    /// By when it ended, and the request for its insight too. The newest week of each form stays,
    /// however it ended, so that it is not sent again, and the latest result, of which an insight
    /// may still be made.
    private static let analyses = PruneRule(
        tables: "analyses",
        condition: """
            finished_at_ms < ?1
                AND last_day < (SELECT max(last_day) FROM analyses AS others
                    WHERE others.form = analyses.form)
                AND id IS NOT (SELECT id FROM analyses
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

    /// Walks a portion, after `?2` and `?3` and at most `?4` rows: where each is, its key, whether it
    /// goes, and its columns.
    var selection: String {
        portion(of: ", \(columns.instant), \(columns.bytes), \(columns.identity)")
    }

    /// Removes those of the same portion that go.
    var deletions: [String] {
        removals.map { "\($0) IN (SELECT row_key FROM (\(portion(of: ""))) WHERE goes)" }
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

/// How far the removal of one kind has come.
public struct PruneCursor: Sendable {
    var first: Int64 = .min
    var key: Value = .null

    /// Creates a cursor at the beginning.
    public init() {}
}
