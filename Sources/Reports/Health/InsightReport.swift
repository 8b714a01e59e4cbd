import HealthModel
public import HealthStore
public import ClarityScheduler
import JSON

/// A stored insight: an entry of the history or the full text.
package struct InsightReport {
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
    let insight: InsightReport
    let syncedAt: Instant?
    // In a list for people only.
    var name = ""
    var firstLine = ""

    package init(insight: InsightReport, syncedAt: Instant?) {
        (self.insight, self.syncedAt) = (insight, syncedAt)
    }
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

// The list of stored insights, and a single insight.

extension HealthReader {
    /// The maximum number of insights in a list.
    public static var mostInsights: Int { 1000 }

    /// Returns insights, latest first, at most `limit` of them.
    ///
    /// - Parameter offset: the number of later ones that are left out.
    public func insights(
        limit: Int = HealthReader.mostInsights, offset: Int = 0
    ) throws(HealthStoreError) -> HealthReport {
        let rows = try store.cache.rows(of: .insights, limit: limit, offset: offset)
        var report = HealthReport()
        report.damaged = rows.damaged
        report.counts = ["insights": Int64(rows.count)]
        let names = form == .table ? InsightNames(try store.cache.insightIDs()) : nil
        let found = rows.map { row in
            var found = StoredInsight(insight: InsightReport(row.row), syncedAt: row.syncedAt)
            guard let names else { return found }
            found.name = DisplayText.cut(DisplayText.line(names[found.insight.id]), to: 40)
            found.firstLine = DisplayText.firstLine(
                found.insight.narrative, width: style.width)
            return found
        }
        report.list(
            found, StoredInsight.report, style,
            absence: offset > 0
                ? "there are no earlier insights"
                : hasBackend
                    ? "no insights are kept yet"
                    : "no insights are kept: a server makes them, and the job file names none")
        report.lines += synced(try store.cache.pullRecord(of: .insights).endedAt)
        return report
    }

    /// Returns an insight by its id, or by a prefix that only this id has; `nil` if there is none.
    public func insight(_ id: String) throws(HealthStoreError) -> HealthReport? {
        guard let row = try store.cache.insight(named: id) else { return nil }
        let insight = InsightReport(row.row)
        var report = HealthReport()
        report.counts = ["insights": 1]
        report.lines =
            insight.lines(style) + ["", line("synced", row.syncedAt)]
        report.page = StoredInsight(insight: insight, syncedAt: row.syncedAt).object
        report.records = [report.page]
        report.cells = [["part", "text"], ["narrative", insight.narrative]]
        report.cells += insight.keyPoints.map { ["key_insight", $0] }
        report.cells += insight.recommendations.map { ["recommendation", $0] }
        return report
    }
}

/// Abbreviates insight ids for a list: each name is a prefix that distinguishes its id from all
/// others.
package struct InsightNames {
    /// The minimum length of a name: a person can hardly tell shorter ones apart.
    static let least = 8

    private var names: [String: String] = [:]

    /// Creates names for `ids`. Each name is a prefix that no other id has, or the whole id.
    package init(_ ids: [String]) {
        let sorted = ids.map { Array($0.unicodeScalars) }.sorted {
            $0.lexicographicallyPrecedes($1)
        }
        for (index, id) in sorted.enumerated() {
            var common = 0
            // The id with the longest common prefix is a neighbour in the sorted list.
            if index > 0 { common = InsightNames.common(id, sorted[index - 1]) }
            if index + 1 < sorted.count {
                common = max(common, InsightNames.common(id, sorted[index + 1]))
            }
            let name = id.prefix(max(InsightNames.least, common + 1))
            names[String(String.UnicodeScalarView(id))] = String(String.UnicodeScalarView(name))
        }
    }

    /// Returns the name of an id, or the id itself if it is unknown.
    subscript(id: String) -> String { names[id] ?? id }

    private static func common(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        zip(a, b).prefix { $0 == $1 }.count
    }
}

// The account's profile, and the archived versions that lost against others.

extension HealthReader {
    /// The maximum number of archived versions in a list.
    private static var archiveLimit: Int { 1000 }

    /// Returns the account's profile; `nil` if it was never pulled.
    public func profile() throws(HealthStoreError) -> HealthReport? {
        guard let (bytes, syncedAt) = try store.cache.profile() else { return nil }
        var report = HealthReport()
        report.counts = ["profile": 1]
        let json = HealthReader.parsed(bytes)
        report.page = json.adding(HealthReader.profileReport.object(syncedAt))
        report.records = [report.page]
        report.cells = [["field", "value"]]
        var rows: [[String]] = []
        if case .object(let members) = json {
            for member in members {
                let texts = member.value.texts
                let value =
                    texts.isEmpty
                    ? member.value.text ?? member.value.line
                    : texts.joined(separator: ", ")
                report.cells.append([member.name, value])
                rows.append([DisplayText.line(member.name), DisplayText.line(value)])
            }
        }
        report.cells.append(["synced_at", "\(syncedAt)"])
        report.lines = style.table(["FIELD", "VALUE"], rows)
        report.lines.append(line("synced", syncedAt))
        return report
    }

    /// Returns the last 1,000 archived versions, last archived first. No value is decrypted.
    ///
    /// - Parameter type: the backend's name of a type; `nil` for all types.
    public func archive(type: String?, since: Instant?) throws(HealthStoreError) -> HealthReport {
        let versions = try store.cache.versions(
            type: type, since: since, limit: HealthReader.archiveLimit)
        var report = HealthReport()
        report.counts = ["versions": Int64(versions.count)]
        report.list(versions, ArchivedVersion.report, style, absence: "no version is archived")
        return report
    }

    /// Returns an archived version with its content; `nil` if no version has this number.
    public func archived(_ number: Int64) throws(HealthStoreError) -> HealthReport? {
        guard let (version, bytes) = try store.cache.version(number) else { return nil }
        let content = HealthReader.parsed(bytes)
        var report = HealthReport()
        report.counts = ["versions": 1]
        report.lines = [
            "\(version.table.rawValue) \(DisplayText.line(version.id)), version of "
                + "\(version.timestamp), archived \(version.archivedAt)"
        ]
        report.lines += content.page.split(separator: "\n").map(String.init)
        let archived = ArchivedContent(version: version, content: content)
        report.page = archived.object
        report.records = [report.page]
        report.cells = ArchivedContent.report.without(["table"]).csv([archived])
        return report
    }

    /// Parses stored JSON; the result is null if the bytes are not JSON.
    private static func parsed(_ bytes: [UInt8]) -> JSON {
        do throws(JSONFault) {
            return try JSONParser.parse(bytes)
        } catch {
            return .null
        }
    }
}

extension HealthReader {
    /// What a profile has besides the backend's own fields.
    package static let profileReport = Report<Instant>([
        Column("synced_at", "when it was fetched; all other fields are the backend's") { $0 }
    ])
}

extension ArchivedVersion: Reported {
    public static let report = Report<ArchivedVersion>([
        Column("number", "number of the version") { $0.number }
            .shown("NUMBER", isNumber: true).csv(),
        Column("table", "`metrics` or `insights`") { $0.table.rawValue }.shown("TABLE").csv(),
        Column("type", "the type") { $0.type }
            .shown("TYPE") { DisplayText.line($0.type) }.csv(),
        Column("id", "id of the entry") { $0.id }.shown("ID") { DisplayText.line($0.id) }.csv(),
        Column("version_of", "time of the entry") { $0.timestamp }
            .shown("VERSION OF") { "\($0.timestamp)" }.csv(),
        Column("archived_at", "when a newer version replaced it") { $0.archivedAt }
            .shown("ARCHIVED") { "\($0.archivedAt)" }.csv(),
    ])
}

/// An archived version with its content.
package struct ArchivedContent: Reported, PrivateValue {
    let version: ArchivedVersion
    let content: JSON

    package static let report = Report<ArchivedContent>(
        ArchivedVersion.report.columns.map { $0.of { $0.version } } + [
            Column("content", "the entry as the backend sent it") { $0.content }
                .csv { $0.content.line }
        ])
}
