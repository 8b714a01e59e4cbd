import SQLite

/// The end of the audit log as it was after the last change, noted outside of the database.
///
/// The head in the database is authentic in every copy of the database, an older one too. This note is
/// written after each commit that adds entries, into a file that no backup has: a log that lacks the
/// noted entry was cut. A process that is killed in between leaves a log that is longer than the
/// note, which is no break.
struct AuditMark {
    /// What speaks against a log.
    enum Finding: Hashable {
        /// There is no note, and the database knows of one.
        case missing
        case changed
        /// The log ends before the noted entry; carries the first entry that is missing.
        case cut(Int64)
        /// Another entry has the noted one's number.
        case replaced(Int64)

        /// The entry at which the log is broken, for a log that ends with `last`, and why.
        func place(after last: Int64) -> (number: Int64, reason: String) {
            switch self {
            case .missing: (last &+ 1, "the note of the log's end in `health.lock` is missing")
            case .changed: (last &+ 1, "the note of the log's end in `health.lock` was changed")
            case .cut(let number):
                (number, "it is missing: an older end of the log was put back")
            case .replaced(let number):
                (number, "it is not the entry that was written: another log was put here")
            }
        }
    }

    /// A note as it lies in its file.
    struct Note {
        /// Empty where there is none.
        let content: [UInt8]
        /// Whether the database knows that there is one.
        let isExpected: Bool
    }

    private let number: Int64
    private let hash: [UInt8]

    init(_ head: AuditHead) { (number, hash) = (head.lastNumber, head.lastHash) }

    /// - Returns: `nil` for bytes that the key did not make.
    private init?(_ content: [UInt8], _ sealer: Sealer) {
        var reader = ByteReader(content)
        guard let number = reader.number(Int64.self), let hash = reader.bytes(32) else {
            return nil
        }
        (self.number, self.hash) = (number, hash)
        guard content == self.content(sealer) else { return nil }
    }

    /// Number, hash and a keyed hash over both.
    func content(_ sealer: Sealer) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: number)
        bytes += hash
        var row = RowIdentity("audit_mark")
        row.append(bytes)
        return bytes + sealer.authenticate(row.bytes)
    }

    /// What a note says against the log with this head; `nil` when the log has the noted entry.
    ///
    /// The note has to be read before the head, or while nobody else writes: another process may add
    /// entries at any time.
    static func finding(
        _ note: Note, _ head: AuditHead, _ connection: Connection, _ sealer: Sealer
    ) throws -> Finding? {
        if note.content.isEmpty { return note.isExpected ? .missing : nil }
        guard let mark = AuditMark(note.content, sealer) else { return .changed }
        if head.lastNumber < mark.number { return .cut(head.lastNumber &+ 1) }
        if mark.number < head.anchorNumber { return nil }
        let hash =
            mark.number == head.anchorNumber
            ? head.anchorHash
            : try connection.first(
                "SELECT hash FROM audit WHERE number = ?", .integer(mark.number)
            ) { $0.blob(0) }
        return hash == mark.hash ? nil : .replaced(mark.number)
    }
}

extension AuditHead {
    /// Notes in the head what a note says against the log, so that it stays known.
    mutating func take(_ finding: AuditMark.Finding?) {
        guard let finding else { return }
        brokenNumber = min(brokenNumber ?? .max, finding.place(after: lastNumber).number)
    }
}
