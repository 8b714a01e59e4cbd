public import ClarityJobs
import ClarityScheduler
import ClaritySystem

/// Decides for a restore whether the backend would store a sample twice.
public struct RestoredDoubling {
    private let backend: String?
    private let dialect: String?
    private let route: String?
    private let isHeld: Bool

    /// Creates the decision from the job file's settings; `nil` for those that it does not have.
    public init(backend: String?, dialect: String?, route: String?, isHeld: Bool) {
        self.backend = backend
        self.dialect = dialect
        self.route = route
        self.isHeld = isHeld
    }

    /// Returns whether the backend would store a sample twice, by the job file's dialect or else by
    /// the one that the store remembers. An unknown backend counts as one that would.
    public func callAsFunction(_ store: HealthStore) throws -> StateRestore.Doubling {
        let remembered = try backend.flatMap { try store.dialect(of: $0) }
        let known =
            dialect.flatMap { Dialect.named($0) } ?? remembered.flatMap { Dialect.named($0) }
        let wanted = route.flatMap { UploadRoute(rawValue: $0) }
        let endpoint = known.flatMap { $0.endpoints[wanted ?? $0.standardRoute] }
        return .init(isPossible: !(endpoint?.isIdempotent ?? false), isHeld: isHeld)
    }
}

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
        if health.doubtful > 0 {
            lines.append(
                "\(health.doubtful) samples may have been sent since, and the backend would keep "
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
        switch health.held {
        case 0: "they count as possibly sent"
        case health.doubtful: "they wait for you"
        default: "\(health.held) wait for you, the others count as possibly sent"
        }
    }

    private var placeText: String { aside.map { ", in \($0)" } ?? "" }

    /// Returns an object with `restored`, `not_restored`, `passed_over`, `aside`, `resumed` and
    /// `dry_run`. Health data adds `keeps_log`, `keeps_session`, `doubtful_samples` and
    /// `held_samples`; an interrupted restore that is finished first adds `pending` and
    /// `not_taken`.
    public func json(isRehearsal: Bool) -> String {
        var json = JSONWriter()
        json.object { json in
            json.field("dry_run", isRehearsal)
            json.field("resumed", isResumed)
            json.array("restored") { json in
                for item in items {
                    json.object { json in
                        json.field("file", item.file.name)
                        json.field("backup", item.backup.name)
                        json.field("as_of", item.backup.manifest.madeAt.description)
                        if let fault = item.fault { json.field("fault", fault) }
                    }
                }
            }
            json.array("not_restored") { json in
                for file in lost {
                    json.object { json in
                        json.field("file", file.name)
                        json.field("fault", file.fault)
                    }
                }
            }
            json.array("passed_over") { json in passedOver.forEach { json.element($0) } }
            if isResumed {
                json.array("pending") { json in pending.forEach { json.element($0) } }
            }
            if let untaken { json.field("not_taken", untaken) }
            if let aside { json.field("aside", aside) }
            if let health {
                json.field("keeps_log", health.keepsLog)
                json.field("keeps_session", health.keepsSession)
                json.field("doubtful_samples", number: Int(health.doubtful))
                json.field("held_samples", number: Int(health.held))
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
