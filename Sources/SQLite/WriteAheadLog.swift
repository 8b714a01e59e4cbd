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
    /// - Throws: `SQLiteError` when the file cannot be read or written.
    public func checkpoint() throws(SQLiteError) {
        try execute("PRAGMA wal_checkpoint(PASSIVE)")
    }

    func limitLog() {
        sqlite3_wal_autocheckpoint(handle, Int32(clamping: logLimit))
    }
}
