import CSQLite

// The write-ahead log, and when it is copied into the file.

extension Connection {
    /// Makes the file keep a write-ahead log, as it then does for every connection.
    ///
    /// A temporary database has none and stays as it is.
    ///
    /// - Throws: `SQLiteError`; busy when others hold the file for longer than `busyTimeout`.
    public func useWriteAheadLog() throws(SQLiteError) {
        // SQLite does not wait for a lock here when two connections change a new file's mode at
        // once, since waiting could be a deadlock. The loser's second try finds the mode changed.
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

    /// Copies the write-ahead log into the file as far as no reader is in the way, so that it begins
    /// anew with one of the next commits.
    ///
    /// Nobody can write meanwhile. SQLite before 3.51.3 may lose what was committed when a commit
    /// begins the log anew while another process copies it (sqlite.org/wal.html, "The WAL-Reset
    /// Bug"); and so its own copying after a commit is replaced by this. What it copies when the
    /// last connection closes shuts writers out by itself, and so does `wal_checkpoint(TRUNCATE)`,
    /// unless others write for longer than `busyTimeout`.
    ///
    /// - Returns: `false`, with nothing copied, while another connection writes.
    /// - Throws: `SQLiteError` when the file cannot be read or written.
    @discardableResult
    public func checkpoint() throws(SQLiteError) -> Bool {
        // A private temporary database has no name, and no log.
        guard let name = sqlite3_db_filename(handle, "main"), name.pointee != 0 else { return true }
        // SQLite copies no log within a transaction, so the write lock is another connection's.
        let barrier = try Connection(
            path: String(cString: name), access: .readWrite, busyTimeout: .zero)
        do {
            try barrier.execute("BEGIN IMMEDIATE")
        } catch {
            guard error.isBusy else { throw error }
            return false
        }
        defer { barrier.rollBack() }
        try execute("PRAGMA main.wal_checkpoint(PASSIVE)")
        return true
    }

    /// Has `checkpoint()` called in the place of SQLite's own after a commit that leaves
    /// `logLimit` pages or more in the log.
    func watchLog() {
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                guard let context else { return SQLITE_OK }
                let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
                guard pages >= connection.logLimit else { return SQLITE_OK }
                do throws(SQLiteError) {
                    try connection.checkpoint()
                } catch {
                    // The commit stands, and nothing is lost: the next one tries again.
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }
}
