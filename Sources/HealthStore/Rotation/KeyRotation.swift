public import ClarityScheduler
import Platform
import Database

/// The source of a new master key.
public enum NewKey: Hashable, Sendable {
    /// clarity-jobs makes the key; it becomes `keys/master.key` in the state directory. For an
    /// account with a key of its own, it becomes that key, and the given key that wraps it stays.
    case made
    /// A file made by a person: 32 bytes, or 64 hex digits.
    case file(String)
    /// An environment variable with the key in hex.
    case variable(String)
}

/// The result of a master key rotation.
public struct KeyRotationReport: Hashable, Sendable {
    /// The number of rows and audit entries that now use the new key.
    public var rows: Int64
    /// The number of values that did not decrypt before the rotation and still do not.
    public var damaged: Int64
    /// When the interrupted rotation began that this call finished; `nil` if there was none.
    public var resumedFrom: Instant?
    /// Where the user must put the new key, in words; `nil` if nothing is left to do.
    public var placeToFill: String?
}

/// Rotates the master key: encrypts everything again that the former key encrypts, and hashes every
/// keyed hash once more.
///
/// On a server it is one transaction (`ServerKeyRotation`). In a file it works in portions of one
/// transaction each, and records its progress in the same transaction. So it can be killed at any
/// instant, and the next call finishes it. The new key is on disk before the first row is encrypted
/// with it. The former key is removed once it decrypts no row and no page of the write-ahead log. No
/// other process uses the health data meanwhile (`StoreLock`).
public struct KeyRotation {
    /// The instants after which a kill leaves a new state behind; for tests.
    enum Step: Hashable, Sendable {
        case keyKept, begun, portion, rowsDone, logEmptied, keyPlaced
    }

    private let file: HealthFile
    private let environment: [String: String]
    private let keys: RotationKeys
    private let actor: AuditActor
    private let clock: any WallClock
    /// The number of rows encrypted again in one transaction.
    var portion = 1000
    /// How long to wait for other processes.
    var patience = StoreLock.patience
    /// Called after each step is on disk.
    var after: (Step) throws -> Void = { _ in }
    /// Called after each portion with the number of rows done so far.
    public var progress: (Int64) -> Void = { _ in }

    /// Prepares a rotation of a state directory's key.
    ///
    /// - Parameter environment: the environment for opening the store, with the variable that holds
    ///   the new key.
    public init(
        stateDirectory: String, environment: [String: String], to newKey: NewKey,
        actor: AuditActor, clock: any WallClock
    ) {
        file = HealthFile(in: stateDirectory)
        keys = RotationKeys(
            file: file,
            source: MasterKeySource(stateDirectory: stateDirectory, environment: environment),
            newKey: newKey)
        self.environment = environment
        self.actor = actor
        self.clock = clock
    }

    /// Rotates the key, or finishes an interrupted rotation.
    ///
    /// - Throws: `rotation` if a precondition is missing, before any row changes key;
    ///   `rotation(.logInUse)` if all rows have changed key and only the write-ahead log is left;
    ///   and the errors of opening the store.
    public func run() throws(HealthStoreError) -> KeyRotationReport {
        if let (server, account) = try ServerAccount.named(in: environment) {
            return try HealthStore.describing("\(server)") {
                try ServerKeyRotation(
                    server: server, account: account, keys: keys, actor: actor, clock: clock
                ).run()
            }
        }
        guard file.isKept else { throw .rotation(.nothingKept, path: file.path) }
        try file.check()
        let first = try keys.present()
        // During a rotation the key is either the former or the new one; its record decides which.
        try OpeningCheck(file, environment).require(first.key, allowsRotation: true)
        let lock = try StoreLock.alone(of: file, patience: patience)
        defer { withExtendedLifetime(lock) {} }
        try HealthStore.describing(file.path) { try keys.source.moveFormer() }
        // Read again: another process may have rotated the key while this one waited.
        let present = try keys.present()
        do {
            return try rotate(from: present.key, in: present.place, lock)
        } catch let error as EncryptionError where error.table == "canary" {
            throw .wrongKey(path: file.path)
        } catch {
            throw HealthStore.described(error, file.path)
        }
    }

