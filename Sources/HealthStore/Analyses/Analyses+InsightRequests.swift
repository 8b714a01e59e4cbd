public import ClarityScheduler
import Database

// The requests for insights, recorded before they are sent.

extension Analyses {
    /// Records that an insight of an analysis is to be requested, once for each analysis.
    ///
    /// - Returns: `nil` if one was already requested.
    public func queueInsight(
        of analysis: StoredAnalysis, _ matter: InsightMatter, at now: Instant
    ) throws(HealthStoreError) -> StoredInsightRequest? {
        try store.change { connection in
            // The number is part of the encrypted value's row identity, and may become part of an
            // insight's provisional id: no other request ever gets it.
            let number = try connection.integer(
                """
                INSERT INTO insight_requests (analysis_id, made_at_ms, sealed) VALUES (?, ?, ?)
                ON CONFLICT (analysis_id) DO NOTHING RETURNING id
                """, .integer(analysis.id), .instant(now), .blob([]))
            guard let number else { return nil }
            let encrypted = cipher.encrypt(
                matter.encryptedForm, for: Analyses.identity(number, analysis.id))
            try connection.run(
                "UPDATE insight_requests SET sealed = ? WHERE id = ?", .blob(encrypted),
                .integer(number))
            return try connection.first(
                "SELECT \(StoredInsightRequest.Column.list) FROM insight_requests WHERE id = ?",
                .integer(number), map: StoredInsightRequest.init)
        }
    }

    /// Returns whether an insight of the analysis was already requested.
    public func hasInsightRequest(of analysis: StoredAnalysis) throws(HealthStoreError) -> Bool {
        try store.integer(
            "SELECT 1 FROM insight_requests WHERE analysis_id = ?", .integer(analysis.id))
            != nil
    }

    /// Returns the requests that have not ended, oldest first.
    public func openInsightRequests() throws(HealthStoreError) -> [StoredInsightRequest] {
        try store.all(
            """
            SELECT \(StoredInsightRequest.Column.list) FROM insight_requests
            WHERE state IN ('queued', 'sending', 'generating') ORDER BY id
            """, map: StoredInsightRequest.init)
    }

    /// Returns the content of a request that has not ended; `nil` if it has ended.
    ///
    /// - Throws: `encryption` if the content does not decrypt.
    public func matter(
        of request: StoredInsightRequest
    ) throws(HealthStoreError) -> InsightMatter? {
        try store.access { connection in
            let found = try connection.blob(
                "SELECT sealed FROM insight_requests WHERE id = ? AND sealed IS NOT NULL",
                .integer(request.id))
            return try found.map {
                try cipher.open(
                    $0, for: Analyses.identity(request.id, request.analysis),
                    as: InsightMatter.init(encryptedForm:))
            }
        }
    }

    /// Records that the request is being sent and may create an insight from now on.
    ///
    /// The first send also records the insights known by then, because none of them is the result.
    public func sending(
        _ request: StoredInsightRequest, at now: Instant
    ) throws(HealthStoreError) {
        try settle(
            .insight(request), from: ["queued", "sending"],
            """
            state = 'sending', sends = sends + 1,
                first_sent_at_ms = coalesce(first_sent_at_ms, ?), last_sent_at_ms = ?,
                known_ids = iif(first_sent_at_ms IS NULL,
                    (SELECT json_group_array(id) FROM (SELECT id FROM insights
                        WHERE timestamp_ms >= ? ORDER BY timestamp_ms LIMIT ?) AS known), known_ids)
            """, .instant(now), .instant(now), .instant(now - StoredInsightRequest.clockMargin),
            .integer(StoredInsightRequest.mostKnown))
    }

    /// Records that the last send certainly did not arrive; earlier sends may have arrived.
    public func notArrived(_ request: StoredInsightRequest) throws(HealthStoreError) {
        try settle(
            .insight(request), from: ["sending"],
            """
            state = iif(sends > 1, 'sending', 'queued'), sends = max(0, sends - 1),
                first_sent_at_ms = iif(sends > 1, first_sent_at_ms, NULL)
            """)
    }

    /// Records that the backend is generating the insight under this id.
    public func generating(
        _ request: StoredInsightRequest, insight: String
    ) throws(HealthStoreError) {
        try settle(
            .insight(request), from: ["sending"], "state = 'generating', insight_id = ?",
            .text(insight), record: recordSent)
    }

    /// Records that an insight of the history is the result of the request.
    public func complete(
        _ request: StoredInsightRequest, insight: String, at now: Instant
    ) throws(HealthStoreError) {
        try store.change { connection in try complete(request, insight, at: now, connection) }
    }

    /// The same, within the transaction that stores the insight.
    func complete(
        _ request: StoredInsightRequest, _ insight: String, at now: Instant,
        _ connection: Connection
    ) throws {
        try settle(
            .insight(request), from: ["sending", "generating"],
            "state = 'completed', insight_id = ?, finished_at_ms = ?, sealed = NULL",
            [.text(insight), .instant(now)], connection
        ) { if request.state != .generating { try recordSent($0) } }
    }

    private func recordSent(_ connection: Connection) throws {
        try store.audit.record(.sent, ["analyses": 1], detail: "to make an insight of", connection)
    }

    /// Records that the request ended without an insight.
    ///
    /// - Parameter isUnconfirmed: whether the backend never reported the end.
    public func fail(
        _ request: StoredInsightRequest, isUnconfirmed: Bool = false, reason: String,
        at now: Instant
    ) throws(HealthStoreError) {
        try settle(
            .insight(request), from: ["queued", "sending", "generating"],
            "state = ?, reason = ?, finished_at_ms = ?, sealed = NULL",
            .text(isUnconfirmed ? "unconfirmed" : "failed"), .text(reason), .instant(now))
    }

    private static func identity(_ request: Int64, _ analysis: Int64) -> RowIdentity {
        RowIdentity("insight_requests", number: request, analysis)
    }

    // Insights with their full text beside those of the history, which have only a preview.

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
