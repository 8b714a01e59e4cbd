/// A database's schema, and the steps that bring a file of a release to it, oldest first;
/// append-only.
///
/// `PRAGMA user_version` is the version of a file: `oldest` plus the steps taken, or those that a
/// new file has no need of. `PRAGMA application_id` names the program that owns the file.
public struct Migrations: Sendable {
    public typealias Fault = SchemaFault

    /// The number that marks the file as ours.
    public var applicationID: Int64
    /// The version that the files of 0.1.0 have, the first release. A file of an older version is
    /// refused.
    public let oldest: Int
    /// One script for each version after `oldest`.
    public var steps: [String] {
        didSet { schema = nil }
    }
    /// What a new file gets in place of all the steps.
    public private(set) var schema: String?
    /// The version after all the steps.
    public var newest: Int { oldest + steps.count }

    /// Creates a list of steps.
    ///
    /// - Parameters:
    ///   - schema: the statements that create the newest version. Without them, a new file takes
    ///     each step.
    ///   - oldest: the version before the first step; 0 if the steps begin with an empty file.
    public init(
        applicationID: Int64, schema: String? = nil, oldest: Int = 0, steps: [String]
    ) {
        self.applicationID = applicationID
        self.schema = schema
        self.oldest = oldest
        self.steps = steps
    }

    /// Runs the steps that the file still lacks, all in one transaction.
    ///
    /// - Parameter keeping: called before the first step with the version found, if the file has
    ///   rows. It runs while this connection holds the write lock: nobody else can write, but
    ///   another connection can still read the file.
    /// - Throws: `Fault` for a file that is not ours, too new or too old, which stays unchanged;
    ///   otherwise what `keeping` throws, or `DatabaseError`. Every error rolls back.
    public func migrate(
        _ connection: FileConnection, keeping: (Int) throws -> Void = { _ in }
    ) throws {
        // A second process waits here for the first one, which may take long to copy a large file.
        let deadline = ContinuousClock.now + .seconds(120)
        while true {
            if try version(of: connection) == newest { return }
            do {
                return try take(connection, keeping)
            } catch let error as DatabaseError where error.isBusy {
                guard ContinuousClock.now < deadline else { throw error }
            }
        }
    }

    private func take(_ connection: FileConnection, _ keeping: (Int) throws -> Void) throws {
        try connection.transaction {
            // Another process may have migrated while this one waited for the lock.
            let found = try readVersion(of: connection)
            if found < newest, try hasRows(connection) { try keeping(found) }
            for step in missing(found) { try connection.execute(step) }
            try connection.execute("PRAGMA application_id = \(applicationID)")
            try connection.execute("PRAGMA user_version = \(newest)")
        }
    }

    /// The scripts that bring a file of a version to the newest one.
    func missing(_ version: Int) -> ArraySlice<String> {
        if version == 0, let schema { [schema] } else { steps[(version - oldest)...] }
    }

    private func hasRows(_ connection: FileConnection) throws -> Bool {
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

    /// Returns the version of an existing file, 0 for an empty one.
    ///
    /// - Throws: as `migrate`; `DatabaseError` with code 11 for a file that lacks the end of its last
    ///   page.
    public func version(of connection: FileConnection) throws -> Int {
        // Version, owner and tables must come from one state of the file. Reading them separately
        // while another process migrates would describe a file that never existed.
        try connection.snapshot {
            // Before anything is written: the next page written would hide the gap.
            try connection.requireWholePages()
            return try readVersion(of: connection)
        }
    }

    private func readVersion(of connection: FileConnection) throws -> Int {
        let version = try connection.first("PRAGMA user_version") { Int($0.integer(0)) } ?? 0
        let owner = try connection.first("PRAGMA application_id") { $0.integer(0) } ?? 0
        let tables = try connection.first("SELECT count(*) FROM sqlite_schema") { $0.integer(0) }
        if owner != applicationID, version != 0 || tables != 0 {
            throw Fault.foreign(applicationID: owner)
        }
        guard version <= newest else { throw Fault.newer(found: version, known: newest) }
        guard version == 0 || version >= oldest else { throw Fault.older }
        return version
    }
}
