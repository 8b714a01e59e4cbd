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

    /// - Throws: what `HealthStore.init` throws.
    init(_ directory: String, _ environment: [String: String]) throws(HealthStoreError) {
        do {
            _ = try StateDirectory(path: directory)
        } catch {
            throw .directory(error)
        }
        file = HealthFile(in: directory)
        try file.check()
        let known = try StoreLock.share(of: file, makesFile: false)
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
