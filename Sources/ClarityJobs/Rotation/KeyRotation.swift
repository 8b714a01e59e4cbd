public import ClarityScheduler
import ClaritySystem
import Database

/// The source of a new master key.
public enum NewKey: Hashable, Sendable {
    /// clarity-jobs makes the key; it becomes `master.key` in the state directory.
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
/// It works in portions of one transaction each, and records its progress in the same transaction.
/// So it can be killed at any instant, and the next call finishes it. The new key is on disk before
/// the first row is encrypted with it. The former key is removed once it decrypts no row and no
/// page of the write-ahead log. No other process uses the health data meanwhile (`StoreLock`).
public struct KeyRotation {
    /// The instants after which a kill leaves a new state behind; for tests.
    enum Step: Hashable, Sendable {
        case keyKept, begun, portion, rowsDone, logEmptied, keyPlaced
    }

    private let file: HealthFile
    private let environment: [String: String]
    private let newKey: NewKey
    private let actor: AuditActor
    private let clock: any WallClock
    private let source: MasterKeySource
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
        source = MasterKeySource(stateDirectory: stateDirectory, environment: environment)
        self.environment = environment
        self.newKey = newKey
        self.actor = actor
        self.clock = clock
    }

    /// Rotates the key, or finishes an interrupted rotation.
    ///
    /// - Throws: `rotation` if a precondition is missing, before any row changes key;
    ///   `rotation(.logInUse)` if all rows have changed key and only the write-ahead log is left;
    ///   and the errors of opening the store.
    public func run() throws(HealthStoreError) -> KeyRotationReport {
        guard file.isKept else { throw .rotation(.nothingKept, path: file.path) }
        try file.check()
        let first = try presentKey()
        // During a rotation the key is either the former or the new one; its record decides which.
        try KeyCheck(file, environment).require(first.key, allowsRotation: true)
        let lock = try StoreLock.alone(of: file, patience: patience)
        defer { withExtendedLifetime(lock) {} }
        // Read again: another process may have rotated the key while this one waited.
        let present = try presentKey()
        do {
            return try rotate(from: present.key, in: present.place, lock)
        } catch let error as SealingError where error.table == "canary" {
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
            try HealthBackup.makeBeforeMigration(of: file.path, keyID: keyID)
        }
        // Overwrites the old content of rows instead of only freeing it.
        try connection.execute("PRAGMA secure_delete = ON")
        var resumedFrom: Instant?
        var state: RotationState
        let next: MasterKey
        if let found = try RotationState(connection) {
            (state, resumedFrom) = (found, found.begunAt)
            next = try resumedKey(found, present: key)
        } else {
            let former = try Canary.sealer(key, connection)
            // Checked now, because the note is authenticated with the former key.
            try Audit.noteBreak(connection, former, lock)
            try FormUpgrade(connection: connection, sealer: former).run(actor: actor, at: clock.now)
            next = try freshKey(instead: key, in: place)
            try after(.keyKept)
            state = RotationState(
                begunAt: clock.now,
                proof: try former.followed(by: next).seal([], for: RotationState.proofRow),
                isNewInFile: newKey == .made,
                wasFormerInFile: place == .file(path: source.path))
            try connection.transaction { try state.write(connection) }
            try after(.begun)
        }
        if state.phase == .rows {
            let former: Sealer
            do {
                former = try Canary.sealer(key, connection)
            } catch is SealingError where resumedFrom != nil {
                throw HealthStoreError.rotation(.formerKeyNeeded, path: file.path)
            }
            let resealing = Resealing(
                connection: connection, former: former, next: try former.followed(by: next),
                portion: portion)
            while try resealing.work(&state) {
                progress(state.rows)
                try after(.portion)
            }
            try resealing.finish(&state, actor: actor, at: clock.now)
            try after(.rowsDone)
        }
        try emptyLog(connection)
        try after(.logEmptied)
        try putInPlace(state, next)
        // A draft may hold the former key. A draft of the new key would hold a former key after the
        // next rotation.
        for path in [source.path, nextPath] { try KeyFile.removeDrafts(of: path) }
        try after(.keyPlaced)
        try connection.transaction { try RotationState.remove(connection) }
        return KeyRotationReport(
            rows: state.rows, damaged: state.damaged, resumedFrom: resumedFrom,
            placeToFill: state.isNewInFile ? nil : placeToFill(key, place, next))
    }

