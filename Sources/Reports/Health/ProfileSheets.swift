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
        sheet.page = json.adding(["synced_at": .text(syncedAt)])
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
        sheet.cells = [["number", "table", "type", "id", "version_of", "archived_at"]]
        for version in versions {
            sheet.cells.append([
                "\(version.number)", version.table.rawValue, version.type, version.id,
                "\(version.timestamp)", "\(version.archivedAt)",
            ])
            sheet.records.append(version.json)
        }
        sheet.lines = style.table(
            ["NUMBER", "TABLE", "TYPE", "ID", "VERSION OF", "ARCHIVED"],
            sheet.cells.dropFirst().map { $0.map(DisplayText.line) }, right: [0])
        if versions.isEmpty { sheet.lines = ["no version is archived"] }
        sheet.page = .array(sheet.records)
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
        sheet.page = version.json.adding(["content": content])
        sheet.records = [sheet.page]
        sheet.cells = [["number", "type", "id", "version_of", "archived_at", "content"]]
        sheet.cells.append([
            "\(version.number)", version.type, version.id, "\(version.timestamp)",
            "\(version.archivedAt)", content.line,
        ])
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

extension ArchivedVersion {
    fileprivate var json: JSON {
        [
            "number": .integer(number), "table": .string(table.rawValue), "type": .string(type),
            "id": .string(id), "version_of": .text(timestamp), "archived_at": .text(archivedAt),
        ]
    }
}
