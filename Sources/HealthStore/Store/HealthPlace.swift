import Platform
import Database
@preconcurrency import Glibc

/// Where health data is, and what only such a place can do.
protocol HealthPlace: Sendable {
    /// The place for messages.
    var name: String { get }
    /// Prevents a restore and a change of the master key while the store is used; `nil` where
    /// nobody can do either.
    var share: StoreLock? { get }
    /// The server that has the data; `nil` for files.
    var server: HealthServerPlace? { get }
    /// The note of the audit log's end; `nil` if there is none.
    var note: (any EndNote)? { get }

    /// Connects to the data, in the form of this version.
    ///
    /// - Parameter keyID: identifies the key, for a backup that is made first.
    func open(keyID: String) throws -> Connection

    /// Returns the key of the data: the one that was given, or one that it wraps here.
    func key(_ given: MasterKey, _ connection: Connection) throws -> MasterKey

    /// Makes a second connection; `nil` where none would see the same data.
    func lookout() throws -> Connection?

    /// Takes the lock of a number until `unlock`, or until this process ends.
    ///
    /// - Returns: `false` if another process has it.
    func lock(_ number: Int64, _ connection: Connection) throws -> Bool

    func unlock(_ number: Int64, _ connection: Connection) throws

    /// Whether another connection has the lock of a number.
    func isLocked(_ number: Int64, _ connection: Connection) throws -> Bool

    /// Takes the right to renew the session; what it returns has it until it is released.
    ///
    /// - Returns: `nil` while another process, or another caller in this one, has it.
    func lockSession() throws -> AnyObject?

    /// Whether schedulers go by the mark of a login, and not by whether there is a session.
    var marksLogins: Bool { get }

    /// Tells schedulers that somebody has logged in; called in the transaction that says so.
    func markLogin(_ connection: Connection) throws

    /// Tells schedulers that nobody is logged in.
    func unmarkLogin(_ connection: Connection) throws

    /// Returns why the data cannot be opened, by what the place knows besides.
    func explained(_ error: HealthStoreError) -> HealthStoreError
}

extension HealthPlace {
    var server: HealthServerPlace? { nil }
    func key(_ given: MasterKey, _ connection: Connection) throws -> MasterKey { given }
    func explained(_ error: HealthStoreError) -> HealthStoreError { error }
    var note: (any EndNote)? { share }
}

/// The file `health.db` of a state directory.
struct HealthFilePlace: HealthPlace {
    let name: String
    let share: StoreLock?

    init(_ path: String, lock share: StoreLock?) { (name, self.share) = (path, share) }

    var folder: String { String(name.lastIndex(of: "/").map { name[..<$0] } ?? ".") }

    func open(keyID: String) throws -> Connection {
        let connection = try FileConnection(path: name, access: .readWrite)
        try HealthFilePlace.prepare(connection) { _ in
            if share != nil { try HealthFilePlace.backUp(name, keyID: keyID) }
        }
        return connection
    }

    func lookout() throws -> Connection? { try FileConnection(path: name, access: .readWrite) }

    func lock(_ number: Int64, _ connection: Connection) throws -> Bool {
        try share?.lock(byte: number) ?? true
    }

    func unlock(_ number: Int64, _ connection: Connection) throws {
        try share?.unlock(byte: number)
    }

    func isLocked(_ number: Int64, _ connection: Connection) throws -> Bool {
        try StoreLock.isLocked(byte: number, of: HealthFile(of: name))
    }

    func lockSession() throws -> AnyObject? {
        do {
            return try FileLock.take(folder, LOCK_EX, patience: .zero)
        } catch {
            throw StateDirectoryError(path: folder, errno: error.code)
        }
    }
    var marksLogins: Bool { true }
    func markLogin(_ connection: Connection) throws { try StateDirectory.markLogin(in: folder) }
    func unmarkLogin(_ connection: Connection) throws { try StateDirectory.unmarkLogin(in: folder) }

    /// Backs the file up, with the account's own key if it has one, before its schema changes.
    static func backUp(_ path: String, keyID: String) throws {
        let source = try FileConnection(path: path, access: .readOnly)
        try BackupFolder.makeBeforeMigration(
            of: path, sizeBytes: source.sizeBytes(), key: keyID,
            with: { try WrappedKey.copy(from: HealthFile(of: path).directory, to: $0) },
            copy: { try source.writeCopy(to: $0, form: nil) })
    }

    /// Configures a connection to the file as all connections are, and migrates the schema.
    ///
    /// - Parameter keeping: backs the file up; called before its schema changes.
    static func prepare(_ connection: FileConnection, keeping: (Int) throws -> Void) throws {
        // Checked first, so that a file that is not ours stays unchanged.
        let version = try HealthSchema.migrations.version(of: connection)
        // 0.1.0 was cut short while it encrypted the rows of an older file.
        if version > 0, try connection.hasRows("form_upgrade") { throw Migrations.Fault.older }
        // Set only if it differs (2 is incremental), because SQLite writes it each time.
        if try connection.integer("PRAGMA auto_vacuum") != 2 {
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
}

/// A private copy, for a dry run: it sends nothing, and nobody else sees it.
struct HealthCopyPlace: HealthPlace {
    let original: any HealthPlace
    /// Makes the copy.
    let copy: @Sendable () throws -> FileConnection
    /// Whether another process has the lock of a number.
    let isLocked: @Sendable (Int64) throws -> Bool
    /// Returns the key of the data, given the one that was found for it.
    var ownKey: @Sendable (MasterKey) throws -> MasterKey = { $0 }

    var name: String { original.name }
    var share: StoreLock? { nil }
    var server: HealthServerPlace? { original.server }

    func open(keyID: String) throws -> Connection {
        let connection = try copy()
        try HealthFilePlace.prepare(connection) { _ in }
        return connection
    }

    func key(_ given: MasterKey, _ connection: Connection) throws -> MasterKey {
        try ownKey(given)
    }

    func lookout() throws -> Connection? { nil }
    func lock(_ number: Int64, _ connection: Connection) throws -> Bool { true }
    func unlock(_ number: Int64, _ connection: Connection) throws {}
    func isLocked(_ number: Int64, _ connection: Connection) throws -> Bool {
        try isLocked(number)
    }

    func lockSession() throws -> AnyObject? { try original.lockSession() }
    var marksLogins: Bool { false }
    func markLogin(_ connection: Connection) {}
    func unmarkLogin(_ connection: Connection) {}
}

/// The random number by which other attempts know an attempt that sends batches.
///
/// While the attempt lives, it holds the lock of that number (`HealthPlace.lock`), which ends with
/// it, however it ends. So the next upload knows which batches nobody sends any more.
struct UploadOwner: Hashable, Sendable {
    let number: Int64

    /// Draws a number that no living attempt has, and takes its lock.
    init(in place: any HealthPlace, _ connection: Connection) throws {
        var drawn: Int64
        repeat {
            drawn = .random(in: 1...(1 << 62))
        } while try !place.lock(drawn, connection)
        number = drawn
    }
}
