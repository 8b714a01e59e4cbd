/// The steps that make a database's schema, oldest first; append-only.
///
/// `PRAGMA user_version` counts the steps taken, `PRAGMA application_id` says whose file it is.
public struct Migrations: Sendable {
    /// Why a file's schema cannot be brought up to date.
    public enum Fault: Error, Hashable, Sendable {
        /// The file belongs to another program, or to another part of this one.
        case foreign(applicationID: Int64)
        /// The file was written by a newer version.
        case newer(found: Int, known: Int)
    }

    /// The number that marks the file as ours.
    public var applicationID: Int64
    /// One script a version; step 0 makes version 1 of an empty file.
    public var steps: [String]

    /// Creates a list of steps.
    public init(applicationID: Int64, steps: [String]) {
        self.applicationID = applicationID
        self.steps = steps
    }

    /// Takes the steps that the file still lacks, all in one transaction.
    ///
    /// - Parameter keeping: called with the version found, while nobody else can write and before
    ///   anything has changed, for a file that has rows; another connection still reads the file.
    /// - Throws: `Fault` for a file that is not ours or too new, which is left as it is; what
    ///   `keeping` throws, `SQLiteError` for everything else, which roll back.
    public func migrate(
        _ connection: Connection, keeping: (Int) throws -> Void = { _ in }
    ) throws {
        // Whoever comes second waits for the first, whose copy of a large file takes its time.
        let deadline = ContinuousClock.now + .seconds(120)
        while true {
            if try version(of: connection) == steps.count { return }
            do {
                return try take(connection, keeping)
            } catch let error as SQLiteError where error.isBusy {
                guard ContinuousClock.now < deadline else { throw error }
            }
        }
    }

    private func take(_ connection: Connection, _ keeping: (Int) throws -> Void) throws {
        try connection.transaction {
            // Another process may have migrated while this one waited for the lock.
            let found = try readVersion(of: connection)
            if found < steps.count, try hasRows(connection) { try keeping(found) }
            for step in steps[found...] { try connection.execute(step) }
            try connection.execute("PRAGMA application_id = \(applicationID)")
            try connection.execute("PRAGMA user_version = \(steps.count)")
        }
    }

    private func hasRows(_ connection: Connection) throws -> Bool {
        let tables = try connection.all(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ) { $0.text(0) }
        for table in tables {
            let name = table.replacing("\"", with: "\"\"")
            if try connection.first("SELECT 1 FROM \"\(name)\" LIMIT 1", map: { $0.integer(0) })
                != nil
            {
                return true
            }
        }
        return false
    }

    /// The version of an existing file, 0 for an empty one.
    ///
    /// - Throws: as `migrate`.
    public func version(of connection: Connection) throws -> Int {
        // One state of the file: version, owner and tables read while another process migrates
        // would together describe a file that never was.
        try connection.snapshot { try readVersion(of: connection) }
    }

    private func readVersion(of connection: Connection) throws -> Int {
        let version = try connection.first("PRAGMA user_version") { Int($0.integer(0)) } ?? 0
        let owner = try connection.first("PRAGMA application_id") { $0.integer(0) } ?? 0
        let tables = try connection.first("SELECT count(*) FROM sqlite_schema") { $0.integer(0) }
        if owner != applicationID, version != 0 || tables != 0 {
            throw Fault.foreign(applicationID: owner)
        }
        guard version <= steps.count else {
            throw Fault.newer(found: version, known: steps.count)
        }
        return version
    }
}
