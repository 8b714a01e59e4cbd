public import HealthStore
import ClarityScheduler
import Platform
public import JSON

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

    /// Returns an object with `restored`, `not_restored`, `passed_over`, `aside`, `resumed` and
    /// `dry_run`. Health data adds `keeps_log`, `keeps_session`, `possibly_sent_samples` and
    /// `samples_on_hold`; an interrupted restore that is finished first adds `pending` and
    /// `not_taken`.
    public func object(isRehearsal: Bool) -> JSON {
        let restored = items.map { item -> JSON in
            let object: JSON = [
                "file": .string(item.file.name), "backup": .string(item.backup.name),
                "as_of": .text(item.backup.manifest.madeAt), "fault": .text(item.fault),
            ]
            return object.withoutNulls
        }
        let lost = lost.map { file -> JSON in
            ["file": .string(file.name), "fault": .string(file.fault)]
        }
        let object: JSON = [
            "dry_run": .bool(isRehearsal), "resumed": .bool(isResumed),
            "restored": .array(restored), "not_restored": .array(lost),
            "passed_over": .array(passedOver.map { .string($0) }),
            "pending": isResumed ? .array(pending.map { .string($0) }) : .null,
            "not_taken": .text(untaken), "aside": .text(aside),
            "keeps_log": health.map { .bool($0.keepsLog) } ?? .null,
            "keeps_session": health.map { .bool($0.keepsSession) } ?? .null,
            "possibly_sent_samples": .integer(optional: health?.possiblySent),
            "samples_on_hold": .integer(optional: health?.onHold),
        ]
        return object.withoutNulls
    }
}
