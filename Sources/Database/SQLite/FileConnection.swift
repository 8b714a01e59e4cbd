import CSQLite

/// A connection to a database file of SQLite.
///
/// If the database is busy, it waits for up to `busyTimeout`. The default is enough for thirty
/// others to commit on a disk that needs a second for each commit.
public final class FileConnection: Connection {
    /// How a file is opened.
    public enum Access: Sendable {
        /// Reads and writes, and creates the file if it does not exist.
        case create
        /// Reads and writes an existing file.
        case readWrite
        /// Reads an existing file.
        case readOnly
        /// Reads a file that nobody changes at the same time, and creates no files beside it.
        case immutable
    }

    let handle: OpaquePointer
    let busyTimeout: Duration
    /// The number of pages after which a commit checkpoints the write-ahead log (`checkpoint()`).
    ///
    /// If another connection is writing at that moment, a later commit does it. The default of
    /// 1,000 is SQLite's own.
    public var logLimit = 1000

    /// Opens `path`; an empty path opens a private temporary database that is deleted with the
    /// connection.
    ///
    /// - Throws: `DatabaseError` if the file cannot be opened. A file that is not a database fails
    ///   only at the first statement.
    public init(
        path: String, access: Access = .create, busyTimeout: Duration = .seconds(30)
    ) throws(DatabaseError) {
        let flags =
            switch access {
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readWrite: SQLITE_OPEN_READWRITE
            case .readOnly: SQLITE_OPEN_READONLY
            case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            }
        let name =
            access == .immutable
            ? "file:\(FileConnection.escapedForURI(path))?immutable=1" : path
        let engine = try SQLiteEngine(name, flags: flags, busyTimeout: busyTimeout)
        handle = engine.handle
        self.busyTimeout = busyTimeout
        super.init(engine)
        watchLog()
    }

    /// Copies the whole database into `target`, replacing its content.
    public func copy(into target: FileConnection) throws(DatabaseError) {
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw target.failure(sqlite3_extended_errcode(target.handle))
        }
        let step = sqlite3_backup_step(backup, -1)
        let finish = sqlite3_backup_finish(backup)
        guard step == SQLITE_DONE, finish == SQLITE_OK else {
            throw target.failure(finish == SQLITE_OK ? step : finish)
        }
    }

    public override func expectMuch(logPages: Int, cache: Int) throws(DatabaseError) {
        logLimit = logPages
        try execute("PRAGMA cache_size = \(cache)")
    }

    public override func copyLog() throws(DatabaseError) { try checkpoint() }

    public override func overwrite(_ isOn: Bool) throws(DatabaseError) {
        try execute("PRAGMA secure_delete = \(isOn ? "ON" : "OFF")")
    }

    public override func rewrite() throws(DatabaseError) {
        try emptyLog()
        try execute("VACUUM")
        try emptyLog()
    }

    /// Returns unused pages. After the last portion it checkpoints and truncates the log. Another
    /// process that reads or writes meanwhile may leave part of this for the next time.
    public override func giveBack(
        pages: Int
    ) throws(DatabaseError) -> (freed: Int64, isMore: Bool) {
        let before = try space()
        try execute("PRAGMA incremental_vacuum(\(pages))")
        let after = try space()
        // If nothing was freed, there is no more: otherwise the caller would loop for ever.
        let isMore = after.unused > 0 && after.bytes < before.bytes
        if !isMore { try execute("PRAGMA wal_checkpoint(TRUNCATE)") }
        return (max(0, before.bytes - after.bytes), isMore)
    }

    private func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(code: code, message: SQLiteEngine.message(of: handle, code))
    }

    private static func escapedForURI(_ path: String) -> String {
        path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
    }
}
