public import HealthStore
import ClarityScheduler
import Platform
public import JSON

// Entries of the audit log, for people and for programs.

extension AuditRecord {
    /// An object with `number`, `hash`, `at` and the entry's content. An entry that cannot be
    /// decrypted has `damaged` instead of its content.
    public var object: JSON {
        let head: JSON = ["number": .integer(number), "hash": .string(hash), "at": .text(at)]
        guard let entry else { return head.adding(["damaged": true]) }
        return head.adding([
            "action": .string(entry.action.rawValue), "user": .text(entry.user),
            "program": .string(entry.actor.program), "job": .text(entry.actor.job),
            "run": .integer(optional: entry.actor.run),
            "attempt": .integer(optional: entry.actor.attempt), "counts": .counts(entry.counts),
            "detail": entry.detail.isEmpty ? .null : .string(entry.detail),
        ]).withoutNulls
    }

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

extension AuditProof {
    /// `the log is sound: 12 entries, head 0f...`, or the first break.
    public var line: String {
        if let broken { return "the log is broken at entry \(broken.number): \(broken.reason)" }
        let since = anchor == 0 ? "" : " after \(anchor) that were pruned"
        return
            "the log is sound: \(counted(count, "entries"))\(since), head \(head)"
    }

    /// An object with `sound`, `entries`, `pruned` and `head`; for a broken log also `broken_at`
    /// and `reason`.
    public var object: JSON {
        let object: JSON = [
            "sound": .bool(broken == nil), "entries": .integer(count), "pruned": .integer(anchor),
            "head": .string(head), "broken_at": .integer(optional: broken?.number),
            "reason": .text(broken?.reason),
        ]
        return object.withoutNulls
    }
}
