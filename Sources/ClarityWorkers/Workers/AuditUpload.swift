import ClarityJobs
import ClarityScheduler

extension AuditRecord {
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
}

extension AuditEntry {
    fileprivate var sortedCounts: [(key: String, value: Int64)] {
        counts.sorted { $0.key < $1.key }
    }
}
