public import HealthModel
public import ClarityScheduler
import Database

/// The movement analyses and the insights about them, recorded before they are requested.
public struct Analyses: Sendable {
    let store: HealthStore

    var cipher: Cipher { store.cipher }

    /// Returns the newest analysis in this form of the week that ends with `last`, or `nil`.
    public func newest(
        of last: CivilDay, as form: AnalysisForm
    ) throws(HealthStoreError) -> StoredAnalysis? {
        try store.first(
            """
            SELECT \(StoredAnalysis.Column.list) FROM analyses
            WHERE last_day = ? AND form = ? ORDER BY id DESC LIMIT 1
            """, .integer(Int64(last.daysSince1970)), .text(form.rawValue),
            map: StoredAnalysis.init)
    }

    /// Records that a week is to be analysed, before anything is sent.
    ///
    /// An unanswered analysis of the same week and form is reused with the present number of known
    /// minutes. Other unanswered analyses become `failed`, since only the newest week counts.
    public func queue(
        of last: CivilDay, as form: AnalysisForm, knownMinutes: Int, at now: Instant
    ) throws(HealthStoreError) -> StoredAnalysis {
        try store.change { connection in
            let day = Value.integer(Int64(last.daysSince1970))
            try connection.run(
                """
                UPDATE analyses SET state = 'failed', finished_at_ms = ?,
                    reason = 'another week took its place before it was answered'
                WHERE state IN ('queued', 'sending') AND (last_day <> ? OR form <> ?)
                """, .instant(now), day, .text(form.rawValue))
            let changed = try connection.change(
                """
                UPDATE analyses SET known_minutes = ?
                WHERE state IN ('queued', 'sending') AND last_day = ? AND form = ?
                """, .integer(Int64(knownMinutes)), day, .text(form.rawValue))
            if changed == 0 {
                try connection.run(
                    """
                    INSERT INTO analyses (form, last_day, known_minutes, made_at_ms)
                    VALUES (?, ?, ?, ?)
                    """, .text(form.rawValue), day, .integer(Int64(knownMinutes)),
                    .instant(now))
            }
            let analysis = try connection.first(
                """
                SELECT \(StoredAnalysis.Column.list) FROM analyses
                WHERE state IN ('queued', 'sending') AND last_day = ? AND form = ?
                """, day, .text(form.rawValue), map: StoredAnalysis.init)
            guard let analysis else {
                throw DatabaseError(code: 1, message: "a row that was just written is gone")
            }
            return analysis
        }
    }

    /// Records that the analysis is being sent and may arrive from now on.
    public func sending(_ analysis: StoredAnalysis) throws(HealthStoreError) {
        try settle(
            .analysis(analysis), from: ["queued", "sending"],
            "state = 'sending', sends = sends + 1")
    }

    /// Records that the last send certainly did not arrive.
    public func notArrived(_ analysis: StoredAnalysis) throws(HealthStoreError) {
        try settle(
            .analysis(analysis), from: ["sending"],
            "state = iif(sends > 1, 'sending', 'queued'), sends = max(0, sends - 1)")
    }

    /// Records how the backend answered the sends so far.
    public func noteAnswers(
        _ answers: String, to analysis: StoredAnalysis
    ) throws(HealthStoreError) {
        try settle(.analysis(analysis), from: ["sending"], "last_word = ?", .text(answers))
    }

    /// Records that the backend accepted the analysis and is processing it.
    public func accept(
        _ analysis: StoredAnalysis, processingID: String, at now: Instant
    ) throws(HealthStoreError) {
        try settle(
            .analysis(analysis), from: ["sending"],
            "state = 'accepted', processing_id = ?, accepted_at_ms = ?",
            .text(processingID), .instant(now)
        ) { try recordSent(analysis, $0) }
    }

    /// Records the result of the analysis.
    ///
    /// - Parameter processingID: the backend's id of the analysis.
    public func complete(
        _ analysis: StoredAnalysis, processingID: String, _ result: AnalysisResult, at now: Instant
    ) throws(HealthStoreError) {
        let encrypted = cipher.encrypt(result.encryptedForm, for: Analyses.identity(of: analysis))
        try settle(
            .analysis(analysis), from: ["sending", "accepted"],
            "state = 'completed', processing_id = ?, finished_at_ms = ?, sealed = ?",
            .text(processingID), .instant(now), .blob(encrypted)
        ) { connection in
            if analysis.state != .accepted { try recordSent(analysis, connection) }
            try store.audit.record(.read, ["analyses": 1], detail: "from the backend", connection)
        }
    }

    /// Records that the analysis ended without a result.
    ///
    /// - Parameter isUnconfirmed: whether the backend never reported the end.
    public func fail(
        _ analysis: StoredAnalysis, isUnconfirmed: Bool = false, reason: String, at now: Instant
    ) throws(HealthStoreError) {
        try settle(
            .analysis(analysis), from: ["queued", "sending", "accepted"],
            "state = ?, reason = ?, finished_at_ms = ?",
            .text(isUnconfirmed ? "unconfirmed" : "failed"), .text(reason),
            .instant(now))
    }

    /// Returns the analyses that the backend is processing, oldest first.
    public func open() throws(HealthStoreError) -> [StoredAnalysis] {
        try store.all(
            """
            SELECT \(StoredAnalysis.Column.list) FROM analyses WHERE state = 'accepted' ORDER BY id
            """, map: StoredAnalysis.init)
    }