    private func rotate(
        from key: MasterKey, in place: MasterKeySource.Place?, _ lock: StoreLock
    ) throws -> KeyRotationReport {
        let connection = try FileConnection(path: file.path, access: .readWrite)
        let keyID = try key.identifier()
        try HealthFilePlace.prepare(connection) { _ in
            try HealthFilePlace.backUp(file.path, keyID: keyID)
        }
        // Overwrites the old content of rows instead of only freeing it.
        try connection.execute("PRAGMA secure_delete = ON")
        var resumedFrom: Instant?
        var state: RotationState
        let next: MasterKey
        if let found = try RotationState(connection) {
            (state, resumedFrom) = (found, found.begunAt)
            next = try keys.resumed(found, present: key)
        } else {
            let former = try KeyCheck.cipher(key, connection)
            // Checked now, because the note is authenticated with the former key.
            try connection.transaction { try Audit.noteBreak(connection, former, lock) }
            next = try keys.fresh(instead: key, in: place)
            try after(.keyKept)
            state = RotationState(
                begunAt: clock.now,
                proof: try former.followed(by: next).encrypt([], for: RotationState.proofRow),
                isNewInFile: keys.isNewInFile,
                wasFormerInFile: place == .file(path: keys.source.path))
            try connection.transaction { try state.write(connection) }
            try after(.begun)
        }
        if state.phase == .rows {
            let former: Cipher
            do {
                former = try KeyCheck.cipher(key, connection)
            } catch is EncryptionError where resumedFrom != nil {
                throw HealthStoreError.rotation(.formerKeyNeeded, path: file.path)
            }
            let reencryption = Reencryption(
                connection: connection, former: former, next: try former.followed(by: next),
                portion: portion)
            while try reencryption.work(&state) {
                progress(state.rows)
                try after(.portion)
            }
            try reencryption.finish(&state, actor: actor, at: clock.now)
            try after(.rowsDone)
        }
        try emptyLog(connection)
        try after(.logEmptied)
        try keys.putInPlace(state, next)
        try after(.keyPlaced)
        try connection.transaction { try RotationState.remove(connection) }
        return KeyRotationReport(
            rows: state.rows, damaged: state.damaged, resumedFrom: resumedFrom,
            placeToFill: try keys.placeToFill(place))
    }

    // MARK: The end

    /// Checkpoints and truncates the write-ahead log: its pages hold values that the former key
    /// decrypts.
    private func emptyLog(_ connection: Connection) throws {
        let isHeld = try connection.integer("PRAGMA wal_checkpoint(TRUNCATE)")
        guard isHeld == 0 else {
            throw HealthStoreError.rotation(.logInUse, path: file.path)
        }
    }
}

extension MasterKeySource.Place: CustomStringConvertible {
    /// The place in words: the credential `...`, the variable `...`, the file `...`.
    var description: String {
        switch self {
        case .credential(let path): "the credential `\(path)`"
        case .variable(let name): "the variable `\(name)`"
        case .file(let path): "the file `\(path)`"
        }
    }
}

/// The part of a key rotation that encrypts the rows again.
struct Reencryption {
    let connection: Connection
    let former: Cipher
    let next: Cipher
    let portion: Int

    /// The audit log comes last, because its last entry records everything else as done.
    private static let audit = "audit"

    /// Encrypts one portion again and records the progress in the same transaction.
    ///
    /// It continues with the next table when one is done.
    ///
    /// - Returns: `false` if nothing is left.
    func work(_ state: inout RotationState) throws -> Bool {
        let tables = EncryptedTable.all.map(\.name) + [Reencryption.audit]
        var step = state
        // An empty or unknown name starts with the first table at row 0: the stored row number
        // belongs to another table.
        let start = tables.firstIndex(of: step.table) ?? 0
        let isMoved = try connection.transaction { () throws -> Bool in
            for name in tables[start...] {
                if name != step.table { (step.table, step.row) = (name, 0) }
                let count =
                    if let table = EncryptedTable.all.first(where: { $0.name == name }) {
                        try reencrypt(table, &step)
                    } else {
                        try rechain(&step)
                    }
                if count > 0 {
                    try step.write(connection)
                    return true
                }
            }
            return false
        }
        state = step
        return isMoved
    }

    /// Runs the last transaction of a file.
    func finish(_ state: inout RotationState, actor: AuditActor, at now: Instant) throws {
        var step = state
        try connection.transaction {
            // The note of the log's end is authenticated with the former key; opening the store
            // rewrites it.
            try turn(step, keyCheck: KeyCheck.renotedText, actor: actor, at: now)
            step.phase = .placing
            try step.write(connection)
        }
        state = step
    }

