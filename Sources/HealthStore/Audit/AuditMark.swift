import Database

/// The end of the audit log after the last change, noted outside the database.
///
/// The head in the database is authentic in every copy of the database, including older ones. This
/// note is written after each commit that adds entries, into a file that is in no backup. So a log
/// without the noted entry was cut. A process that is killed between commit and note leaves a log
/// that is longer than the note, which is no break.
struct AuditMark {
    /// What contradicts a log.
    enum Finding: Hashable {
        /// There is no note, although the database expects one.
        case missing
        case changed
        /// The log ends before the noted entry; carries the number of the first missing entry.
        case cut(Int64)
        /// Another entry has the number of the noted one.
        case replaced(Int64)
        /// The head knows fewer writes of counts than were noted.
        case older

        /// Returns the entry at which a log that ends with `last` is broken, and why.
        func place(after last: Int64) -> (number: Int64, reason: String) {
            switch self {
            case .missing: (last &+ 1, "the note of the log's end in `health.lock` is missing")
            case .changed: (last &+ 1, "the note of the log's end in `health.lock` was changed")
            case .cut(let number):
                (number, "it is missing: an older end of the log was put back")
            case .replaced(let number):
                (number, "it is not the entry that was written: another log was put here")
            case .older: (last &+ 1, AuditHead.olderReason)
            }
        }
    }

    /// The content of the note's file.
    struct Note {
        /// The stored bytes; empty if there is no note.
        let content: [UInt8]
        /// Whether the database expects a note.
        let isExpected: Bool
    }

    private let number: Int64
    private let hash: [UInt8]
    /// `AuditHead.Counts.generation`; 0 in the note of an earlier version, which is shorter.
    private let generation: Int64

    init(_ head: AuditHead) {
        (number, hash) = (head.lastNumber, head.lastHash)
        generation = head.counts.generation
    }

    /// - Returns: `nil` for bytes that were not made with the key.
    private init?(_ content: [UInt8], _ sealer: Sealer) {
        var reader = ByteReader(content)
        guard let number = reader.number(Int64.self), let hash = reader.bytes(32) else {
            return nil
        }
        (self.number, self.hash) = (number, hash)
        generation = content.count > 72 ? reader.number(Int64.self) ?? 0 : 0
        guard content == self.content(sealer) else { return nil }
    }

    /// Returns the number, the hash, the generation, and a keyed hash over them.
    func content(_ sealer: Sealer) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: number)
        bytes += hash
        if generation > 0 { bytes.append(littleEndian: generation) }
        var row = RowIdentity("audit_mark")
        row.append(bytes)
        return bytes + sealer.authenticate(row.bytes)
    }

    /// Compares a note with the log that has this head; returns `nil` if the log has the noted
    /// entry.
    ///
    /// Read the note before the head, or while no other process writes: another process may append
    /// entries at any time.
    static func finding(
        _ note: Note, _ head: AuditHead, _ connection: Connection, _ sealer: Sealer
    ) throws -> Finding? {
        if note.content.isEmpty { return note.isExpected ? .missing : nil }
        guard let mark = AuditMark(note.content, sealer) else { return .changed }
        if head.lastNumber < mark.number { return .cut(head.lastNumber &+ 1) }
        if head.counts.generation < mark.generation { return .older }
        if mark.number < head.anchorNumber { return nil }
        let hash =
            mark.number == head.anchorNumber
            ? head.anchorHash
            : try connection.blob(
                "SELECT hash FROM audit WHERE number = ?", .integer(mark.number))
        return hash == mark.hash ? nil : .replaced(mark.number)
    }
}

extension AuditHead {
    static let olderReason =
        "the head of the log is older than the counts of the rows: an older head was put back"

    /// Records a finding in the head, so that it is not forgotten.
    mutating func take(_ finding: AuditMark.Finding?) {
        guard let finding else { return }
        brokenNumber = min(brokenNumber ?? .max, finding.place(after: lastNumber).number)
    }
}
