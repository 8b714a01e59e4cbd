import Database

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