    /// Encrypts everything that a server has again, in the current transaction.
    func onServer(actor: AuditActor, at now: Instant) throws -> RotationState {
        var step = RotationState(
            begunAt: now, proof: [], isNewInFile: false, wasFormerInFile: false)
        for table in EncryptedTable.all {
            try table.forEachOnServer(portion: limit(of: table), connection) { entry in
                try reencrypt(entry, of: table, &step)
            }
        }
        step.row = 0
        while try rechain(&step) > 0 {}
        let keyCheck = try KeyCheck.text(connection, former) ?? KeyCheck.text
        try turn(step, keyCheck: keyCheck, actor: actor, at: now)
        return step
    }

    /// Writes the key check, encrypts the former index keys with the new key, and appends the audit
    /// entry.
    private func turn(
        _ state: RotationState, keyCheck: [UInt8], actor: AuditActor, at now: Instant
    ) throws {
        try KeyCheck.write(keyCheck, connection, next)
        try FormerKeys.write(former.indexKeys, connection, next, at: now)
        let formerHead = try turnHead(state)
        try RowCounts(connection: connection, cipher: former).turn(to: next)
        let log = AuditLog(connection: connection, cipher: next)
        try log.append(
            AuditEntry(
                .keyRotated, user: try log.user(), actor: actor,
                counts: ["rows": state.rows, "damaged rows": state.damaged],
                detail: "the log's head was \(hexEncoded(formerHead))"),
            at: now)
    }

    private func reencrypt(_ table: EncryptedTable, _ step: inout RotationState) throws -> Int {
        let entries = try table.entries(after: step.row, limit: limit(of: table), connection)
        for entry in entries { try reencrypt(entry, of: table, &step) }
        return entries.count
    }

    private func reencrypt(
        _ entry: EncryptedTable.Entry, of table: EncryptedTable, _ step: inout RotationState
    ) throws {
        let isSound = try table.reencrypt(entry, from: former, to: next, connection)
        step.rows += isSound ? 1 : 0
        step.damaged += isSound ? 0 : 1
        step.row = entry.number
    }

    /// A segment of the archive is a thousand times a row.
    private func limit(of table: EncryptedTable) -> Int {
        table.name == "segments" ? max(1, portion / 20) : portion
    }

    /// Encrypts audit entries again and chains them to each other.
    ///
    /// An entry with a wrong hash keeps that hash, and an entry that does not decrypt stays as it
    /// is. So the new chain is broken at the same numbers as the former one.
    private func rechain(_ step: inout RotationState) throws -> Int {
        let log = AuditLog(connection: connection, cipher: former)
        let links = try log.links(after: step.row, limit: portion)
        guard !links.isEmpty else { return 0 }
        var newHash =
            try connection.blob("SELECT hash FROM audit WHERE number = ?", .integer(step.row))
        if newHash == nil || step.formerHash == nil {
            let anchor = try AuditHead.read(connection, former)?.head.anchorHash
            newHash = anchor
            step.formerHash = anchor
        }
        for link in links {
            let row = AuditLog.row(link.number, link.at)
            let isChained =
                AuditLog.hash(after: step.formerHash ?? [], link.number, link.at, link.encrypted)
                == link.hash
            if let plain = former.opened(link.encrypted, for: row) {
                let encrypted = next.encrypt(plain, for: row)
                let hash =
                    isChained
                    ? AuditLog.hash(after: newHash ?? [], link.number, link.at, encrypted)
                    : link.hash
                try connection.run(
                    "UPDATE audit SET sealed = ?, hash = ? WHERE number = ?", .blob(encrypted),
                    .blob(hash), .integer(link.number))
                newHash = hash
                step.rows += 1
            } else {
                newHash = link.hash
                step.damaged += 1
            }
            step.formerHash = link.hash
            step.row = link.number
        }
        return links.count
    }

    /// Authenticates the head of the audit log with the new key.
    ///
    /// - Returns: the hash of the last entry before the rotation.
    private func turnHead(_ state: RotationState) throws -> [UInt8] {
        let found = try AuditHead.read(connection, former)
        var head = try found?.head ?? AuditHead.current(connection, former)
        let formerHash = head.lastHash
        if found?.isAuthentic != true {
            head = try AuditHead.current(connection, former)
        } else if state.row == head.lastNumber, state.formerHash == head.lastHash {
            head.lastHash =
                try connection.blob(
                    "SELECT hash FROM audit WHERE number = ?", .integer(head.lastNumber))
                ?? head.lastHash
        }
        try head.write(connection, next)
        return formerHash
    }
}
