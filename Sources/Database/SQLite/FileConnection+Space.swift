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
}
