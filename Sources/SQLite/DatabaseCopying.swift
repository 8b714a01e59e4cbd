// Copies of whole databases that may lie for years.
extension Connection {
    /// Copies this database, with all that is committed, into an empty file, and proves the copy.
    ///
    /// One state of the database is copied; others write meanwhile as ever. The file is not synced.
    ///
    /// - Parameter form: the schema that a database of its version has; `nil` where nobody knows.
    /// - Returns: the version of the copy's schema (`PRAGMA user_version`).
    /// - Throws: `SQLiteError`; of damage (11) when the copy does not hold together, as when this
    ///   database does not.
    public func writeCopy(to path: String, form: SchemaForm?) throws(SQLiteError) -> Int {
        do {
            let target = try Connection(path: path, access: .readWrite)
            // Whoever wants the copy syncs it; one that is cut short is thrown away.
            try target.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            try copy(into: target)
        }
        let written = try Connection(path: path, access: .immutable)
        try written.demandSoundness(form)
        return try written.first("PRAGMA user_version") { Int($0.integer(0)) } ?? 0
    }

    /// About how many bytes a copy has.
    public func sizeBytes() throws(SQLiteError) -> Int64 {
        let pages = try first("PRAGMA page_count") { $0.integer(0) } ?? 0
        return pages * (try first("PRAGMA page_size") { $0.integer(0) } ?? 0)
    }
}
