import SQLite

/// What the server keeps, in one SQLite file; used by one thread at a time.
final class Store {
    let database: Connection
    /// The ids that were stored since `noteSend` last took them.
    var newlyStored: Set<String> = []

    /// Opens `sandbox.db` in `directory`, which exists, and brings its schema up to date, or to
    /// an earlier version, which tests begin with.
    ///
    /// - Throws: `SQLiteError` or `Migrations.Fault` when the file cannot be used.
    init(directory: String, version: Int = .max) throws {
        database = try Connection(path: "\(directory)/sandbox.db")
        try database.execute("PRAGMA journal_mode = WAL")
        // A killed server loses nothing: what is committed is in the page cache. Only the loss of
        // the whole machine could take the last commits, which no stand-in need survive.
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

    /// Counts an answer.
    func count(_ outcome: String) throws {
        try database.run(
            """
            INSERT INTO answers (outcome, count) VALUES (?, 1)
            ON CONFLICT (outcome) DO UPDATE SET count = count + 1
            """, .text(outcome))
    }

    /// How often each outcome was answered, by name.
    func answers() throws -> [(outcome: String, count: Int)] {
        try database.all("SELECT outcome, count FROM answers ORDER BY outcome") { row in
            (row.text(0), Int(row.integer(1)))
        }
    }

    /// The number that a query of one number gives.
    func number(_ sql: String) throws -> Int {
        try database.first(sql) { Int($0.integer(0)) } ?? 0
    }
}
