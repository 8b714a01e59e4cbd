import Platform
import ClarityScheduler
import Database

/// The audit log of a connection: encrypted entries, each chained to the one before it.
struct AuditLog {
    let connection: Connection
    let sealer: Sealer
    /// The note of the log's end; `nil` for a copy, which has none.
    var note: AuditMark.Note?

    /// Returns the hash of an entry.
    ///
    /// It covers everything that is stored of the entry and, through the former hash, all entries
    /// before it.
    static func hash(
        after former: [UInt8], _ number: Int64, _ at: Int64, _ sealed: [UInt8]
    ) -> [UInt8] {
        var content = RowIdentity("clarity-jobs audit 1")
        content.append(former)
        content.append(number)
        content.append(at)
        content.append(sealed)
        return blake2b(content.bytes)
    }

    /// Returns the row identity for which an entry is encrypted.
    static func row(_ number: Int64, _ at: Int64) -> RowIdentity {
        RowIdentity("audit", number: number, at)
    }

    /// Appends an entry; call it in the transaction of the change that the entry records.
    func append(_ entry: AuditEntry, at instant: Instant) throws {
        var head = try AuditHead.current(connection, sealer)
        head.take(try note.flatMap { try AuditMark.finding($0, head, connection, sealer) })
        let number = head.lastNumber &+ 1
        let at = instant.millisecondsSince1970
        let sealed = sealer.seal(entry.sealedForm, for: AuditLog.row(number, at))
        let hash = AuditLog.hash(after: head.lastHash, number, at, sealed)
        try connection.run(
            "INSERT INTO audit (number, at_ms, sealed, hash) VALUES (?, ?, ?, ?)",
            .integer(number), .integer(at), .blob(sealed), .blob(hash))
        (head.lastNumber, head.lastHash) = (number, hash)
        try head.write(connection, sealer)
    }

    /// Returns the entries after `number` and not before `since`, in order, at most `limit`.
    func records(after number: Int64, since: Instant?, limit: Int) throws -> [AuditRecord] {
        try links(after: number, since: since, limit: limit).map { link in
            AuditRecord(
                number: link.number, at: Instant(millisecondsSince1970: link.at),
                hash: hexEncoded(link.hash), entry: entry(of: link))
        }
    }

    /// A stored entry.
    struct Link {
        let number: Int64
        let at: Int64
        let sealed: [UInt8]
        let hash: [UInt8]
    }

    func links(after number: Int64, since: Instant? = nil, limit: Int) throws -> [Link] {
        try connection.all(
            """
            SELECT number, at_ms, sealed, hash FROM audit WHERE number > ? AND at_ms >= ?
            ORDER BY number LIMIT ?
            """,
            .integer(number), .integer(since?.millisecondsSince1970 ?? .min),
            .integer(Int64(limit))
        ) {
            Link(
                number: $0.integer(0), at: $0.integer(1), sealed: $0.blob(2), hash: $0.blob(3))
        }
    }

    /// Decrypts an entry; `nil` if that fails.
    func entry(of link: Link) -> AuditEntry? {
        sealer.opened(link.sealed, for: AuditLog.row(link.number, link.at))
            .flatMap(AuditEntry.init(sealedForm:))
    }

    /// Returns the owner of the data, or `nil` if there is none or the value does not decrypt.
    func user() throws -> String? {
        try connection.openedValue(of: "owner", sealer).map { String(decoding: $0, as: UTF8.self) }
    }
}
