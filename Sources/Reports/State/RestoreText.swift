public import HealthStore
import ClarityScheduler
import Platform

extension StateRestore.Report {
    /// Lines for people.
    public func lines(isRehearsal: Bool) -> [String] {
        if isResumed { return resumedLines(isRehearsal).map(\.forReport) }
        var lines = passedOver
        for item in items {
            let verb = isRehearsal ? "would restore" : "restored"
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
        if !health.keepsSession {
            lines.append(
                "the login is the backup's: if the backend does not take it any more, run "
                    + "`clarity-jobs auth login`")
        }
        if health.possiblySent > 0 {
            lines.append(
                "\(health.possiblySent) samples may have been sent since, and the backend would keep "
                    + "both: "
                    + heldText(health))
        }
        return lines.map(\.forReport)
    }

    private func resumedLines(_ isRehearsal: Bool) -> [String] {
        var lines = ["finished a restore that was cut short\(placeText)"]
        if isRehearsal {
            let rest = pending.joined(separator: " and ")
            let verb = pending.count == 1 ? "is not in its place" : "are not in their places"
            lines = [
                "would finish a restore that was cut short"
                    + (pending.isEmpty ? "" : ": \(rest) \(verb) yet")
            ]
        }
        if let untaken {
            lines.append(
                "the backup `\(untaken)` \(isRehearsal ? "would not be" : "was not") taken: run the "
                    + "same command again to go back to it")
        }
        return lines
    }

    private func heldText(_ health: HealthSettling) -> String {
        switch health.onHold {
        case 0: "they count as possibly sent"
        case health.possiblySent: "they wait for you"
        default: "\(health.onHold) wait for you, the others count as possibly sent"
        }
    }

    private var placeText: String { aside.map { ", in \($0)" } ?? "" }
}

/// The result of `restore`.
public struct RestoreResult: Reported {
    let restore: StateRestore.Report
    let isRehearsal: Bool

    public init(_ restore: StateRestore.Report, isRehearsal: Bool) {
        (self.restore, self.isRehearsal) = (restore, isRehearsal)
    }

    public static let report = Report<RestoreResult>(
        [
            Column("dry_run", "whether nothing was changed") { $0.isRehearsal },
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
                $0.restore.health?.possiblySent
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
