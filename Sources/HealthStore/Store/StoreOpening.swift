public import ClarityScheduler
public import Platform
public import Database

/// Everything that is checked before a store is opened for writing: who owns the files, which key
/// there is, and whether the key fits.
///
/// Until all of this is certain, no byte of the state directory changes; access to the folder and
/// its files is only taken away from others.
struct StoreOpening {
    let file: HealthFile
    let key: MasterKey
    /// Held while the store is used.
    let lock: StoreLock

    /// Runs all checks.
    ///
    /// - Throws: what `HealthStore.init` throws.
    init(
        _ directory: String, _ environment: [String: String]
    ) throws(HealthStoreError) {
        file = HealthFile(in: directory)
        _ = try HealthStore.describing(file.path) { try StateDirectory(path: directory) }
        try file.check()
        let known = try StoreLock.share(of: file, makesFile: false)
        // Checked again, because a restore may have been cut short while this process waited.
        try file.requireWhole()
        let first = try HealthStore.key(of: file, environment)
        try OpeningCheck(file, environment).require(first)
        try file.make()
        try HealthStore.describing(file.path) {
            try MasterKeySource(stateDirectory: directory, environment: environment).moveFormer()
        }
        if let known {
            (lock, key) = (known, first)
            return
        }
        guard let made = try StoreLock.share(of: file, makesFile: true) else {
            throw .rotating(path: file.path)
        }
        lock = made
        // Read again, because the key may have been changed before there was a lock.
        key = try HealthStore.key(of: file, environment)
    }
}

/// Checks whether a key is a file's key, without leaving a trace in the file or beside it.
struct OpeningCheck {
    /// What a file's key check says about a key.
    private enum Answer {
        case opens
        /// The key check was encrypted with another key; a change of keys may be the reason.
        case otherwise(isRotation: Bool)
        /// There is no key check, or the file is not ours: opening it reports that.
        case unknown
    }

    private let file: HealthFile
    private let drafts: String

    init(_ file: HealthFile, _ environment: [String: String]) {
        self.file = file
        drafts = temporaryFolder(environment)
    }

    /// Checks that a key is the file's key.
    ///
    /// - Parameter allowsRotation: whether the check also passes if a change of keys was cut short,
    ///   so that the key may be the former or the new one.
    /// - Throws: `wrongKey` if it is not; `rotationUnfinished` if the reason may be that a change
    ///   of keys was cut short; `database` if the file cannot be copied.
    func require(_ key: MasterKey, allowsRotation: Bool = false) throws(HealthStoreError) {
        guard file.exists else { return }
        let cipher = try HealthStore.describing(file.path) { try Cipher(key) }
        var answer = inFile(cipher)
        if case .opens = answer { return }
        // What the file says may be out of date while there is a log.
        if file.hasLog { answer = try inCopy(cipher) }
        switch answer {
        case .opens, .unknown: return
        case .otherwise(isRotation: true) where allowsRotation: return
        case .otherwise(isRotation: true): throw .rotationUnfinished(path: file.path)
        case .otherwise(isRotation: false): throw .wrongKey(path: file.path)
        }
    }

    /// Reads the file as it is, without its log.
    private func inFile(_ cipher: Cipher) -> Answer {
        do throws(DatabaseError) {
            return answer(try FileConnection(path: file.path, access: .immutable), cipher)
        } catch {
            // Opening the file in the ordinary way reports the error.
            return .unknown
        }
    }

    private func inCopy(_ cipher: Cipher) throws(HealthStoreError) -> Answer {
        try HealthStore.describing(file.path) {
            let copy = try FileConnection(path: "")
            try DatabaseCopy(path: file.path, drafts: drafts).copy(into: copy)
            return answer(copy, cipher)
        }
    }

    private func answer(_ connection: Connection, _ cipher: Cipher) -> Answer {
        switch KeyCheck.state(connection, cipher) {
        case .none: .unknown
        case .sound, .damaged: .opens
        case .otherwise: .otherwise(isRotation: isRotating(connection))
        }
    }

