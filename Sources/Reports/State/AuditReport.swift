public import HealthStore
import ClarityScheduler
import Platform

// Entries of the audit log, for people and for programs.

extension AuditRecord: Reported {
    /// An entry that cannot be decrypted has `damaged` instead of its content.
    public static let report = Report<AuditRecord>(
        [
            Column("number", "number of the entry") { $0.number },
            Column("hash", "hash of the entry and of all before it") { $0.hash },
            Column("at", "when it was written") { $0.at },
            Column("damaged", "true if the entry cannot be decrypted") {
                $0.entry == nil ? true : nil
            },
            Column("action", "what was done; none if damaged") { $0.entry?.action.rawValue },
            Column("user", "id of the account") { $0.entry?.user },
            Column("program", "the command that did it; none if damaged") {
                $0.entry?.actor.program
            },
            Column("job", "id of the job") { $0.entry?.actor.job },
            Column("run", "number of the run") { $0.entry?.actor.run },
            Column("attempt", "number of the attempt") { $0.entry?.actor.attempt },
            Column("counts", "number of samples by type; none if damaged") { $0.entry?.counts },
            Column("detail", "more about it") {
                $0.entry.flatMap { $0.detail.isEmpty ? nil : $0.detail }
            },
        ], omitsNulls: true)

    /// One line:
    /// `12  2026-11-20T06:00:00Z  sent  heart_rate 100  (the backend took it)  upload run 7`.
    public var line: String {
        guard let entry else { return "\(number)  \(at)  damaged" }
        var parts = ["\(number)", "\(at)", entry.action.rawValue]
        let counts = entry.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        if !counts.isEmpty { parts.append(counts.joined(separator: ", ")) }
        if !entry.detail.isEmpty { parts.append("(\(entry.detail))") }
        var actor = [entry.actor.job ?? entry.actor.program]
        if let run = entry.actor.run { actor.append("run \(run)") }
        if let attempt = entry.actor.attempt { actor.append("attempt \(attempt)") }
        parts.append(actor.joined(separator: " "))
        return parts.joined(separator: "  ").forReport
    }
}

extension AuditProof: Reported {
    public static let report = Report<AuditProof>(
        [
            Column("sound", "whether the log is complete; this form is that of --verify") {
                $0.broken == nil
            },
            Column("entries", "number of entries") { $0.count },
            Column("pruned", "number of entries that were pruned") { $0.anchor },
            Column("head", "hash of the last entry") { $0.head },
            Column("broken_at", "number of the first entry that is wrong") {
                $0.broken?.number
            },
            Column("reason", "what is wrong with it") { $0.broken?.reason },
        ], omitsNulls: true)

    /// `the log is sound: 12 entries, head 0f...`, or the first break.
    public var line: String {
        if let broken { return broken.line }
        let since = anchor == 0 ? "" : " after \(anchor) that were pruned"
        return
            "the log is sound: \(counted(count, "entries"))\(since), head \(head)"
    }
}

extension AuditProof.Break {
    public var line: String { "the log is broken at entry \(number): \(reason)" }
}
