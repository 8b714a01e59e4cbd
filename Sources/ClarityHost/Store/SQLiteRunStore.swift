public import ClarityScheduler
public import Platform
import Database

/// Stores runs in `history.db`, a SQLite file in WAL mode that any number of processes share.
///
/// A decision is one `BEGIN IMMEDIATE` transaction that covers its reads and its writes, so that
/// two processes never decide on the same state. Commits use `synchronous=FULL`.
public final class SQLiteRunStore: RunStore {
    private let connection: FileConnection
    private let path: String
    private var shared: SharedLedger
    private let signals: ChangeSignals
    /// Prevents a restore of the state directory while the store is open.
    private var share: FileLock?
    /// The lock that proves this process's leases.
    public let leaseLock: LeaseLock
    /// The locks of the attempts that this process starts.
    public let attemptLocks: AttemptLocks
    /// The number of changes written since the last checkpoint.
    private var loggedChanges = 0

    /// Opens the store, and creates it if it does not exist.
    ///
    /// - Parameter isDurable: whether a commit waits until it is on the disk; a history that is soon
    ///   thrown away need not.
    /// - Throws: `RunStoreError` if the folder or the file cannot be used.
    public init(
        in directory: StateDirectory, uniqueNumber: UInt64, isDurable: Bool = true
    ) throws(RunStoreError) {
        let owners: String
        do throws(StateDirectoryError) {
            share = try directory.share()
            owners = try directory.makeFolder("owners")
            leaseLock = try LeaseLock(folder: owners, uniqueNumber: uniqueNumber)
            attemptLocks = try AttemptLocks(in: directory, owner: leaseLock.owner)
        } catch {
            throw RunStoreError(error)
        }
        let leases = Leases(inDirectory: directory.path, ownOwner: leaseLock.owner)
        leases.removeLapsed()
        signals = ChangeSignals(folder: owners, ownOwner: leaseLock.owner)
        let path = "\(directory.path)/history.db"
        self.path = path
        let connection = try rethrowing(path) {
            try demandUsable(path)
            let connection = try FileConnection(path: path)
            // Check this first, so that a file of another program stays as it is.
            _ = try historyMigrations.version(of: connection)
            try connection.useWriteAheadLog()
            try connection.execute(
                """
                PRAGMA synchronous = \(isDurable ? "FULL" : "OFF");
                -- Those 4,000 pages: a reader may hold the log while it grows beyond them.
                PRAGMA journal_size_limit = 16777216;
                """)
            connection.logLimit = 4000
            try migrateHistory(connection, at: path)
            try SQLiteRunStore.giveBackPages(of: connection, path)
            // Enable this only now: a migration recreates tables that others refer to.
            try connection.execute("PRAGMA foreign_keys = ON")
            return connection
        }
        self.connection = connection
        shared = SharedLedger(connection, FilePeers(leases))
    }

    /// Shrinks a file if more than half of its pages, and at least 1,000, are free, as after a
    /// migration that drops tables. Pages that retention frees are soon used again.
    ///
    /// Does not wait for other processes. A failure changes nothing, and the next opening tries
    /// again.
    private static func giveBackPages(
        of connection: Connection, _ path: String
    ) throws(DatabaseError) {
        let pages = try connection.first(
            "SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count"
        ) { (free: $0.integer(0), all: $0.integer(1)) }
        guard let pages, pages.free >= 1000, 2 * pages.free > pages.all else { return }
        do throws(DatabaseError) {
            let other = try FileConnection(path: path, access: .readWrite, busyTimeout: .zero)
            try other.execute("VACUUM")
            try other.checkpoint()
        } catch {
            // Another process writes, or the disk has no room for a copy of the used pages.
        }
    }

    public func decide(
        recalling starts: StartRecall?, _ decide: (Ledger) -> [LedgerChange]
    ) throws(RunStoreError) {
        let written = try rethrowing(path) {
            try shared.decide(recalling: starts) { attemptLocks.live.completing(decide($0)) }
        }
        loggedChanges += written.changes.count
        attemptLocks.remove(ended: written.changes)
        if written.isNews { signals.send() }
    }

    public func end() {
        leaseLock.release()
        share = nil
    }

    /// Checkpoints the write-ahead log after 200 or more changes.
    ///
    /// Otherwise the checkpoint happens in the middle of a commit, with two more syncs, which
    /// delayed one run in a hundred. The log's limit of 16 MiB remains for a process that never
    /// rests.
    public func tidy() {
        guard loggedChanges >= 200 else { return }
        do throws(DatabaseError) {
            if try connection.checkpoint() { loggedChanges = 0 }
        } catch {
            // Nothing is lost: the next 200 changes trigger another try.
            loggedChanges = 0
        }
    }

    public func ledger(recalling starts: StartRecall?) throws(RunStoreError) -> Ledger {
        try rethrowing(path) { try shared.ledger(recalling: starts) }
    }
}

/// Checks the path of a history before SQLite opens it.
///
/// - Throws: `StateDirectoryError` if something other than an ordinary file is there;
///   `DatabaseError.emptied` or `.missing` if a file with contents was lost.
func demandUsable(_ path: String) throws {
    let file = DatabaseFile(path)
    try file.requirePlain()
    switch file.loss {
    case .emptied: throw DatabaseError.emptied
    case .missing: throw DatabaseError.missing
    case nil: break
    }
}

extension RunStoreError {
    /// Creates the error of a store whose state directory cannot be used.
    public init(_ error: StateDirectoryError) {
        self = error.isDisk ? .disk(error.description) : .unreachable(error.description)
    }
}

/// Runs `body`, and rethrows every failure of SQLite as a `RunStoreError`.
func rethrowing<Result>(
    _ path: String, _ body: () throws -> Result
) throws(RunStoreError) -> Result {
    do {
        return try body()
    } catch let error as RunStoreError {
        throw error
    } catch let error as DatabaseError {
        let text = "cannot use history `\(path)`: \(error)"
        if error.isDisk { throw .disk(text) }
        if error.isAccess { throw .unreachable(text) }
        if error.isDamage { throw .disk("\(text); \(DamageAdvice.words(about: path))") }
        if error.isConstraint { throw .refused(text) }
        throw .unreachable(text)
    } catch let error as BackupError {
        let text = "cannot bring history `\(path)` up to date: \(error)"
        if error.isDisk { throw .disk(text) }
        throw .unreachable(text)
    } catch let error as StateDirectoryError {
        throw RunStoreError(error)
    } catch Migrations.Fault.foreign {
        throw .unusable("cannot use history `\(path)`: it belongs to another program")
    } catch Migrations.Fault.newer(let found, let known) {
        throw .otherVersion(
            "history `\(path)` has version \(found), this program knows \(known); use a newer "
                + "clarity-jobs")
    } catch Migrations.Fault.older {
        throw .otherVersion("history `\(path)` \(Migrations.Fault.olderText)")
    } catch {
        throw .refused("cannot use history `\(path)`: \(error)")
    }
}
