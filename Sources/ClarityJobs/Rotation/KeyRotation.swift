public import ClarityScheduler
import ClaritySystem
import SQLite

/// Where a new master key comes from.
public enum NewKey: Hashable, Sendable {
    /// It is made here, and becomes `master.key` in the state directory.
    case made
    /// A file that a person made: 32 bytes or 64 hex digits.
    case file(String)
    /// A variable of the environment, in hex.
    case variable(String)
}

/// What a change of the master key did.
public struct KeyRotationReport: Hashable, Sendable {
    /// The rows and entries that are the new key's now.
    public var rows: Int64
    /// Those that did not open before and do not now.
    public var damaged: Int64
    /// When the change began that this one finished; `nil` for one that was not cut short.
    public var resumedFrom: Instant?
    /// Where the person has to put the new key, in words; `nil` when nothing is left to do.
    public var placeToFill: String?
}

/// Changes the master key: everything that is sealed under it is sealed anew, and everything that is
/// hashed under it hashed on.
///
/// It works in portions of one transaction each, and notes with each portion how far it is, so that it
/// can be killed at any instant and finished by the next call. The new key is on the disk before the
/// first row is sealed with it; the former one is removed when no row, and no page of the log, has
/// anything left that it opens. Nobody else uses the health data meanwhile (`StoreLock`).
public struct KeyRotation {
    /// The instants at which a kill leaves something new behind; for tests.
    enum Step: Hashable, Sendable {
        case keyKept, begun, portion, rowsDone, logEmptied, keyPlaced
    }

    private let file: HealthFile
    private let environment: [String: String]
    private let newKey: NewKey
    private let actor: AuditActor
    private let clock: any WallClock
    private let source: MasterKeySource
    /// How many rows are sealed anew in one transaction.
    var portion = 1000
    /// How long others are waited for.
    var patience = StoreLock.patience
    /// Called after each step is on the disk.
    var after: (Step) throws -> Void = { _ in }
    /// Called after each portion with how many rows there are done.
    public var progress: (Int64) -> Void = { _ in }

    /// Prepares a change of a state directory's key; `environment` as for opening the store, with the
    /// variable that has the new key.
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

