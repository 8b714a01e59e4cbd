public import ClarityJobs
import ClarityScheduler

// Entries of the audit log, for people and for programs.

extension AuditRecord {
    /// An object with `number`, `hash`, `at` and the entry's content. An entry that cannot be
    /// decrypted has `damaged` instead of its content.
    public var json: String { String(decoding: jsonBytes, as: UTF8.self) }

    var jsonBytes: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.field("number", number: Int(number))
            json.field("hash", hash)
            json.field("at", at.description)
            guard let entry else { return json.field("damaged", true) }
            json.field("action", entry.action.rawValue)
            if let user = entry.user { json.field("user", user) }
            json.field("program", entry.actor.program)
            if let job = entry.actor.job { json.field("job", job) }
            if let run = entry.actor.run { json.field("run", number: Int(run)) }
            if let attempt = entry.actor.attempt {
                json.field("attempt", number: Int(attempt))
            }
            json.object("counts") { json in
                for (kind, count) in entry.sortedCounts {
                    json.field(kind, number: Int(count))
                }
            }
            if !entry.detail.isEmpty { json.field("detail", entry.detail) }
        }
        return json.bytes
    }

    /// The part of the entry that may leave this machine: its kinds and counts, and its position in
    /// the chain. It does not name the account, a job or a run.
    var uploadedBytes: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.field("number", number: Int(number))
            json.field("hash", hash)
            json.field("at", at.description)
            guard let entry else { return json.field("damaged", true) }
            json.field("action", entry.action.rawValue)
            json.object("counts") { json in
                for (kind, count) in entry.sortedCounts {
                    json.field(kind, number: Int(count))
                }
            }
        }
        return json.bytes
    }

    /// One line:
    /// `12  2026-11-20T06:00:00Z  sent  heart_rate 100  (the backend took it)  upload run 7`.
    public var line: String {
        guard let entry else { return "\(number)  \(at)  damaged" }
        var parts = ["\(number)", "\(at)", entry.action.rawValue]
        let counts = entry.sortedCounts.map { "\($0.key) \($0.value)" }
        if !counts.isEmpty { parts.append(counts.joined(separator: ", ")) }
        if !entry.detail.isEmpty { parts.append("(\(entry.detail))") }
        var actor = [entry.actor.job ?? entry.actor.program]
        if let run = entry.actor.run { actor.append("run \(run)") }
        if let attempt = entry.actor.attempt { actor.append("attempt \(attempt)") }
        parts.append(actor.joined(separator: " "))
        return parts.joined(separator: "  ").forReport
    }
}

extension AuditEntry {
    fileprivate var sortedCounts: [(key: String, value: Int64)] {
        counts.sorted { $0.key < $1.key }
    }
}

extension AuditProof {
    /// `the log is sound: 12 entries, head 0f...`, or the first break.
    public var line: String {
        if let broken { return "the log is broken at entry \(broken.number): \(broken.reason)" }
        let since = anchor == 0 ? "" : " after \(anchor) that were pruned"
        return
            "the log is sound: \(count) \(count == 1 ? "entry" : "entries")\(since), head \(head)"
    }

    /// An object with `sound`, `entries`, `pruned` and `head`; for a broken log also `broken_at`
    /// and `reason`.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.field("sound", broken == nil)
            json.field("entries", number: Int(count))
            json.field("pruned", number: Int(anchor))
            json.field("head", head)
            if let broken {
                json.field("broken_at", number: Int(broken.number))
                json.field("reason", broken.reason)
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
