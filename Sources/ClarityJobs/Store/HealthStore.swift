public import ClarityScheduler
public import ClaritySystem
import SQLite
import Synchronization

/// Keeps a person's health data on this machine: the outbox, what was pulled, and the session.
///
/// Values, tokens and pulled rows are sealed; kinds, times, states and counts are not. Several
/// processes may use one file at the same time. Every call is one transaction or a row of them, and
/// waits up to 30 s for another process; a process killed in between leaves what stood before.
///
/// A store writes for the user in whose time it was opened: once a logout has removed everything,
/// here or in another process, it writes nothing more and gives out no session.
///
/// `@unchecked`: everything but `connection` and `lookout` is an immutable value; `connection` is touched
/// only inside `access`, while `lock` is held, and `lookout` only while `looking` is.
public final class HealthStore: @unchecked Sendable {
    let sealer: Sealer
    /// Which master key the store is sealed with; not the key.
    let keyID: String
    let path: String
    /// Who uses the store, for the audit log.
    let actor: AuditActor
    let clock: any WallClock
    /// Whose time with the file it was when the store was opened.
    let tenancy: Tenancy
    /// Whether opening it sealed the rows of an earlier release anew.
    public let wasUpgraded: Bool
    private let connection: Connection
    /// What keeps the master key from being changed meanwhile; a rehearsal needs none.
    let share: StoreLock?
    private let lock = Mutex(())
    /// A connection that only looks, beside the one that writes; there while much is written.
    private var lookout: Connection?
    private let looking = Mutex(())
    /// Who sends batches through this store; there from the first that it looks for.
    private let sender = Mutex<UploadOwner?>(nil)

    /// Opens the store of a state directory, which is made where it is missing.
    ///
    /// - Parameters:
    ///   - environment: the process's, which says where the master key is (`MasterKeySource`); else
    ///     it is `master.key` in the state directory, made on first use.
    ///   - actor: who the audit log shall say that it was.
    ///   - clock: tells when, for the audit log.
    /// - Throws: `lostKey` when there is a store without a key: no new key is ever made for it;
    ///   `rotating` while another process changes the key; `wrongKey`, `rotationUnfinished`,
    ///   `foreignFile`, `schema`, `directory`, `key` or `database` for what their names say. Nothing
    ///   is written before the key is known to be the right one.
    public convenience init(
        stateDirectory: String, environment: [String: String],
        actor: AuditActor = AuditActor(), clock: any WallClock = SystemClock()
    ) throws(HealthStoreError) {
        let opening = try StoreOpening(
            stateDirectory, environment, actor: actor, clock: clock)
        try self.init(
            path: opening.file.path, key: opening.key, lock: opening.lock, actor: actor,
            clock: clock, wasUpgraded: opening.wasUpgraded,
            connection: { () throws(SQLiteError) in
                try Connection(path: opening.file.path, access: .readWrite)
            })
    }

    /// What a person has to know once `wasUpgraded`.
    public static let upgradeNotice =
        "the health data was sealed anew, so that no id or length in it follows from a value; backups "
        + "of before, in `backups/` and elsewhere, still show ids from which values can be guessed: "
        + "remove them when you need them no more"

    /// Whether a state directory has a store; opening one where there is none makes it.
    public static func exists(in stateDirectory: String) -> Bool {
        HealthFile(in: stateDirectory).isKept
    }

    /// Takes a connection, brings its schema up to date and checks the key.
    init(
        path: String, key: MasterKey, lock share: StoreLock? = nil, actor: AuditActor,
        clock: any WallClock, wasUpgraded: Bool = false,
        connection open: () throws(SQLiteError) -> Connection
    ) throws(HealthStoreError) {
        self.path = path
        self.share = share
        self.actor = actor
        self.clock = clock
        do {
            keyID = try key.identifier()
            connection = try open()
            let keyID = keyID
            try HealthStore.prepare(connection) { _ in
                guard share != nil else { return }
                try HealthBackup.makeBeforeMigration(of: path, keyID: keyID)
            }
            let isRotating = try RotationState(connection) != nil
            do {
                sealer = try Canary.sealer(key, connection)
            } catch is SealingError where isRotating {
                throw HealthStoreError.rotationUnfinished(path: path)
            }
            guard !isRotating else { throw HealthStoreError.rotationUnfinished(path: path) }
            tenancy = try Tenancy(connection)
            let isUpgraded = try FormUpgrade(connection, sealer).run(actor: actor, at: clock.now)
            self.wasUpgraded = isUpgraded || wasUpgraded
            try beginNote(connection)
            try noteEnd(connection)
        } catch let error as SealingError where error.table == "canary" {
            throw .wrongKey(path: path)
        } catch {
            throw HealthStore.described(error, path)
        }
    }

