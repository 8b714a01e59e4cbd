public import HealthStore
public import ClarityScheduler
import JSON

// The account's profile, and the archived versions that lost against others.

extension SheetReader {
    /// The maximum number of archived versions in a list.
    private static var archiveLimit: Int { 1000 }

    /// Returns the account's profile; `nil` if it was never pulled.
    public func profile() throws(HealthStoreError) -> Sheet? {
        guard let (bytes, syncedAt) = try store.cache.profile() else { return nil }
        var sheet = Sheet()
        sheet.counts = ["profile": 1]
        let json = SheetReader.parsed(bytes)
        sheet.page = json.adding(SheetReader.profileReport.object(syncedAt))
        sheet.records = [sheet.page]
        sheet.cells = [["field", "value"]]
        var rows: [[String]] = []
        if case .object(let members) = json {
            for member in members {
                let texts = member.value.texts
                let value =
                    texts.isEmpty
                    ? member.value.text ?? member.value.line
                    : texts.joined(separator: ", ")
                sheet.cells.append([member.name, value])
                rows.append([DisplayText.line(member.name), DisplayText.line(value)])
            }
        }
        sheet.cells.append(["synced_at", "\(syncedAt)"])
        sheet.lines = style.table(["FIELD", "VALUE"], rows)
        sheet.lines.append(line("synced", syncedAt))
        return sheet
    }

    /// Returns the last 1,000 archived versions, last archived first. No value is decrypted.
    ///
    /// - Parameter type: the backend's name of a type; `nil` for all types.
    public func archive(type: String?, since: Instant?) throws(HealthStoreError) -> Sheet {
        let versions = try store.cache.versions(
            type: type, since: since, limit: SheetReader.archiveLimit)
        var sheet = Sheet()
        sheet.counts = ["versions": Int64(versions.count)]
        sheet.list(versions, ArchivedVersion.report, style, absence: "no version is archived")
        return sheet
    }

    /// Returns an archived version with its content; `nil` if no version has this number.
    public func archived(_ number: Int64) throws(HealthStoreError) -> Sheet? {
        guard let (version, bytes) = try store.cache.version(number) else { return nil }
        let content = SheetReader.parsed(bytes)
        var sheet = Sheet()
        sheet.counts = ["versions": 1]
        sheet.lines = [
            "\(version.table.rawValue) \(DisplayText.line(version.id)), version of "
                + "\(version.timestamp), archived \(version.archivedAt)"
        ]
        sheet.lines += content.page.split(separator: "\n").map(String.init)
        let archived = ArchivedContent(version: version, content: content)
        sheet.page = archived.object
        sheet.records = [sheet.page]
        sheet.cells = ArchivedContent.report.without(["table"]).csv([archived])
        return sheet
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

extension SheetReader {
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
