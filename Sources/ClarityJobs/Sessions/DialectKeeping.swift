import SQLite

// Which dialect each backend spoke when it was asked last. Neither is health data nor a secret: the
// address stands in the job file.

extension HealthSchema {
    static let dialects = """
        CREATE TABLE dialects (
            backend TEXT PRIMARY KEY,
            name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 40)
        ) STRICT, WITHOUT ROWID;
        """
}

extension HealthStore {
    /// The dialect that was remembered for the backend at `base`.
    public func dialect(of base: String) throws(HealthStoreError) -> String? {
        try access { connection in
            try connection.first(
                "SELECT name FROM dialects WHERE backend = ?", .text(base), map: { $0.text(0) })
        }
    }

    /// Remembers a dialect's name, of 1 to 40 characters, in place of any earlier one.
    public func remember(_ dialect: String, of base: String) throws(HealthStoreError) {
        // Also before the login that follows a logout.
        try changeAnyway { connection in
            try connection.run(
                """
                INSERT INTO dialects (backend, name) VALUES (?, ?)
                ON CONFLICT (backend) DO UPDATE SET name = excluded.name
                """, .text(base), .text(dialect))
        }
    }
}
