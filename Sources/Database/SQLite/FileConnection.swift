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
    /// What hears of changed rows (`watchRows`).
    public internal(set) var rowWatch: (any RowWatch)?

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

// What a file needs of its user, unlike a server.

extension FileConnection {
    /// Copies the log into the file and truncates the log; waits for readers.
    public func emptyLog() throws(DatabaseError) {
        let isHeld = try first("PRAGMA wal_checkpoint(TRUNCATE)") { $0.integer(0) }
        // SQLITE_BUSY, which this pragma returns as a row.
        if isHeld == 1 {
            throw DatabaseError(code: 5, message: "another process reads the database")
        }
    }

    /// Returns the size of the file, and the number of its pages that are unused.
    func space() throws(DatabaseError) -> (bytes: Int64, unused: Int64) {
        try first(
            """
            SELECT page_count * page_size, freelist_count
            FROM pragma_page_count, pragma_page_size, pragma_freelist_count
            """
        ) { ($0.integer(0), $0.integer(1)) } ?? (0, 0)
    }

    /// Checks that the file is as long as its pages.
    ///
    /// SQLite rounds the length of a file up to a whole page and reads the missing bytes as zeros.
    /// `PRAGMA integrity_check` does not look into values, so a blob that has lost its end passes
    /// it. The next write behind the last page fills the gap with zeros for good.
    ///
    /// A write-ahead log that is not empty may still have the missing bytes: if a process dies
    /// during a checkpoint, the next one copies the page again. Such a file passes.
    ///
    /// - Throws: `DatabaseError` with code 11 if the end of the last page is missing.
    func requireWholePages() throws(DatabaseError) {
        // A transaction that has added pages writes them when it commits.
        guard sqlite3_txn_state(handle, "main") != SQLITE_TXN_WRITE else { return }
        let pageBytes = try first("PRAGMA page_size") { $0.integer(0) } ?? 0
        // While the statement has its row, it has a snapshot: nobody can empty the log between the
        // number of pages and the lengths.
        let gap = try first("PRAGMA page_count") { row -> (found: Int64, needed: Int64)? in
            let needed = row.integer(0) * pageBytes
            guard let found = sizeBytes(of: SQLITE_FCNTL_FILE_POINTER), found < needed,
                (sizeBytes(of: SQLITE_FCNTL_JOURNAL_POINTER) ?? 0) == 0
            else { return nil }
            return (found, needed)
        }
        guard let gap else { return }
        throw DatabaseError(
            code: 11,
            message: "database is damaged: the file has \(gap.found) bytes, its pages have "
                + "\(gap.needed)")
    }

    /// Returns the length of the database's file, or of its journal or log; `nil` if it is not open.
    private func sizeBytes(of file: Int32) -> Int64? {
        var opened: UnsafeMutablePointer<sqlite3_file>?
        var length: Int64 = 0
        guard sqlite3_file_control(handle, "main", file, &opened) == SQLITE_OK, let opened,
            let methods = opened.pointee.pMethods,
            methods.pointee.xFileSize(opened, &length) == SQLITE_OK
        else { return nil }
        return length
    }

    // The write-ahead log and its checkpoints.

    /// Switches the file to a write-ahead log, for every connection to it.
    ///
    /// A temporary database has none and stays as it is.
    ///
    /// - Throws: `DatabaseError`; busy if others hold the file for longer than `busyTimeout`.
    public func useWriteAheadLog() throws(DatabaseError) {
        // When two connections change a new file's mode at once, SQLite does not wait for the lock,
        // because that could be a deadlock. The second attempt of the loser finds the mode changed.
        let deadline = ContinuousClock.now + busyTimeout
        while true {
            do {
                return try execute("PRAGMA journal_mode = WAL")
            } catch {
                guard error.isBusy, ContinuousClock.now < deadline else { throw error }
                sqlite3_sleep(2)
            }
        }
    }

    /// Copies the write-ahead log into the file as far as readers allow, so that one of the next
    /// commits restarts the log.
    ///
    /// No other connection can write at the same time. SQLite before 3.51.3 may lose committed data
    /// if a commit restarts the log while another process copies it (sqlite.org/wal.html, "The
    /// WAL-Reset Bug"). This method therefore replaces SQLite's own checkpoint after a commit. The
    /// checkpoint that SQLite runs when the last connection closes keeps writers out by itself. So
    /// does `wal_checkpoint(TRUNCATE)`, unless others write for longer than `busyTimeout`.
    ///
    /// - Returns: `false` if another connection is writing; then nothing is copied.
    /// - Throws: `DatabaseError` if the file cannot be read or written.
    @discardableResult
    public func checkpoint() throws(DatabaseError) -> Bool {
        // A private temporary database has no name and no log.
        guard let name = sqlite3_db_filename(handle, "main"), name.pointee != 0 else { return true }
        // SQLite refuses a checkpoint inside a transaction, so another connection takes the write
        // lock.
        let barrier = try FileConnection(
            path: String(cString: name), access: .readWrite, busyTimeout: .zero)
        do {
            try barrier.execute("BEGIN IMMEDIATE")
        } catch {
            guard error.isBusy else { throw error }
            return false
        }
        defer { barrier.engine.rollBack() }
        try execute("PRAGMA main.wal_checkpoint(PASSIVE)")
        return true
    }

    /// Replaces SQLite's automatic checkpoint: calls `checkpoint()` after each commit that leaves
    /// `logLimit` pages or more in the log.
    func watchLog() {
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                let connection = Unmanaged<FileConnection>.fromOpaque(context).takeUnretainedValue()
                guard pages >= connection.logLimit else { return SQLITE_OK }
                do throws(DatabaseError) {
                    try connection.checkpoint()
                } catch {
                    // The commit has succeeded and nothing is lost. The next commit tries again.
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}
