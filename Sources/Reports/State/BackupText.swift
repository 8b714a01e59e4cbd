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
}

extension StateBackup.Receipt: Reported {
    public static let report = Report<StateBackup.Receipt>(
        Backup.report.columns.map { $0.of { $0.backup } } + [
            Column("key_place", "where the key is that opens the backup") { $0.keyPlace }
        ], omitsNulls: true)
}

extension Backup: Reported {
    public static let report = Report<Backup>(
        [
            Column("name", "name of the backup") { $0.name },
            Column("path", "its path") { $0.path },
            Column("made_at", "when it was made") { $0.manifest.madeAt },
            Column("reason", "why it was made") { $0.manifest.reason.rawValue },
            Column("program", "version of the program that made it") { $0.manifest.program },
            Column("key", "name of the master key that opens it") { $0.manifest.key },
            Column("size_bytes", "size of all files") { $0.manifest.sizeBytes },
            Column("files", "the files") { $0.manifest.files.map(File.init) },
        ], omitsNulls: true)

    private struct File: Reported {
        let file: BackupManifest.File

        static let report = Report<File>([
            Column("name", "name of the file") { $0.file.name },
            Column("version", "version of its schema") { $0.file.version },
            Column("size_bytes", "its size") { $0.file.sizeBytes },
            Column("sha256", "its SHA-256") { $0.file.digest },
        ])
    }
}

/// A backup that cannot be used.
public struct FaultyBackup: Reported {
    let name: String
    let fault: String

    public static let report = Report<FaultyBackup>([
        Column("name", "name of the backup") { $0.name },
        Column("fault", "why it cannot be used") { $0.fault },
    ])
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
            case .sound(let backup): backup.object
            case .faulty(let name, let error):
                FaultyBackup(name: name, fault: error.description).object
            }
        }
    }
}
