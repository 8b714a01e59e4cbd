import SQLite

// The last detected dialect of each backend. It is neither health data nor a secret, and the
// backend's address is in the job file.

extension HealthSchema {
    static let dialects = """
        CREATE TABLE dialects (
            backend TEXT PRIMARY KEY,
            name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 40)
        ) STRICT, WITHOUT ROWID;
        """
}

extension HealthStore {
    /// Returns the remembered dialect of the backend at `base`, or `nil`.
    public func dialect(of base: String) throws(HealthStoreError) -> String? {
        try access { connection in
            try connection.first(
                "SELECT name FROM dialects WHERE backend = ?", .text(base), map: { $0.text(0) })
        }
    }

    /// Stores a dialect's name, of 1 to 40 characters, in place of any earlier one.
    public func remember(_ dialect: String, of base: String) throws(HealthStoreError) {
        // `changeAnyway`, because this may also happen between a logout and the next login.
        try changeAnyway { connection in
            try connection.run(
                """
                INSERT INTO dialects (backend, name) VALUES (?, ?)
                ON CONFLICT (backend) DO UPDATE SET name = excluded.name
                """, .text(base), .text(dialect))
        }
    }
}
