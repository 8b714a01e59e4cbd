import Database

/// The server's data in one SQLite file; used by one thread at a time.
final class Store {
    let database: FileConnection
    /// The ids that were stored since the last call of `noteSend`.
    var newlyStored: Set<String> = []

    /// Opens `sandbox.db` in `directory`, which must exist, and migrates its schema.
    ///
    /// - Parameter version: the version to migrate to; tests begin with earlier ones.
    /// - Throws: `DatabaseError` or `Migrations.Fault` if the file cannot be used.
    init(directory: String, version: Int = .max) throws {
        database = try FileConnection(path: "\(directory)/sandbox.db")
        try database.execute("PRAGMA journal_mode = WAL")
        // A killed server loses nothing, because committed data is in the page cache. Only a crash
        // of the whole machine could lose the last commits, which a stand-in need not survive.
        try database.execute("PRAGMA synchronous = NORMAL")
        try database.execute("PRAGMA foreign_keys = ON")
        var migrations = Migrations.sandbox
        migrations.steps = Array(migrations.steps.prefix(version))
        try migrations.migrate(database)
    }

    /// Runs `body` in one transaction.
    func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try database.transaction(body)
    }

    /// Counts an answer by its outcome.
    func count(_ outcome: String) throws {
        try database.run(
            """
            INSERT INTO answers (outcome, count) VALUES (?, 1)
            ON CONFLICT (outcome) DO UPDATE SET count = count + 1
            """, .text(outcome))
    }

    /// Returns how often each outcome was answered, sorted by name.
    func answers() throws -> [(name: String, count: Int)] {
        try counts("SELECT outcome, count FROM answers ORDER BY outcome")
    }

    /// Returns the result of a query for one number.
    func number(_ sql: String, _ values: Value...) throws -> Int {
        try all(sql, values) { Int($0.integer(0)) }.first ?? 0
    }

    /// Returns the results of a query for a word and a number, such as a count by type.
    func counts(_ sql: String, _ values: Value...) throws -> [(name: String, count: Int)] {
        try all(sql, values) { ($0.text(0), Int($0.integer(1))) }
    }

    /// Returns an element for each row, in the order of the rows.
    ///
    /// - Throws: the first error of `map`, after the last row.
    func all<Element>(
        _ sql: String, _ values: [Value], map: (borrowing Row) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        var fault: (any Error)?
        try database.forEach(sql, values) { row in
            do { elements.append(try map(row)) } catch { fault = fault ?? error }
        }
        if let fault { throw fault }
        return elements
    }
}
