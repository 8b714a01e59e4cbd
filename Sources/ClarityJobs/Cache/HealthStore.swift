import ClarityScheduler
import ClaritySystem
import SQLite
import Synchronization

/// Keeps a person's health data on this machine: the outbox, what was pulled, and the session.
///
/// Values, tokens and pulled rows are sealed; kinds, times, states and counts are not. Several
/// processes may use one file at the same time. Every call is one transaction or a row of them, and
/// waits up to 10 s for another process; a process killed in between leaves what stood before.
///
/// `@unchecked`: everything but `connection` is an immutable value, and `connection` is touched only
/// inside `access`, while `lock` is held.
public final class HealthStore: @unchecked Sendable {
    let sealer: Sealer
    let path: String
    private let connection: Connection
    private let lock = Mutex(())

    /// Opens the store of a state directory, which is made where it is missing.
    ///
    /// - Parameter environment: the process's; `CREDENTIALS_DIRECTORY` and `CLARITY_JOBS_KEY` say
    ///   where the master key is, else it is `master.key` in the state directory, made on first use.
    /// - Throws: `lostKey` when there is a store without a key: no new key is ever made for it;
    ///   `wrongKey`, `schema`, `directory`, `key` or `database` for what their names say.
    public convenience init(
        stateDirectory: String, environment: [String: String]
    ) throws(HealthStoreError) {
        do {
            _ = try StateDirectory(path: stateDirectory)
        } catch {
            throw .directory(error)
        }
        let file = HealthFile(in: stateDirectory)
        let key = try HealthStore.key(of: file, environment) {
            source throws(MasterKeyError) in try source.create()
        }
        try file.make()
        try self.init(
            path: file.path, key: key,
            connection: { () throws(SQLiteError) in
                try Connection(path: file.path, access: .readWrite)
            })
    }

    /// Whether a state directory has a store; opening one where there is none makes it.
    public static func exists(in stateDirectory: String) -> Bool {
        HealthFile(in: stateDirectory).exists
    }

    /// Takes a connection, brings its schema up to date and checks the key.
    init(
        path: String, key: MasterKey, connection open: () throws(SQLiteError) -> Connection
    ) throws(HealthStoreError) {
        self.path = path
        do {
            sealer = try Sealer(key)
            connection = try open()
            // First, so that a file that is not ours stays as it is.
            _ = try HealthSchema.migrations.version(of: connection)
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            try connection.useWriteAheadLog()
            try connection.execute(
                """
                PRAGMA synchronous = FULL;
                PRAGMA foreign_keys = ON;
                PRAGMA trusted_schema = OFF;
                """)
            try HealthSchema.migrations.migrate(connection)
            try HealthStore.checkCanary(connection, sealer)
        } catch let error as SealingError where error.table == "canary" {
            throw .wrongKey(path: path)
        } catch {
            throw HealthStore.described(error, path)
        }
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

    /// Writes in one transaction, which an error undoes as a whole.
    func change<Result>(
        _ body: (Connection) throws -> Result
    ) throws(HealthStoreError) -> Result {
        try access { connection in try connection.transaction { try body(connection) } }
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

    /// A known text, sealed when the file was new: the key that opens it is the file's.
    private static func checkCanary(_ connection: Connection, _ sealer: Sealer) throws {
        let row = RowIdentity("canary")
        let query = "SELECT sealed FROM canary"
        if let sealed = try connection.first(query, map: { $0.blob(0) }) {
            _ = try sealer.open(sealed, for: row)
            return
        }
        // Two processes may have opened the new file at once; the first one's canary stays.
        try connection.run(
            "INSERT INTO canary (id, sealed) VALUES (1, ?) ON CONFLICT DO NOTHING",
            .blob(sealer.seal([], for: row)))
        if let sealed = try connection.first(query, map: { $0.blob(0) }) {
            _ = try sealer.open(sealed, for: row)
        }
    }

    private static func described(_ error: any Error, _ path: String) -> HealthStoreError {
        switch error {
        case let error as HealthStoreError: error
        case let error as SQLiteError: .database(error, path: path)
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