    /// Returns where the user must put a given key, or `nil` if it is already there.
    private func placeToFill(
        _ key: MasterKey, _ place: MasterKeySource.Place?, _ next: MasterKey
    ) -> String? {
        switch place {
        case .some where key.bytes == next.bytes: nil
        case nil, .file: "a credential or a variable"
        case .some(let place): place.description
        }
    }

    // MARK: Keys

    private var nextPath: String { "\(source.path).new" }

    /// Returns the present key.
    ///
    /// At the very end of an interrupted rotation the former key may already be gone; the present
    /// key is then the given one.
    private func presentKey() throws(HealthStoreError) -> (
        key: MasterKey, place: MasterKeySource.Place?
    ) {
        try HealthStore.describing(file.path) {
            if let found = try source.find() { return found }
            guard newKey != .made else { throw HealthStoreError.lostKey(path: file.path) }
            return (try givenKey(), nil)
        }
    }

    /// Returns the new key of a rotation that begins now, once it is durably on disk.
    private func freshKey(
        instead present: MasterKey, in place: MasterKeySource.Place?
    ) throws -> MasterKey {
        if newKey == .made {
            guard case .file = place else {
                throw HealthStoreError.rotation(
                    .keyIsElsewhere(place?.description ?? ""), path: file.path)
            }
            let key = try MasterKey.random()
            // An existing file was made by a call that ended before its rotation began.
            if try KeyFile.make(nextPath, key) { return key }
            return try madeKey()
        }
        let key = try givenKey()
        guard key.bytes != present.bytes else {
            throw HealthStoreError.rotation(.sameKey, path: file.path)
        }
        return key
    }

    /// Returns the new key of an interrupted rotation.
    private func resumedKey(
        _ state: RotationState, present: MasterKey
    ) throws -> MasterKey {
        let key: MasterKey
        switch (newKey, state.isNewInFile) {
        case (.made, true) where state.phase == .placing:
            // It may already be in place.
            key = try KeyFile.read(nextPath, as: .own) ?? present
        case (.made, false):
            throw HealthStoreError.rotation(.newKeyNeeded, path: file.path)
        default: key = try givenKey()
        }
        guard try Sealer(key).opened(state.proof, for: RotationState.proofRow) != nil else {
            throw HealthStoreError.rotation(.otherNewKey, path: file.path)
        }
        return key
    }

    private func madeKey() throws -> MasterKey {
        guard let key = try KeyFile.read(nextPath, as: .own) else {
            throw HealthStoreError.rotation(.newKeyLost(nextPath), path: file.path)
        }
        return key
    }

    private func givenKey() throws -> MasterKey {
        switch newKey {
        case .made: return try madeKey()
        case .file(let path):
            guard let key = try KeyFile.read(path, as: .credential) else {
                throw HealthStoreError.rotation(.noNewKey("`\(path)`"), path: file.path)
            }
            return key
        case .variable(let name):
            let hex = try MasterKeySource.value(of: name, environment)
            return try MasterKey(content: Array(hex.utf8), origin: "`\(name)`")
        }
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

    /// Moves a key that clarity-jobs made to the former key's place, or removes the former key file
    /// if the new key is elsewhere.
    private func putInPlace(_ state: RotationState, _ next: MasterKey) throws {
        if state.isNewInFile {
            guard try KeyFile.read(nextPath, as: .own) != nil else { return }
            try KeyFile.replace(source.path, by: nextPath)
        } else if state.wasFormerInFile, let former = try KeyFile.read(source.path, as: .own),
            former.bytes != next.bytes
        {
            try KeyFile.remove(source.path)
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
