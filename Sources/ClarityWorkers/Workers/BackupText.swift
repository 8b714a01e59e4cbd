public import ClarityJobs
import ClarityScheduler
public import ClaritySystem

// Backups for people and for programs, without any value or key.

extension StateBackup.Receipt {
    /// Lines for people.
    public var lines: [String] {
        let manifest = backup.manifest
        var lines = [
            "backed up \(manifest.files.map(\.name).joined(separator: " and ")), "
                + "\(manifest.sizeBytes) bytes, to \(backup.path)"
        ]
        if let key = manifest.key, let keyPlace {
            lines.append(
                "it opens with the master key \(key) alone, which is not in it; that key is now in "
                    + keyPlace)
        }
        return lines.map(\.forReport)
    }

    /// The backup's object, with `key_place` if it contains health data.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            backup.write(to: &json)
            if let keyPlace { json.field("key_place", keyPlace) }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension Backup {
    fileprivate func write(to json: inout JSONWriter) {
        json.field("name", name)
        json.field("path", path)
        json.field("made_at", manifest.madeAt.description)
        json.field("reason", manifest.reason.rawValue)
        json.field("program", manifest.program)
        if let key = manifest.key { json.field("key", key) }
        json.field("bytes", number: Int(manifest.sizeBytes))
        json.array("files") { json in
            for file in manifest.files {
                json.object { json in
                    json.field("name", file.name)
                    json.field("version", number: file.version)
                    json.field("bytes", number: Int(file.sizeBytes))
                    json.field("sha256", file.digest)
                }
            }
        }
    }
}

/// The backups of a folder, as a table or as objects.
public struct BackupList {
    private let entries: [BackupFolder.Entry]

    /// Creates a list of entries, in the order in which they are shown.
    public init(_ entries: [BackupFolder.Entry]) { self.entries = entries }

    /// A table under a heading; empty if there are no backups.
    public var lines: [String] {
        guard !entries.isEmpty else { return [] }
        var rows = [["BACKUP", "REASON", "FILES", "BYTES", "KEY"]]
        for entry in entries {
            switch entry {
            case .sound(let backup):
                let manifest = backup.manifest
                rows.append([
                    backup.name, manifest.reason.rawValue,
                    manifest.files.map(\.name).joined(separator: ","), "\(manifest.sizeBytes)",
                    manifest.key ?? "-",
                ])
            case .faulty(let name, let error): rows.append([name, error.description])
            }
        }
        let widths = (0..<4).map { column in
            rows.filter { $0.count == 5 }.map { $0[column].count }.max() ?? 0
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                column == row.count - 1
                    ? cell
                    : cell + String(repeating: " ", count: max(0, widths[column] - cell.count) + 2)
            }.joined().forReport
        }
    }

    /// One object for each entry: a backup's members, or `name` and `fault`.
    public var objects: [String] {
        entries.map { entry in
            var json = JSONWriter()
            json.object { json in
                switch entry {
                case .sound(let backup): backup.write(to: &json)
                case .faulty(let name, let error):
                    json.field("name", name)
                    json.field("fault", error.description)
                }
            }
            return String(decoding: json.bytes, as: UTF8.self)
        }
    }
}
