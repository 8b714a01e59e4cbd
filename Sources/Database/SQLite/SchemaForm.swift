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

    /// Creates a form.
    public init(applicationID: Int64, oldest: Int, version: Int, mark: UInt64) {
        self.applicationID = applicationID
        self.oldest = oldest
        self.version = version
        self.mark = mark
    }
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
        try requireSchema(form)
    }

    /// Checks only the schema of a database, which must have the version of `form`.
    ///
    /// - Throws: as `requireSoundness`.
    public func requireSchema(_ form: SchemaForm) throws(DatabaseError) {
        guard try schemaMark() == form.mark else {
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
        let ignored = Set(" \n\t\r\"".utf8)
        return statements.joined(separator: ";").utf8.lazy.filter { !ignored.contains($0) }.fnv1a
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
