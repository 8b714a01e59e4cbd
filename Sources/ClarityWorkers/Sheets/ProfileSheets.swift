import ClarityJobs
public import ClarityScheduler
import JSON

// Whose data it is, and the versions that lost against later ones.

extension SheetReader {
    /// The most archived versions that are listed.
    private static var archiveLimit: Int { 1000 }

    /// The account; `nil` before it was pulled.
    public func profile() throws -> Sheet? {
        guard let (bytes, syncedAt) = try store.profile() else { return nil }
        var sheet = Sheet()
        sheet.counts = ["profile": 1]
        let json = SheetReader.parsed(bytes)
        sheet.page = json.adding("synced_at", .text(syncedAt))
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

    /// The archived versions, last archived first; the last 1,000. No value is opened.
    ///
    /// - Parameter type: the backend's name of a type.
    public func archive(type: String?, since: Instant?) throws -> Sheet {
        let versions = try store.archivedVersions(
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

    /// One archived version with its content; `nil` for a number that there is not.
    public func archived(_ number: Int64) throws -> Sheet? {
        guard let (version, bytes) = try store.archivedVersion(number) else { return nil }
        let content = SheetReader.parsed(bytes)
        var sheet = Sheet()
        sheet.counts = ["versions": 1]
        sheet.lines = [
            "\(version.table.rawValue) \(DisplayText.line(version.id)), version of "
                + "\(version.timestamp), archived \(version.archivedAt)"
        ]
        sheet.lines += content.page.split(separator: "\n").map(String.init)
        sheet.page = version.json.adding("content", content)
        sheet.records = [sheet.page]
        sheet.cells = [["number", "type", "id", "version_of", "archived_at", "content"]]
        sheet.cells.append([
            "\(version.number)", version.type, version.id, "\(version.timestamp)",
            "\(version.archivedAt)", content.line,
        ])
        return sheet
    }

    /// JSON as it is kept; null where it is none.
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
