public import ClarityScheduler

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

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > textLimit else { return text }
        return String(decoding: text.utf8.prefix(textLimit), as: UTF8.self)
    }
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