    /// Changes the key, or finishes a change that was cut short.
    ///
    /// - Throws: `rotation` for what the change lacks, with nothing written; what opening the store
    ///   throws.
    public func run() throws(HealthStoreError) -> KeyRotationReport {
        guard file.isKept else { throw .rotation(.nothingKept, path: file.path) }
        try file.check()
        let first = try presentKey()
        do throws(HealthStoreError) {
            try KeyCheck(file, environment).demand(first.key)
        } catch {
            // The key is the new one or the former one; which, the change's own record says.
            guard case .rotationUnfinished = error else { throw error }
        }
        let lock = try StoreLock.alone(of: file, patience: patience)
        defer { withExtendedLifetime(lock) {} }
        // Asked again: somebody else may have changed it while this one waited.
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
        let connection = try Connection(path: file.path, access: .readWrite)
        let keyID = try key.identifier()
        try HealthStore.prepare(connection) { _ in
            try HealthBackup.makeBeforeMigration(of: file.path, keyID: keyID)
        }
        // What a row was before is written over and not only given up.
        try connection.execute("PRAGMA secure_delete = ON")
        var resumedFrom: Instant?
        var state: RotationState
        let next: MasterKey
        if let found = try RotationState(connection) {
            (state, resumedFrom) = (found, found.begunAt)
            next = try resumedKey(found, present: key)
        } else {
            let former = try Canary.sealer(key, connection)
            // Told now: the note is under the former key.
            try HealthStore.noteBreak(connection, former, lock)
            try FormUpgrade(connection, former).run(actor: actor, at: clock.now)
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
        // A draft may hold the former key, and one of now be the former one's of the next change.
        for path in [source.path, nextPath] { try KeyFile.removeDrafts(of: path) }
        try after(.keyPlaced)
        try connection.transaction { try RotationState.remove(connection) }
        return KeyRotationReport(
            rows: state.rows, damaged: state.damaged, resumedFrom: resumedFrom,
            placeToFill: state.isNewInFile ? nil : placeToFill(key, place, next))
    }

    /// Where a key that was given has to be put, unless it is there.
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

    /// The key that is there; the one that was given when the former one is gone already, as it is
    /// when a change was cut short at its very end.
    private func presentKey() throws(HealthStoreError) -> (
        key: MasterKey, place: MasterKeySource.Place?
    ) {
        do throws(MasterKeyError) {
            if let found = try source.find() { return found }
        } catch {
            throw .key(error)
        }
        guard newKey != .made else { throw .lostKey(path: file.path) }
        do {
            return (try givenKey(), nil)
        } catch {
            throw HealthStore.described(error, file.path)
        }
    }

    /// The key of a change that begins now; it is on the disk to stay.
    private func freshKey(
        instead present: MasterKey, in place: MasterKeySource.Place?
    ) throws -> MasterKey {
        if newKey == .made {
            guard case .file = place else {
                throw HealthStoreError.rotation(
                    .keyIsElsewhere(place?.description ?? ""), path: file.path)
            }
            let key = try MasterKey.random()
            // One that is there already was made by a change that ended before it began.
            if try KeyFile.make(nextPath, key) { return key }
            return try madeKey()
        }
        let key = try givenKey()
        guard key.bytes != present.bytes else {
            throw HealthStoreError.rotation(.sameKey, path: file.path)
        }
        return key
    }

    /// The key of a change that was cut short.
    private func resumedKey(
        _ state: RotationState, present: MasterKey
    ) throws -> MasterKey {
        let key: MasterKey
        if state.isNewInFile, newKey == .made {
            if let content = try KeyFile.read(nextPath, as: .own) {
                key = try MasterKey(content: content, origin: "`\(nextPath)`")
            } else if state.phase == .placing {
                // Put in its place already.
                key = present
            } else {
                throw HealthStoreError.rotation(.newKeyLost(nextPath), path: file.path)
            }
        } else if newKey == .made {
            throw HealthStoreError.rotation(.newKeyNeeded, path: file.path)
        } else {
            key = try givenKey()
        }
        guard try Sealer(key).opens(state.proof, for: RotationState.proofRow) else {
            throw HealthStoreError.rotation(.otherNewKey, path: file.path)
        }
        return key
    }

    private func madeKey() throws -> MasterKey {
        guard let content = try KeyFile.read(nextPath, as: .own) else {
            throw HealthStoreError.rotation(.newKeyLost(nextPath), path: file.path)
        }
        return try MasterKey(content: content, origin: "`\(nextPath)`")
    }

    private func givenKey() throws -> MasterKey {
        switch newKey {
        case .made: return try madeKey()
        case .file(let path):
            guard let content = try KeyFile.read(path, as: .credential) else {
                throw HealthStoreError.rotation(.noNewKey("`\(path)`"), path: file.path)
            }
            return try MasterKey(content: content, origin: "`\(path)`")
        case .variable(let name):
            let hex = try MasterKeySource.value(of: name, environment)
            return try MasterKey(content: Array(hex.utf8), origin: "`\(name)`")
        }
    }

    // MARK: The end

    /// Brings the log into the file and empties it: pages in it hold what the former key opens.
    private func emptyLog(_ connection: Connection) throws {
        let isHeld = try connection.first("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) }
        guard isHeld == 0 else {
            throw HealthStoreError.rotation(.logInUse, path: file.path)
        }
    }

    /// Puts a key that was made in the place of the former one; removes that if the new one is
    /// elsewhere.
    private func putInPlace(_ state: RotationState, _ next: MasterKey) throws {
        if state.isNewInFile {
            guard try KeyFile.read(nextPath, as: .own) != nil else { return }
            try KeyFile.replace(source.path, by: nextPath)
        } else if state.wasFormerInFile, let content = try KeyFile.read(source.path, as: .own) {
            let kept = try MasterKey(content: content, origin: "`\(source.path)`")
            if kept.bytes != next.bytes { try KeyFile.remove(source.path) }
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
