public import HealthModel
public import ClarityScheduler
import Database

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
    public internal(set) var damaged: [SealingError] = []
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
                        sealed: row.blob(columns + 3),
                        insight: row.optionalText(columns + 4)
                    )
                }
            }
            var found = AnalysisEntries()
            for row in rows {
                do throws(SealingError) {
                    var result: AnalysisResult?
                    if !row.sealed.isEmpty { result = try open(row.sealed, of: row.analysis) }
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
