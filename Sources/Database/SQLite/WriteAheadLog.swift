import CSQLite

// The write-ahead log and its checkpoints.

extension FileConnection {
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
