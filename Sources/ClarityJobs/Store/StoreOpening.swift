import ClarityScheduler
import ClaritySystem
import SQLite

/// Everything that is settled before a store is opened for writing: whose files they are, which key
/// there is, and whether it is theirs.
///
/// As long as one of these is in doubt no byte of the state directory changes; the folder and its
/// files are only closed to others.
struct StoreOpening {
    let file: HealthFile
    let key: MasterKey
    /// Held as long as the store is used.
    let lock: StoreLock

    /// Whether the rows of an earlier release were sealed anew for it.
    private(set) var wasUpgraded = false

    /// Settles everything; a file of an earlier release is brought into the present form, with nobody
    /// else using it meanwhile.
    ///
    /// - Parameter patience: how long others are waited for that use a file of an earlier release.
    /// - Throws: what `HealthStore.init` throws.
    init(
        _ directory: String, _ environment: [String: String], actor: AuditActor,
        clock: any WallClock, patience: Duration = FormUpgrade.patience
    ) throws(HealthStoreError) {
        var opening: StoreOpening? = try StoreOpening(directory, environment, patience)
        var wasUpgraded = false
        if let file = opening?.file, try FormUpgrade.isOwed(by: file) {
            // The share is given back: nobody can have the lock alone beside it.
            opening = nil
            let alone = try FormUpgrade.alone(with: file, patience)
            let key = try HealthStore.key(of: file, environment) {
                source throws(MasterKeyError) in try source.create()
            }
            try KeyCheck(file, environment).demand(key)
            wasUpgraded = try HealthStore(
                path: file.path, key: key, lock: alone, actor: actor, clock: clock,
                connection: { () throws(SQLiteError) in
                    try Connection(path: file.path, access: .readWrite)
                }
            ).wasUpgraded
        }
        if let opening {
            self = opening
        } else {
            try self.init(directory, environment, patience)
        }
        self.wasUpgraded = wasUpgraded
    }

    private init(
        _ directory: String, _ environment: [String: String], _ patience: Duration
    ) throws(HealthStoreError) {
        do {
            _ = try StateDirectory(path: directory)
        } catch {
            throw .directory(error)
        }
        file = HealthFile(in: directory)
        try file.check()
        let known = try FormUpgrade.share(of: file, patience)
        // Asked again: a restore may have been cut short while this one waited.
        try file.demandWhole()
        let first = try HealthStore.key(of: file, environment) {
            source throws(MasterKeyError) in try source.create()
        }
        try KeyCheck(file, environment).demand(first)
        try file.make()
        if let known {
            (lock, key) = (known, first)
            return
        }
        guard let made = try StoreLock.share(of: file, makesFile: true) else {
            throw .rotating(path: file.path)
        }
        lock = made
        // Asked again: before there was a lock the key may have been changed since.
        key = try HealthStore.key(of: file, environment) {
            source throws(MasterKeyError) in try source.create()
        }
    }
}

/// Whether a key is that of a file, found out without a trace in the file or beside it.
struct KeyCheck {
    /// What a file's canary says of a key.
    private enum Answer {
        case opens
        /// It is sealed with another key; a change of keys may be the reason.
        case otherwise(isRotation: Bool)
        /// There is none, or the file is not one of ours: opening it will say so.
        case unknown
    }

    private let file: HealthFile
    private let drafts: String

    init(_ file: HealthFile, _ environment: [String: String]) {
        self.file = file
        drafts = temporaryFolder(environment)
    }

    /// - Throws: `wrongKey` for a key that is not the file's, `rotationUnfinished` when that may be
    ///   since a change of keys was cut short; `database` when the file cannot be copied.
    func demand(_ key: MasterKey) throws(HealthStoreError) {
        guard file.exists else { return }
        let sealer: Sealer
        do throws(MasterKeyError) { sealer = try Sealer(key) } catch { throw .key(error) }
        var answer = inFile(sealer)
        if case .opens = answer { return }
        // What the file says may be out of date as long as there is a log.
        if file.hasLog { answer = try inCopy(sealer) }
        switch answer {
        case .opens, .unknown: return
        case .otherwise(isRotation: true): throw .rotationUnfinished(path: file.path)
        case .otherwise(isRotation: false): throw .wrongKey(path: file.path)
        }
    }

    /// Reads the file as it lies there, without its log.
    private func inFile(_ sealer: Sealer) -> Answer {
        do throws(SQLiteError) {
            return answer(try Connection(path: file.path, access: .immutable), sealer)
        } catch {
            // Whoever opens the file in the ordinary way hears of it.
            return .unknown
        }
    }

    private func inCopy(_ sealer: Sealer) throws(HealthStoreError) -> Answer {
        do throws(SQLiteError) {
            let copy = try Connection(path: "")
            try DatabaseCopy(of: file.path, draftsIn: drafts).copy(into: copy)
            return answer(copy, sealer)
        } catch {
            throw HealthStore.described(error, file.path)
        }
    }

    private func answer(_ connection: Connection, _ sealer: Sealer) -> Answer {
        switch Canary.standing(connection, sealer) {
        case .none: .unknown
        case .sound, .earlier, .damaged: .opens
        case .otherwise: .otherwise(isRotation: isRotating(connection))
        }
    }

    private func isRotating(_ connection: Connection) -> Bool {
        do {
            return try RotationState(connection) != nil
        } catch {
            // An earlier version's file knows of no change of the key.
            return false
        }
    }
}

/// Where files may lie for a moment, as sealed as they are.
func temporaryFolder(_ environment: [String: String]) -> String {
    environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
}
