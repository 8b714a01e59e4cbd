import Platform

/// The result of checking the whole audit log: intact, or where it is first broken.
public struct AuditProof: Hashable, Sendable {
    /// The first entry at which the log is broken.
    public struct Break: Hashable, Sendable {
        public let number: Int64
        /// The reason, as a sentence about the entry: `it is missing`.
        public let reason: String
    }

    /// The number of stored entries.
    public private(set) var count: Int64 = 0
    /// The last pruned entry; 0 for none.
    public private(set) var anchor: Int64 = 0
    /// The hash of the last entry, as hex digits, to compare with one noted earlier.
    public private(set) var head = ""
    /// The first break; `nil` if the log is intact.
    public private(set) var broken: Break?

    /// How many entries are read at once.
    private static let page = 500

    init(_ log: AuditLog) throws {
        guard let (head, isAuthentic) = try AuditHead.read(log.connection, log.sealer) else {
            note(1, "the head of the log is missing")
            return
        }
        anchor = head.anchorNumber
        self.head = hexEncoded(head.lastHash)
        let last = try walk(log, from: head)
        if !isAuthentic { note(last.number &+ 1, "the head of the log was changed") }
        if isAuthentic, let first = try log.links(after: 0, limit: 1).first?.number, first <= anchor
        {
            note(first, "it was pruned, and is here again")
        }
        if last.number < head.lastNumber {
            note(last.number &+ 1, "it is missing: entries were cut off from the end")
        } else if last.number > head.lastNumber {
            note(head.lastNumber &+ 1, "the head of the log does not know it")
        } else if last.hash != head.lastHash {
            note(last.number, "its hash is not the one that the head of the log has")
        }
        if isAuthentic,
            try CountRow.newest(log.connection, log.sealer) > head.counts.generation
        {
            note(head.lastNumber &+ 1, AuditHead.olderReason)
        }
        if let finding = try log.note.flatMap({
            try AuditMark.finding($0, head, log.connection, log.sealer)
        }) {
            let place = finding.place(after: head.lastNumber)
            note(place.number, place.reason)
        }
        if let number = head.brokenNumber {
            note(number, "the log was found changed here when it was written to")
        }
    }

    /// Follows the chain to its end and notes every break.
    private mutating func walk(
        _ log: AuditLog, from head: AuditHead
    ) throws -> (number: Int64, hash: [UInt8]) {
        var last = (number: head.anchorNumber, hash: head.anchorHash)
        while true {
            let links = try log.links(after: last.number, limit: AuditProof.page)
            for link in links {
                let hash = AuditLog.hash(after: last.hash, link.number, link.at, link.sealed)
                if link.number != last.number &+ 1 {
                    note(last.number &+ 1, "it is missing")
                } else if hash != link.hash {
                    note(link.number, "its hash does not follow from it and the entry before it")
                } else if log.entry(of: link) == nil {
                    note(link.number, "its sealed text does not open")
                }
                last = (link.number, link.hash)
                count += 1
            }
            if links.count < AuditProof.page { return last }
        }
    }

    /// Keeps the break with the lowest number, and of two at the same entry the one found first.
    private mutating func note(_ number: Int64, _ reason: String) {
        if let broken, broken.number <= number { return }
        broken = Break(number: number, reason: reason)
    }
}
