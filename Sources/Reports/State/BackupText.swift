public import HealthStore
import ClarityScheduler
public import Platform
public import JSON

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
                hasOwnKey
                    ? "it opens with \(keyPlace), which is not in it and wraps the account's key "
                        + "\(key), which is"
                    : "it opens with the master key \(key) alone, which is not in it; that key is now "
                        + "in \(keyPlace)")
        }
        return lines.map(\.forReport)
    }

    /// The backup's object, with `key_place` if it contains health data.
    public var object: JSON {
        backup.object.adding(["key_place": .text(keyPlace)]).withoutNulls
    }
}

extension Backup {
    fileprivate var object: JSON {
        let files = manifest.files.map { file -> JSON in
            [
                "name": .string(file.name), "version": .count(file.version),
                "size_bytes": .integer(file.sizeBytes), "sha256": .string(file.digest),
            ]
        }
        return [
            "name": .string(name), "path": .string(path), "made_at": .text(manifest.madeAt),
            "reason": .string(manifest.reason.rawValue), "program": .string(manifest.program),
            "key": .text(manifest.key), "size_bytes": .integer(manifest.sizeBytes),
            "files": .array(files),
        ]
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
    public var objects: [JSON] {
        entries.map { entry in
            switch entry {
            case .sound(let backup): backup.object.withoutNulls
            case .faulty(let name, let error):
                ["name": .string(name), "fault": .string(error.description)]
            }
        }
    }
}
