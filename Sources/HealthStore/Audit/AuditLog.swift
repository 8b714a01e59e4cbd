import Platform
public import ClarityScheduler
import Database

/// The audit log of a connection: encrypted entries, each chained to the one before it.
struct AuditLog {
    let connection: Connection
    let cipher: Cipher
    /// The note of the log's end; `nil` for a copy, which has none.
    var note: AuditMark.Note?

    /// Returns the hash of an entry.
    ///
    /// It covers everything that is stored of the entry and, through the former hash, all entries
    /// before it.
    static func hash(
        after former: [UInt8], _ number: Int64, _ at: Int64, _ encrypted: [UInt8]
    ) -> [UInt8] {
        blake2b(RowIdentity("clarity-jobs audit 1", former, number, at, encrypted).bytes)
    }

    /// Returns the row identity for which an entry is encrypted.
    static func row(_ number: Int64, _ at: Int64) -> RowIdentity {
        RowIdentity("audit", number: number, at)
    }

    /// Appends an entry; call it in the transaction of the change that the entry records.
    func append(_ entry: AuditEntry, at instant: Instant) throws {
        var head = try AuditHead.current(connection, cipher)
        head.take(try note.flatMap { try AuditMark.finding($0, head, connection, cipher) })
        let number = head.lastNumber &+ 1
        let at = instant.millisecondsSince1970
        let encrypted = cipher.encrypt(entry.encryptedForm, for: AuditLog.row(number, at))
        let hash = AuditLog.hash(after: head.lastHash, number, at, encrypted)
        try connection.run(
            "INSERT INTO audit (number, at_ms, sealed, hash) VALUES (?, ?, ?, ?)",
            .integer(number), .integer(at), .blob(encrypted), .blob(hash))
        (head.lastNumber, head.lastHash) = (number, hash)
        try head.write(connection, cipher)
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
        let encrypted: [UInt8]
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
            Link(number: $0.integer(0), at: $0.integer(1), encrypted: $0.blob(2), hash: $0.blob(3))
        }
    }

    /// Decrypts an entry; `nil` if that fails.
    func entry(of link: Link) -> AuditEntry? {
        cipher.opened(link.encrypted, for: AuditLog.row(link.number, link.at))
            .flatMap(AuditEntry.init(encryptedForm:))
    }

    /// Returns the owner of the data, or `nil` if there is none or the value does not decrypt.
    func user() throws -> String? {
        try connection.openedValue(of: "owner", cipher).map { String(decoding: $0, as: UTF8.self) }
    }
}

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
    static let foundChanged = "the log was found changed here when it was written to"

    init(_ log: AuditLog) throws {
        guard let (head, isAuthentic) = try AuditHead.read(log.connection, log.cipher) else {
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
            try CountRow.newest(log.connection, log.cipher) > head.counts.generation
        {
            note(head.lastNumber &+ 1, AuditHead.olderReason)
        }
        if let finding = try log.note.flatMap({
            try AuditMark.finding($0, head, log.connection, log.cipher)
        }) {
            let place = finding.place(after: head.lastNumber)
            note(place.number, place.reason)
        }
        if let number = head.brokenNumber {
            note(number, AuditProof.foundChanged)
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
                let hash = AuditLog.hash(after: last.hash, link.number, link.at, link.encrypted)
                if link.number != last.number &+ 1 {
                    note(last.number &+ 1, "it is missing")
                } else if hash != link.hash {
                    note(link.number, "its hash does not follow from it and the entry before it")
                } else if log.entry(of: link) == nil {
                    note(link.number, "its encrypted text does not open")
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

/// An action on health data, or on the access to it.
public enum AuditAction: String, CaseIterable, Sendable {
    /// Data arrived on this machine, from a source or from the backend.
    case read
    /// Data went to the backend.
    case sent
    /// Data was removed from this machine.
    case removed
    /// Data was deleted at the backend.
    case erased
    /// A person had samples sent again that had not arrived.
    case requeued
    /// Data was exported from the encrypted store.
    case exported
    /// A backup of everything was made, encrypted as it is here.
    case backedUp = "backed up"
    /// The data was restored to an earlier state.
    case restored
    case loggedIn = "logged in"
    case loggedOut = "logged out"
    case keyRotated = "key rotated"
    /// A file of an earlier release was encrypted again with the same key.
    case reencrypted = "resealed"
    /// A person accepted the rows that are there, which contradicted their counts.
    case counted
}

/// Who performed an action: a program, and if it is an attempt, of which job and run.
public struct AuditActor: Hashable, Sendable {
    /// What the program does, such as `attempt` or `key rotate`.
    public var program: String
    public var job: String?
    public var run: Int64?
    public var attempt: Int64?

    /// Creates an actor; the default is this program in general.
    public init(
        program: String = "clarity-jobs", job: String? = nil, run: Int64? = nil,
        attempt: Int64? = nil
    ) {
        self.program = program
        self.job = job
        self.run = run
        self.attempt = attempt
    }

    /// Creates the actor for an attempt.
    public init(_ order: AttemptOrder) {
        self.init(
            program: "attempt", job: order.job.rawValue, run: order.run.rawValue,
            attempt: Int64(order.attempt))
    }
}

/// A decrypted entry of the audit log: who did what with how much of which kind, never a value.
public struct AuditEntry: Hashable, Sendable {
    /// The most kinds in an entry; the rest are counted together as `others`.
    static let kindLimit = 64
    /// The most bytes in a text.
    static let textLimit = 120

    public let action: AuditAction
    /// The owner of the data, by the backend's id; `nil` before the first login.
    public let user: String?
    public let actor: AuditActor
    /// The count of each kind.
    public let counts: [String: Int64]
    /// More detail in this program's own words; may be empty.
    public let detail: String

    /// Creates an entry; surplus kinds are merged, and long texts are truncated.
    init(
        _ action: AuditAction, user: String?, actor: AuditActor, counts: [String: Int64],
        detail: String
    ) {
        self.action = action
        self.user = user.map(AuditEntry.cut)
        self.actor = AuditActor(
            program: AuditEntry.cut(actor.program), job: actor.job.map(AuditEntry.cut),
            run: actor.run, attempt: actor.attempt)
        self.detail = AuditEntry.cut(detail)
        var kept: [String: Int64] = [:]
        for (index, (kind, count)) in counts.sorted(by: { $0.key < $1.key }).enumerated() {
            let name = index < AuditEntry.kindLimit ? AuditEntry.cut(kind) : "others"
            kept[name] = (kept[name] ?? 0).addingReportingOverflow(count).partialValue
        }
        self.counts = kept
    }

    private static func cut(_ text: String) -> String { text.prefix(bytes: textLimit) }
}

// The entry as bytes, for encryption.
extension AuditEntry {
    var encryptedForm: [UInt8] {
        var bytes: [UInt8] = [1]
        for text in [action.rawValue, user ?? "", actor.program, actor.job ?? "", detail] {
            bytes.append(field: text)
        }
        bytes.append(littleEndian: actor.run ?? 0)
        bytes.append(littleEndian: actor.attempt ?? 0)
        bytes.append(counts: counts)
        return bytes
    }

    /// Returns `nil` if the bytes are not a valid `encryptedForm`.
    init?(encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
        guard reader.number(UInt8.self) == 1,
            let action = reader.field().flatMap(AuditAction.init(rawValue:)),
            let user = reader.field(), let program = reader.field(), let job = reader.field(),
            let detail = reader.field(), let run = reader.number(Int64.self),
            let attempt = reader.number(Int64.self),
            let counts = reader.counts(atMost: AuditEntry.kindLimit + 1), reader.isAtEnd
        else { return nil }
        self.init(
            action, user: user.isEmpty ? nil : user,
            actor: AuditActor(
                program: program, job: job.isEmpty ? nil : job, run: run == 0 ? nil : run,
                attempt: attempt == 0 ? nil : attempt),
            counts: counts, detail: detail)
    }
}

/// A stored entry of the log.
public struct AuditRecord: Hashable, Sendable {
    /// The number of the entry; the first entry ever has 1, and each next one 1 more.
    public let number: Int64
    public let at: Instant
    /// BLAKE2b-256 over the former hash, the number, the time and the encrypted entry, as hex
    /// digits.
    public let hash: String
    /// The entry; `nil` if it does not decrypt.
    public let entry: AuditEntry?
}
