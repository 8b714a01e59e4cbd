import CSQLite

extension FileConnection {
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
}