    /// Returns the completed analysis of the latest week, or `nil` if there is none.
    ///
    /// Of several analyses of that week it is the newest.
    ///
    /// - Throws: `encryption` if the result does not decrypt.
    public func latestResult()
        throws(HealthStoreError) -> (analysis: StoredAnalysis, result: AnalysisResult)?
    {
        try store.access { connection in
            let found = try connection.first(
                """
                SELECT \(StoredAnalysis.Column.list), sealed FROM analyses
                WHERE state = 'completed' AND sealed IS NOT NULL
                ORDER BY last_day DESC, id DESC LIMIT 1
                """
            ) { row in
                StoredAnalysis(row).map {
                    ($0, row.blob(Int32(StoredAnalysis.Column.allCases.count)))
                }
            }
            guard let (analysis, encrypted) = found else { return nil }
            return (analysis, try open(encrypted, of: analysis))
        }
    }

    /// Updates an analysis or an insight request that is in one of the states.
    ///
    /// One in another state stays as it is: another process has settled it meanwhile.
    ///
    /// - Parameter record: records the change in the audit log; called only if there is one.
    func settle(
        _ work: OpenWork, from states: [String], _ settings: String, _ values: Value...,
        record: (Connection) throws -> Void = { _ in }
    ) throws(HealthStoreError) {
        try store.change { connection in
            try settle(work, from: states, settings, values, connection, record: record)
        }
    }

    /// Does the same within a transaction.
    func settle(
        _ work: OpenWork, from states: [String], _ settings: String, _ values: [Value],
        _ connection: Connection, record: (Connection) throws -> Void
    ) throws {
        let (table, id) = work.row
        let names = states.map { "'\($0)'" }.joined(separator: ", ")
        let changed = try connection.change(
            "UPDATE \(table) SET \(settings) WHERE id = ? AND state IN (\(names))",
            with: values + [.integer(id)])
        if changed > 0 { try record(connection) }
    }

    private func recordSent(_ analysis: StoredAnalysis, _ connection: Connection) throws {
        try store.audit.record(
            .sent, ["step_minutes": Int64(analysis.knownMinutes)], detail: "to be analysed",
            connection)
    }

    /// Decrypts the result of an analysis.
    func open(
        _ encrypted: [UInt8], of analysis: StoredAnalysis
    ) throws(EncryptionError) -> AnalysisResult {
        try cipher.open(
            encrypted, for: Analyses.identity(of: analysis), as: AnalysisResult.init(encryptedForm:)
        )
    }

    private static func identity(of analysis: StoredAnalysis) -> RowIdentity {
        RowIdentity("analyses", number: analysis.id, Int64(analysis.lastDay.daysSince1970))
    }
}

extension HealthStore {
    /// The movement analyses.
    public var analyses: Analyses { Analyses(store: self) }
}

// The analyses with their times and results, for people and programs.

/// An analysis with its times and its result.
public struct AnalysisEntry: Sendable, PrivateValue {
    public let analysis: StoredAnalysis
    public let madeAt: Instant
    public let finishedAt: Instant?
    /// Why it ended without a result.
    public let reason: String?
    /// The id of the insight about it.
    public let insightID: String?
    /// The result; `nil` if it has none.
    public let result: AnalysisResult?
}

/// Analyses in order, and which of the requested ones are damaged.
public struct AnalysisEntries: Sendable {
    public internal(set) var entries: [AnalysisEntry] = []
    /// The analyses whose results do not decrypt; they are left out of `entries`.
    public internal(set) var damaged: [EncryptionError] = []
}

extension Analyses {
    /// Returns the analyses of the latest weeks, latest first; of one week the newest first.
    ///
    /// - Parameters:
    ///   - days: the last days of the weeks.
    ///   - number: returns only the analysis with this number.
    ///   - limit: the maximum number of analyses read, including damaged ones.
    public func entries(
        ofWeeksEndingIn days: ClosedRange<CivilDay>, number: Int64? = nil, limit: Int
    ) throws(HealthStoreError) -> AnalysisEntries {
        try store.access { connection in
            let columns = Int32(StoredAnalysis.Column.allCases.count)
            let rows = try connection.all(
                """
                SELECT \(StoredAnalysis.Column.list), made_at_ms, finished_at_ms, reason, sealed,
                    (SELECT insight_id FROM insight_requests
                        WHERE analysis_id = analyses.id AND insight_requests.state = 'completed')
                FROM analyses WHERE last_day BETWEEN ? AND ? AND id = coalesce(?3, id)
                ORDER BY last_day DESC, id DESC LIMIT ?
                """, .integer(Int64(days.lowerBound.daysSince1970)),
                .integer(Int64(days.upperBound.daysSince1970)),
                number.map { .integer($0) } ?? .null, .integer(Int64(limit))
            ) { row in
                StoredAnalysis(row).map {
                    (
                        analysis: $0, madeAt: row.instant(columns),
                        finishedAt: row.optionalInstant(columns + 1),
                        reason: row.optionalText(columns + 2),
                        encrypted: row.blob(columns + 3),
                        insight: row.optionalText(columns + 4)
                    )
                }
            }
            var found = AnalysisEntries()
            for row in rows {
                do throws(EncryptionError) {
                    var result: AnalysisResult?
                    if !row.encrypted.isEmpty { result = try open(row.encrypted, of: row.analysis) }
                    found.entries.append(
                        AnalysisEntry(
                            analysis: row.analysis, madeAt: row.madeAt, finishedAt: row.finishedAt,
                            reason: row.reason, insightID: row.insight, result: result))
                } catch {
                    found.damaged.append(error)
                }
            }
            return found
        }
    }
}
