public import HealthStore
import ClarityScheduler

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
        let names = form == .table ? InsightNames(try store.cache.insightIDs()) : nil
        let found = rows.map { row in
            var found = StoredInsight(insight: InsightText(row.row), syncedAt: row.syncedAt)
            guard let names else { return found }
            found.name = DisplayText.cut(DisplayText.line(names[found.insight.id]), to: 40)
            found.firstLine = DisplayText.firstLine(
                found.insight.narrative, width: style.width)
            return found
        }
        sheet.list(
            found, StoredInsight.report, style,
            absence: offset == 0 ? "no insights are kept yet" : "there are no earlier insights")
        sheet.lines.append(line("synced", try store.cache.pullRecord(of: .insights).endedAt))
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
        sheet.page = StoredInsight(insight: insight, syncedAt: row.syncedAt).object
        sheet.records = [sheet.page]
        sheet.cells = [["part", "text"], ["narrative", insight.narrative]]
        sheet.cells += insight.keyPoints.map { ["key_insight", $0] }
        sheet.cells += insight.recommendations.map { ["recommendation", $0] }
        return sheet
    }
}
