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
}
