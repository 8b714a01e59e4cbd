import HealthModel
public import HealthStore
public import ClarityScheduler
import JSON

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
