public import HealthStore
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
                        + "in \(keyPlace), where a restore wants it")
        }
        if let path = backup.jobFilePath {
            lines.append("the job file is in it too, as \(path); no file that it names is")
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
            Column("job_file", "path of the copy of the job file") { $0.jobFilePath },
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

extension StateRestore.Report {
    /// Lines for people.
    ///
    /// - Parameter hasBackend: whether there is a backend to log in to.
    public func lines(isDryRun: Bool, hasBackend: Bool) -> [String] {
        if isResumed { return resumedLines(isDryRun).map(\.forReport) }
        var lines = passedOver
        for item in items {
            let verb = isDryRun ? "would restore" : "restored"
            let fault = item.fault.map { " (\($0))" } ?? ""
            lines.append("\(verb) \(item.file.name)\(fault) as of \(item.backup.manifest.madeAt)")
        }
        for file in lost {
            lines.append("\(file.name) is damaged (\(file.fault)), and no sound backup has it")
        }
        if aside != nil { lines.append("what was there is kept\(placeText)") }
        guard let health else { return lines.map(\.forReport) }
        lines.append(
            health.keepsLog
                ? "the audit log goes on where it ended"
                : "the audit log's entries since then are lost, and it says so")
        if !health.keepsSession, hasBackend {
            lines.append(
                "the login is the backup's: if the backend does not take it any more, run "
                    + "`clarity-jobs auth login`")
        }
        if health.inDoubt > 0 {
            lines.append(
                "\(health.inDoubt) samples may have been sent since, and the backend would keep "
                    + "both: "
                    + heldText(health))
        }
        return lines.map(\.forReport)
    }

    private func resumedLines(_ isDryRun: Bool) -> [String] {
        var lines = ["finished a restore that was cut short\(placeText)"]
        if isDryRun {
            let rest = pending.joined(separator: " and ")
            let verb = pending.count == 1 ? "is not in its place" : "are not in their places"
            lines = [
                "would finish a restore that was cut short"
                    + (pending.isEmpty ? "" : ": \(rest) \(verb) yet")
            ]
        }
        if let untaken {
            lines.append(
                "the backup `\(untaken)` \(isDryRun ? "would not be" : "was not") taken: run the "
                    + "same command again to go back to it")
        }
        return lines
    }

    private func heldText(_ health: HealthSettling) -> String {
        switch health.onHold {
        case 0: "they are in doubt"
        case health.inDoubt: "they wait for you"
        default: "\(health.onHold) wait for you, the others are in doubt"
        }
    }

    private var placeText: String { aside.map { ", in \($0)" } ?? "" }
}

/// The result of `restore`.
public struct RestoreResult: Reported {
    let restore: StateRestore.Report
    let isDryRun: Bool

    public init(_ restore: StateRestore.Report, isDryRun: Bool) {
        (self.restore, self.isDryRun) = (restore, isDryRun)
    }

    public static let report = Report<RestoreResult>(
        [
            Column("dry_run", "whether nothing was changed") { $0.isDryRun },
            Column("resumed", "whether an interrupted restore was finished") {
                $0.restore.isResumed
            },
            Column("restored", "the restored files") { $0.restore.items.map(Restored.init) },
            Column("not_restored", "damaged files that no backup has") {
                $0.restore.lost.map { Lost(file: $0.name, fault: $0.fault) }
            },
            Column("passed_over", "backups that cannot be used, in words") {
                $0.restore.passedOver
            },
            Column("pending", "files that an interrupted restore has left to do") {
                $0.restore.isResumed ? $0.restore.pending : nil
            },
            Column("not_taken", "the backup that was not restored yet") {
                $0.restore.untaken
            },
            Column("aside", "where the former files are") { $0.restore.aside },
            Column("keeps_log", "whether the audit log continues") {
                $0.restore.health?.keepsLog
            },
            Column("keeps_session", "whether the login stays") {
                $0.restore.health?.keepsSession
            },
            Column("possibly_sent_samples", "number of samples that may have been sent since") {
                $0.restore.health?.inDoubt
            },
            Column("samples_on_hold", "number of these that wait for a person") {
                $0.restore.health?.onHold
            },
        ], omitsNulls: true)

    struct Restored: Reported {
        let item: StateRestore.Item

        static let report = Report<Restored>(
            [
                Column("file", "name of the file") { $0.item.file.name },
                Column("backup", "name of the backup") { $0.item.backup.name },
                Column("as_of", "when the backup was made") { $0.item.backup.manifest.madeAt },
                Column("fault", "what was wrong with the file") { $0.item.fault },
            ], omitsNulls: true)
    }

    struct Lost: Reported {
        let file: String
        let fault: String

        static let report = Report<Lost>([
            Column("file", "name of the file") { $0.file },
            Column("fault", "what is wrong with it") { $0.fault },
        ])
    }
}
