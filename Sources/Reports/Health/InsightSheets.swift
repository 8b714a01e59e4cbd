public import HealthStore
import ClarityScheduler
import JSON

// The list of stored insights, and a single insight.

extension SheetReader {
    /// The maximum number of insights in a list.
    public static var mostInsights: Int { 1000 }

    /// Returns insights, latest first, at most `limit` of them.
    ///
    /// - Parameter offset: the number of later ones that are left out.
    public func insights(
        limit: Int = SheetReader.mostInsights, offset: Int = 0
    ) throws(HealthStoreError) -> Sheet {
        let rows = try store.cache.rows(of: .insights, limit: limit, offset: offset)
        var sheet = Sheet()
        sheet.damaged = rows.damaged
        sheet.counts = ["insights": Int64(rows.count)]
        sheet.cells = [
            ["id", "generated_at", "confidence_score", "narrative", "synced_at"]
        ]
        let names = form == .table ? InsightNames(try store.cache.insightIDs()) : nil
        var shown: [[String]] = []
        for row in rows {
            let insight = InsightText(row.row)
            if let names {
                shown.append([
                    DisplayText.cut(DisplayText.line(names[insight.id]), to: 40),
                    SheetReader.minute(of: insight.madeAt), insight.confidenceText,
                    DisplayText.firstLine(insight.narrative, width: style.width),
                ])
            }
            sheet.records.append(insight.json.adding(["synced_at": .text(row.syncedAt)]))
            sheet.cells.append([
                insight.id, "\(insight.madeAt)",
                insight.confidence.map { roundedJSON($0).line } ?? "",
                insight.narrative, "\(row.syncedAt)",
            ])
        }
        sheet.lines = style.table(["ID", "MADE", "CONFIDENCE", "NARRATIVE"], shown, right: [2])
        if rows.isEmpty {
            sheet.lines = [
                offset == 0 ? "no insights are kept yet" : "there are no earlier insights"
            ]
        }
        sheet.lines.append(line("synced", try store.cache.pullRecord(of: .insights).endedAt))
        sheet.page = .array(sheet.records)
        return sheet
    }

    /// Returns an insight by its id, or by a prefix that only this id has; `nil` if there is none.
    public func insight(_ id: String) throws(HealthStoreError) -> Sheet? {
        guard let row = try store.cache.insight(named: id) else { return nil }
        let insight = InsightText(row.row)
        var sheet = Sheet()
        sheet.counts = ["insights": 1]
        sheet.lines =
            insight.lines(style) + ["", line("synced", row.syncedAt)]
        sheet.page = insight.json.adding(["synced_at": .text(row.syncedAt)])
        sheet.records = [sheet.page]
        sheet.cells = [["part", "text"], ["narrative", insight.narrative]]
        sheet.cells += insight.keyPoints.map { ["key_insight", $0] }
        sheet.cells += insight.recommendations.map { ["recommendation", $0] }
        return sheet
    }

    /// Returns an instant as `2026-11-21 16:26Z`.
    private static func minute(of instant: Instant) -> String {
        "\(instant)".prefix(16).split(separator: "T").joined(separator: " ") + "Z"
    }
}
