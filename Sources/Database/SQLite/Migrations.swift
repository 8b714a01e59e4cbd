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
    /// The mark of the newest schema (`SchemaForm`), if it is known: a file that has it need not be
    /// compared with a schema that is made for that.
    public let mark: UInt64?
    /// The version after all the steps.
    public var newest: Int { oldest + steps.count }

    /// Creates a list of steps.
    ///
    /// - Parameters:
    ///   - schema: the statements that create the newest version. Without them, a new file takes
    ///     each step.
    ///   - oldest: the version before the first step; 0 if the steps begin with an empty file.
    ///   - mark: that of the newest schema.
    public init(
        applicationID: Int64, schema: String? = nil, oldest: Int = 0, steps: [String],
        mark: UInt64? = nil
    ) {
        self.applicationID = applicationID
        self.schema = schema
        self.oldest = oldest
        self.steps = steps
        self.mark = mark
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
            if try connection.integer("SELECT 1 FROM \"\(name)\" LIMIT 1") != nil { return true }
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
        let version = Int(try connection.integer("PRAGMA user_version") ?? 0)
        let owner = try connection.integer("PRAGMA application_id") ?? 0
        let tables = try connection.first("SELECT count(*) FROM sqlite_schema") { $0.integer(0) }
        if owner != applicationID, version != 0 || tables != 0 {
            throw Fault.foreign(applicationID: owner)
        }
        guard version <= newest else { throw Fault.newer(found: version, known: newest) }
        guard version == 0 || version >= oldest else { throw Fault.older }
        return version
    }
}

/// The newest version of a schema, and a hash of the statements that create it.
///
/// A flipped bit in the schema's own text leaves every page intact. SQLite's `integrity_check`
/// finds nothing, and a connection that only reads does not even parse the constraints. Only a
/// comparison with the text that the migrations create reveals it.
public struct SchemaForm: Hashable, Sendable {
    /// `Migrations.applicationID`.
    public let applicationID: Int64
    /// The oldest version that a file may have (`Migrations.oldest`).
    public let oldest: Int
    public let version: Int
    public let mark: UInt64
}

extension Migrations {
    /// Returns the schema of a new file.
    public func form() throws(DatabaseError) -> SchemaForm {
        let made = try FileConnection(path: ":memory:", access: .readWrite)
        for step in missing(0) { try made.execute(step) }
        return SchemaForm(
            applicationID: applicationID, oldest: oldest, version: newest,
            mark: try made.schemaMark())
    }
}

extension FileConnection {
    /// Checks that every page, row and index of the database is consistent, and that the file holds
    /// all of its last page.
    ///
    /// If the database has the version of `form`, its schema must be that of `form` too.
    ///
    /// - Throws: `DatabaseError` with code 11 and the first fault found.
    public func requireSoundness(_ form: SchemaForm?) throws(DatabaseError) {
        let found = try first("PRAGMA integrity_check(1)") { $0.text(0) }
        guard found == "ok" else {
            // SQLite's message names tables, indexes and pages, never a value.
            let words = found?.split(separator: "\n").first { !$0.hasPrefix("***") }
            throw DatabaseError(
                code: 11, message: "database is damaged: \(words ?? found?[...] ?? "no answer")")
        }
        try requireWholePages()
        let version = try first("PRAGMA user_version") { Int($0.integer(0)) } ?? 0
        guard let form, form.version == version else { return }
        try requireSchema { form.mark }
    }

    /// Checks only the schema of a database, which must have the newest version.
    ///
    /// - Throws: as `requireSoundness`.
    public func requireSchema(of migrations: Migrations) throws(DatabaseError) {
        // Another version of SQLite may keep the text in another way than the one whose mark is known.
        try requireSchema(known: migrations.mark) { () throws(DatabaseError) in
            try migrations.form().mark
        }
    }

    private func requireSchema(
        known: UInt64? = nil, _ wanted: () throws(DatabaseError) -> UInt64
    ) throws(DatabaseError) {
        let mark = try schemaMark()
        if mark == known { return }
        guard try wanted() == mark else {
            throw DatabaseError(
                code: 11, message: "database is damaged: its schema is not what this program made")
        }
    }

    /// Returns the FNV-1a hash of the statements of the schema.
    ///
    /// White space and double quotes are left out, because versions of SQLite place them
    /// differently when a step alters a table. Two texts of the same length that differ in one
    /// other byte always have different hashes.
    fileprivate func schemaMark() throws(DatabaseError) -> UInt64 {
        let statements = try all(
            """
            SELECT type || name || coalesce(sql, '') FROM sqlite_schema
            WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name
            """
        ) { $0.text(0) }
        // Each process that writes does this once: a set of these five costs it half a millisecond.
        return Array(statements.joined(separator: ";").utf8).lazy.filter { byte in
            switch byte {
            case 0x20, 0x0A, 0x09, 0x0D, 0x22: false
            default: true
            }
        }.fnv1a
    }
}

extension Sequence<UInt8> {
    /// The 64-bit FNV-1a hash, which is the same in every process and release.
    var fnv1a: UInt64 {
        reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}

// Copies of whole databases, which may be kept for years.
extension FileConnection {
    /// Copies everything that is committed in this database into an empty file, and checks the
    /// copy.
    ///
    /// The copy holds one state of the database, and others may write at the same time. The file is
    /// not synced.
    ///
    /// - Parameter form: the schema that a database of its version has; `nil` if unknown.
    /// - Returns: the version of the copy's schema (`PRAGMA user_version`).
    /// - Throws: `DatabaseError`; with code 11 if the copy is damaged, as it is when this database
    ///   is.
    public func writeCopy(to path: String, form: SchemaForm?) throws(DatabaseError) -> Int {
        do {
            let target = try FileConnection(path: path, access: .readWrite)
            // The caller syncs the copy, and discards one that is incomplete.
            try target.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
            try copy(into: target)
        }
        let written = try FileConnection(path: path, access: .immutable)
        try written.requireSoundness(form)
        return try written.first("PRAGMA user_version") { Int($0.integer(0)) } ?? 0
    }

    /// Returns the size of the pages that are in use, in bytes.
    public func usedBytes() throws(DatabaseError) -> Int64 {
        let free = try first("PRAGMA freelist_count") { $0.integer(0) } ?? 0
        return try sizeBytes() - free * (first("PRAGMA page_size") { $0.integer(0) } ?? 0)
    }

    /// Returns the approximate size of a copy in bytes.
    public func sizeBytes() throws(DatabaseError) -> Int64 {
        let pages = try first("PRAGMA page_count") { $0.integer(0) } ?? 0
        return pages * (try first("PRAGMA page_size") { $0.integer(0) } ?? 0)
    }
}