    private func isRotating(_ connection: Connection) -> Bool {
        do {
            return try RotationState(connection) != nil
        } catch {
            // The file does not have our tables; opening it in the ordinary way reports that.
            return false
        }
    }
}

/// Returns the folder for temporary files, whose content stays encrypted.
func temporaryFolder(_ environment: [String: String]) -> String {
    environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
}

// A store for dry runs: it starts as a copy of the real one and vanishes with its last reference.

extension HealthStore {
    /// Opens a private copy of a state directory's store, or an empty store if there is none.
    ///
    /// Nothing in the state directory changes, appears or vanishes, including the files beside the
    /// database. If there is neither a store nor a key, the copy gets a key of its own.
    ///
    /// - Parameter environment: as for opening the store. `TMPDIR`, or `/tmp` by default, is where
    ///   files may lie for a moment, in a folder of mode 0700 and still encrypted.
    /// - Throws: what opening the store throws.
    public static func dryRun(
        of stateDirectory: String, environment: [String: String],
        clock: any WallClock = SystemClock()
    ) throws(HealthStoreError) -> HealthStore {
        if let (server, account) = try ServerAccount.named(in: environment) {
            let (place, key) = try HealthStore.place(
                of: account, at: server, stateDirectory, environment)
            return try HealthStore(in: place.dryRun(), key: key, actor: AuditActor(), clock: clock)
        }
        let file = HealthFile(in: stateDirectory)
        try file.check()
        // Held until the copy is made, so that nobody changes the key in the meantime.
        let lock = try StoreLock.share(of: file, makesFile: false)
        defer { withExtendedLifetime(lock) {} }
        let key = try HealthStore.key(of: file, environment) {
            _ throws(MasterKeyError) in try .random()
        }
        let isThere = file.exists
        let place = HealthCopyPlace(original: HealthFilePlace(file.path, lock: nil)) {
            let copy = try FileConnection(path: "")
            if isThere {
                let drafts = temporaryFolder(environment)
                try DatabaseCopy(path: file.path, drafts: drafts).copy(into: copy)
            }
            return copy
        } isLocked: { number in
            try StoreLock.isLocked(byte: number, of: file)
        }
        return try HealthStore(in: place, key: key, actor: AuditActor(), clock: clock)
    }
}

/// Marks as stored the uploads of samples whose acceptance by the deployed backend was the proof.
///
/// Versions up to 0.1.0 took the acceptance for no proof, and waited for a status that the deployed
/// backend never gives: the samples stayed `accepted`, and became `unconfirmed`. The rows do not
/// name the dialect, but the backend's id of an upload does: the deployed backend ends it with 32
/// digits, the blueprint with a UUID, which has hyphens. No key is needed, and no question to
/// anybody.
///
/// This is no step of the schema, because the rows of a server and those of a restored backup need
/// it as well. It runs whenever health data is opened, and finds nothing from then on.
enum AnsweredUploads {
    private static let condition = """
        (state = 'accepted' OR state = 'unconfirmed') AND route = 'samples'
            AND accepted_at_ms IS NOT NULL AND length(processing_id) > 33
            AND substr(processing_id, length(processing_id) - 32, 1) = '-'
            AND instr(substr(processing_id, length(processing_id) - 31), '-') = 0
        """

    /// - Returns: how many uploads changed.
    @discardableResult
    static func settle(_ connection: Connection) throws -> Int64 {
        // Asked first, so that opening does not wait for another process that writes.
        let isThere = try connection.integer("SELECT 1 FROM batches WHERE \(condition) LIMIT 1")
        guard isThere != nil else { return 0 }
        return try connection.transaction {
            try connection.change(
                """
                UPDATE batches SET state = 'stored', reason = NULL, finished_at_ms = accepted_at_ms
                WHERE \(condition)
                """)
        }
    }
}

