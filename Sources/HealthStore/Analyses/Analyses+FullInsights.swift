public import ClarityScheduler
import Database

// Insights with their full text beside those of the history, which have only a preview.

extension Analyses {
    /// The number of failed requests for a full text after which it is not requested again.
    static var textAsks: Int64 { 5 }

    /// Stores insights of the history by id.
    ///
    /// An insight with its full text stays, unless the backend has a later version. An insight that
    /// was stored under a provisional id takes the id of the row with the same instant.
    public func upsertInsights(
        _ rows: [CachedRow], syncedAt now: Instant
    ) throws(HealthStoreError) -> UpsertCounts {
        guard !rows.isEmpty else { return UpsertCounts() }
        var others: [CachedRow] = []
        let kept = try store.change { connection in
            var kept: Int64 = 0
            for row in rows {
                try name(row, connection)
                let changed = try connection.change(
                    """
                    UPDATE insights SET synced_at_ms = max(synced_at_ms, ?)
                    WHERE id = ? AND type = ? AND timestamp_ms >= ?
                    """, .instant(now), .text(row.id),
                    .text(CachedRow.fullInsight), .instant(row.timestamp))
                if changed > 0 { kept += 1 } else { others.append(row) }
            }
            return kept
        }
        var counts = try store.cache.upsert(others, into: .insights, syncedAt: now)
        counts.unchanged += kept
        return counts
    }

    /// Stores an insight with its full text, in place of its preview.
    ///
    /// A different version is archived; a preview of the same version is not.
    ///
    /// - Parameter request: the request that the insight completes.
    public func keep(
        _ insight: FullInsight, for request: StoredInsightRequest? = nil, at now: Instant
    ) throws(HealthStoreError) {
        try store.change { connection in
            let row = CachedRow(
                id: insight.id, type: CachedRow.fullInsight, timestamp: insight.generatedAt,
                json: insight.json)
            let time = Value.instant(insight.generatedAt)
            let digest = store.cache.digest(row, in: .insights)
            try connection.run(
                """
                INSERT INTO archive
                    (origin, row_id, type, timestamp_ms, digest, sealed, archived_at_ms)
                SELECT 'insights', id, type, timestamp_ms, digest, sealed, ? FROM insights
                WHERE id = ? AND (timestamp_ms <> ? OR (type = ? AND digest <> ?))
                ON CONFLICT DO NOTHING
                """, .instant(now), .text(row.id), time, .text(row.type),
                .blob(digest))
            try store.cache.put(row, digest, into: .insights, at: now, connection)
            try connection.run("DELETE FROM missing_texts WHERE insight_id = ?", .text(insight.id))
            try store.audit.record(
                .read, ["insights": 1], detail: "in full, from the backend", connection)
            if let request { try complete(request, insight.id, at: now, connection) }
        }
    }

    /// Returns the ids of insights without full text, least often requested first, then newest
    /// first.
    ///
    /// It leaves out insights for which the backend had no text five times.
    public func insightsWithoutText(limit: Int) throws(HealthStoreError) -> [String] {
        try store.all(
            """
            SELECT id FROM insights LEFT JOIN missing_texts ON insight_id = id
            WHERE type = ? AND coalesce(asked_count, 0) < ?
            ORDER BY coalesce(asked_count, 0), timestamp_ms DESC, id LIMIT ?
            """, .text(CachedRow.insightPreview), .integer(Analyses.textAsks),
            .integer(Int64(limit))
        ) { $0.text(0) }
    }

    /// Records that the backend had no full text of an insight.
    public func noteMissingText(of insight: String, at now: Instant) throws(HealthStoreError) {
        try store.run(
            """
            INSERT INTO missing_texts (insight_id, asked_count, last_asked_at_ms)
            VALUES (?, 1, ?) ON CONFLICT (insight_id) DO UPDATE SET
                asked_count = missing_texts.asked_count + 1,
                last_asked_at_ms = excluded.last_asked_at_ms
            """, .text(insight), .instant(now))
    }

    /// Returns the first insight since an instant that no request has claimed and that was not
    /// known before this request was first sent, or `nil`.
    public func unclaimedInsight(
        for request: StoredInsightRequest, since start: Instant
    ) throws(HealthStoreError) -> String? {
        try store.first(
            """
            SELECT id FROM insights WHERE timestamp_ms >= ? AND NOT EXISTS
                (SELECT 1 FROM insight_requests WHERE insight_id = insights.id)
                AND instr(coalesce((SELECT known_ids FROM insight_requests WHERE id = ?), ''),
                    json_quote(id)) = 0
            ORDER BY timestamp_ms, id LIMIT 1
            """, .instant(start), .integer(request.id)
        ) { $0.text(0) }
    }

    /// Gives an insight with a provisional id and the row's instant the id of the row.
    private func name(_ row: CachedRow, _ connection: Connection) throws {
        let found = try connection.first(
            """
            SELECT \(SyncedRow.Column.list) FROM insights
            WHERE timestamp_ms = ? AND type = ? AND substr(id, 1, ?) = ?
                AND NOT EXISTS (SELECT 1 FROM insights WHERE id = ? AND type = ?)
            LIMIT 1
            """, .instant(row.timestamp), .text(CachedRow.fullInsight),
            .integer(Int64(StoredInsightRequest.provisional.utf8.count)),
            .text(StoredInsightRequest.provisional), .text(row.id), .text(CachedRow.fullInsight),
            map: SyncedRow.init)
        guard let found else { return }
        let former = found.row.id
        var named = try store.cache.opened(found, in: .insights).row
        named.id = row.id
        try store.cache.put(
            named, store.cache.digest(named, in: .insights), into: .insights, at: found.syncedAt,
            connection)
        try connection.run("DELETE FROM insights WHERE id = ?", .text(former))
        try connection.run(
            "UPDATE insight_requests SET insight_id = ? WHERE insight_id = ?", .text(row.id),
            .text(former))
    }
}
