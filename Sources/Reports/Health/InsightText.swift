package import HealthStore
import ClarityScheduler
package import JSON

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

    package var json: JSON {
        [
            "id": .string(id), "generated_at": .text(madeAt),
            "confidence_score": confidence.map { roundedJSON($0) } ?? .null,
            "narrative": .string(narrative),
            "key_insights": .array(keyPoints.map { .string($0) }),
            "recommendations": .array(recommendations.map { .string($0) }),
            "key_insights_count": .count(keyPointCount ?? keyPoints.count),
            "recommendations_count": .count(recommendationCount ?? recommendations.count),
        ]
    }

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