    /// Makes a connection to the file one as all have it, and brings the file up to date.
    ///
    /// - Parameter keeping: keeps the file as it is; called before its schema changes.
    static func prepare(_ connection: Connection, keeping: (Int) throws -> Void) throws {
        // First, so that a file that is not ours stays as it is.
        _ = try HealthSchema.migrations.version(of: connection)
        // Only where it is another (2 is incremental): SQLite writes it down again each time.
        if try connection.first("PRAGMA auto_vacuum", map: { $0.integer(0) }) != 2 {
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        }
        try connection.useWriteAheadLog()
        try connection.execute(
            """
            PRAGMA synchronous = FULL;
            PRAGMA foreign_keys = ON;
            PRAGMA trusted_schema = OFF;
            """)
        try HealthSchema.migrations.migrate(connection, keeping: keeping)
    }

    /// Brings the log into the file and cuts it to nothing; readers are waited for.
    static func emptyLog(_ connection: Connection) throws(SQLiteError) {
        let isHeld = try connection.first("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) }
        // SQLITE_BUSY, which this pragma tells by a row.
        if isHeld == 1 { throw SQLiteError(code: 5, message: "another process reads the database") }
    }

    /// Reads: several queries in `body` may see different states of the file.
    func access<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        do {
            return try lock.withLock { _ in try body(connection) }
        } catch {
            throw HealthStore.described(error, path)
        }
    }

    /// Reads what is committed, while much is written without waiting for who writes.
    func look<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        guard looking.withLock({ _ in lookout != nil }) else { return try access(body) }
        do {
            return try looking.withLock { _ in try body(openLookout()) }
        } catch {
            throw HealthStore.described(error, path)
        }
    }

    private func openLookout() throws(SQLiteError) -> Connection {
        guard let lookout else {
            throw SQLiteError(code: 21, message: "the second connection was closed meanwhile")
        }
        return lookout
    }

    /// Opens the connection for `look`, or closes it; a rehearsal has one file of its own, which no
    /// second connection sees.
    func setLookout(_ isThere: Bool) throws(HealthStoreError) {
        do {
            try looking.withLock { _ in
                lookout =
                    isThere && share != nil
                    ? try Connection(path: path, access: .readWrite) : nil
            }
        } catch {
            throw HealthStore.described(error, path)
        }
    }

    /// Who sends batches through this store.
    func uploadOwner() throws(HealthStoreError) -> UploadOwner {
        do {
            return try sender.withLock { owner in
                if let owner { return owner }
                let drawn = try UploadOwner(lockedBy: share)
                owner = drawn
                return drawn
            }
        } catch {
            throw HealthStore.described(error, path)
        }
    }

    /// Whether the attempt that sends a batch still lives; nobody sends one of an earlier version.
    func isSent(by owner: Int64?) throws(HealthStoreError) -> Bool {
        guard let owner else { return false }
        return try StoreLock.isLocked(byte: owner, of: HealthFile(of: path))
    }

    /// Writes what belongs to the user in one transaction, which an error undoes as a whole.
    ///
    /// - Throws: `changedHands` and `loggedOut` after a logout that removed everything.
    func change<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        try changeAnyway { connection in
            try tenancy.check(connection, allowsVacancy: false)
            return try body(connection)
        }
    }

    /// Writes in one transaction, whoever the user is.
    func changeAnyway<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        try access { connection in
            let result = try connection.transaction { try body(connection) }
            try noteEnd(connection)
            return result
        }
    }

    /// The key of a state directory's file; `make` is asked for one where there is neither key nor store.
    static func key(
        of file: HealthFile, _ environment: [String: String],
        orElse make: (MasterKeySource) throws(MasterKeyError) -> MasterKey
    ) throws(HealthStoreError) -> MasterKey {
        let source = MasterKeySource(stateDirectory: file.directory, environment: environment)
        // Asked before the key is looked for: with a key and a store made by another process in
        // between, the other order would see a store without a key.
        let hadHealth = file.exists
        do throws(MasterKeyError) {
            if let known = try source.load() { return known }
            if !hadHealth { return try make(source) }
        } catch {
            throw .key(error)
        }
        throw .lostKey(path: file.path)
    }

    static func described(_ error: any Error, _ path: String) -> HealthStoreError {
        switch error {
        case let error as HealthStoreError: error
        case let error as SQLiteError where error.isDamage:
            .damaged(error, path: path, advice: DamageAdvice.words(about: path))
        case let error as SQLiteError: .database(error, path: path)
        case let error as BackupError: .backup(error, path: path)
        case let error as StateDirectoryError: .directory(error)
        case let error as SealingError: .sealing(error, path: path)
        case let error as Migrations.Fault: .schema(error, path: path)
        case let error as MasterKeyError: .key(error)
        // An error's own text could hold anything.
        default:
            .database(
                SQLiteError(code: 1, message: "error of type `\(type(of: error))`"), path: path)
        }
    }
}
