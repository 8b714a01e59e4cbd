// Copies of whole databases, which may be kept for years.
extension Connection {
    /// Copies everything that is committed in this database into an empty file, and checks the
    /// copy.
    ///
    /// The copy holds one state of the database, and others may write at the same time. The file is
    /// not synced.
    ///
    /// - Parameter form: the schema that a database of its version has; `nil` if unknown.
    /// - Returns: the version of the copy's schema (`PRAGMA user_version`).
    /// - Throws: `SQLiteError`; with code 11 if the copy is damaged, as it is when this database
    ///   is.
    public func writeCopy(to path: String, form: SchemaForm?) throws(SQLiteError) -> Int {
        do {
            let target = try Connection(path: path, access: .readWrite)
            // The caller syncs the copy, and discards one that is incomplete.
            try target.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            try copy(into: target)
        }
        let written = try Connection(path: path, access: .immutable)
        try written.requireSoundness(form)
        return try written.first("PRAGMA user_version") { Int($0.integer(0)) } ?? 0
    }

    /// Returns the approximate size of a copy in bytes.
    public func sizeBytes() throws(SQLiteError) -> Int64 {
        let pages = try first("PRAGMA page_count") { $0.integer(0) } ?? 0
        return pages * (try first("PRAGMA page_size") { $0.integer(0) } ?? 0)
    }
}
