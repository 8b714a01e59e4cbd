package import HealthStore
import ClarityScheduler
import JSON

/// A stored insight: an entry of the history or the full text.
package struct InsightText {
    let id: String
    let madeAt: Instant
    var narrative = ""
    var keyPoints: [String] = []
    var recommendations: [String] = []
    /// The counts that the backend gives for the two lists; `nil` if it gives none.
    var keyPointCount: Int?
    var recommendationCount: Int?
    /// The confidence from 0 to 1; `nil` if the backend gives none.
    var confidence: Double?

    package init(_ row: CachedRow) {
        (id, madeAt) = (row.id, row.timestamp)
        var json = JSON.null
        do throws(JSONFault) {
            json = try JSONParser.parse(row.json, limit: 4 << 20)
        } catch {
            return
        }
        // A full insight may be stored with its envelope.
        if let data = json["data"], case .object = data { json = data }
        narrative = json["narrative"]?.text ?? ""
        keyPoints = json["key_insights"]?.texts ?? []
        recommendations = json["recommendations"]?.texts ?? []
        keyPointCount = json["key_insights_count"]?.double.flatMap { Int(exactly: $0) }
        recommendationCount = json["recommendations_count"]?.double.flatMap { Int(exactly: $0) }
        confidence = json["confidence_score"]?.double
    }

    var confidenceText: String { confidence.map { fixedText($0, decimals: 2) } ?? "" }

    /// Returns the insight as lines for people, without the time of its sync.
    package func lines(_ style: PageStyle) -> [String] {
        var heading = "insight \(DisplayText.line(id)), made \(madeAt)"
        if confidence != nil { heading += ", confidence \(confidenceText)" }
        var lines = [style.heading(heading), ""]
        lines += DisplayText.wrapped(narrative, width: style.width)
        lines += list("Key points", keyPoints, keyPointCount, style)
        lines += list("Recommendations", recommendations, recommendationCount, style)
        return lines
    }

    private func list(
        _ title: String, _ texts: [String], _ count: Int?, _ style: PageStyle
    ) -> [String] {
        guard !texts.isEmpty else {
            guard let count, count > 0 else { return [] }
            return [""]
                + DisplayText.wrapped(
                    "\(title): \(count), of which the backend has sent no text",
                    width: style.width)
        }
        return ["", style.heading(title)]
            + texts.flatMap {
                DisplayText.wrapped($0, width: style.width, first: "- ", indent: 2)
            }
    }
}

/// An insight, and when it was fetched.
package struct StoredInsight: PrivateValue {
    let insight: InsightText
    let syncedAt: Instant?
    // In a list for people only.
    var name = ""
    var firstLine = ""
}

extension StoredInsight: Reported {
    package static let report = Report<StoredInsight>(
        [
            Column("id", "id of the insight") { $0.insight.id }
                .shown("ID") { $0.name }.csv(),
            Column("generated_at", "when the backend made it") { $0.insight.madeAt }
                .shown("MADE") { minute(of: $0.insight.madeAt) }.csv(),
            Column("confidence_score", "confidence from 0 to 1") {
                $0.insight.confidence.map(RoundedNumber.init)
            }.shown("CONFIDENCE", isNumber: true) { $0.insight.confidenceText }.csv(),
            Column("narrative", "its text") { $0.insight.narrative }
                .shown("NARRATIVE") { $0.firstLine }.csv(),
            Column("key_insights", "its key points") { $0.insight.keyPoints },
            Column("recommendations", "its recommendations") { $0.insight.recommendations },
            Column("key_insights_count", "number of key points at the backend") {
                $0.insight.keyPointCount ?? $0.insight.keyPoints.count
            },
            Column("recommendations_count", "number of recommendations at the backend") {
                $0.insight.recommendationCount ?? $0.insight.recommendations.count
            },
            Column("synced_at", "when it was fetched") { $0.syncedAt }.csv(),
        ], name: "insight")

    /// Returns an instant as `2026-11-21 16:26Z`.
    private static func minute(of instant: Instant) -> String {
        "\(instant)".prefix(16).split(separator: "T").joined(separator: " ") + "Z"
    }
}