extension HealthStore {
    /// Where a move begins.
    public enum MoveOrigin: Sendable { case files, server }

    /// Opens the health data of a state directory in files and on a server, for a move.
    ///
    /// A place without data gets the key of the other one first, because rows move as they are
    /// encrypted.
    ///
    /// - Parameter environment: names the server (`ServerAccount`).
    /// - Throws: `HealthStoreError` as for opening either.
    public static func both(
        stateDirectory: String, environment: [String: String], from origin: MoveOrigin,
        actor: AuditActor
    ) throws(HealthStoreError) -> (files: HealthStore, server: HealthStore) {
        guard let (address, account) = try ServerAccount.named(in: environment) else {
            throw .server("no server is named")
        }
        let (place, given) = try place(of: account, at: address, stateDirectory, environment)
        var local = environment
        local[ServerAccount.variable] = nil
        func files() throws(HealthStoreError) -> HealthStore {
            try HealthStore(stateDirectory: stateDirectory, environment: local, actor: actor)
        }
        func server() throws(HealthStoreError) -> HealthStore {
            try HealthStore(stateDirectory: stateDirectory, environment: environment, actor: actor)
        }
        let source = MasterKeySource(stateDirectory: stateDirectory, environment: local)
        switch origin {
        case .files:
            let files = try files()
            try describing(place.name) {
                if let key = try source.load() { _ = try place.adopt(key, given: given) }
            }
            return (files, try server())
        case .server:
            let server = try server()
            let file = HealthFile(in: stateDirectory)
            try describing(file.path) {
                let key = try place.ownKey(given, place.connect()) ?? given
                if !file.exists { try source.adopt(key) }
            }
            return (try files(), server)
        }
    }

    /// Copies everything into the store of another place, and moves the login there: each renewal
    /// makes a login of before worthless, so that two places cannot have the same.
    ///
    /// Nothing changes where the other place has data of its own. After a move that was cut short,
    /// the next call does the rest.
    ///
    /// - Throws: `HealthStoreError`; then this store is as it was.
    public func move(to other: HealthStore) throws(HealthStoreError) -> TableCopy.Outcome {
        // Rows move as they are encrypted.
        guard keyID == other.keyID else { return .occupied }
        let isNew = try other.access { target in try !HealthStore.isBegun(target) }
        return try changeAnyway { source in
            if isNew, try HealthStore.isBegun(source) {
                try audit.record(
                    .exported, [:], detail: "everything, to where it is kept now", source)
            }
            let outcome = try other.take(from: source)
            guard outcome != .occupied else { return outcome }
            for table in HealthStore.loginTables {
                try source.run("DELETE FROM \(table) WHERE true")
            }
            try place.unmarkLogin(source)
            return outcome
        }
    }

    private static let loginTables = ["session", "session_record"]
    /// The tables of which one has rows as soon as somebody has logged in or imported anything.
    private static let marks = ["owner", "outbox", "sources"]

    static func isBegun(_ connection: Connection) throws -> Bool {
        try marks.contains { try connection.hasRows($0) }
    }

    /// Takes what another place has, in a transaction of that place.
    func take(from source: Connection) throws(HealthStoreError) -> TableCopy.Outcome {
        try access { target in
            try target.transaction {
                // What follows the copy here and there does not make it another one.
                let outcome = try TableCopy(from: source, to: target).runOnce(
                    marks: HealthStore.marks,
                    own: Set(HealthStore.loginTables + ["canary", "audit", "audit_head"]))
                guard case .copied = outcome else { return outcome }
                // The counts were copied with their rows.
                try RowCounts(connection: target, cipher: cipher).forgetChanges()
                // A file has a note of its audit log's end, which is now that of another log.
                try KeyCheck.write(KeyCheck.renotedText, target, cipher)
                if try target.hasRows("session") { try place.markLogin(target) }
                return outcome
            }
        }
    }
}
