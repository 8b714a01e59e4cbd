/// Which schema a program's files have: its version, and a mark of the statements that make it.
///
/// A bit that turns in a schema's own text leaves every page whole: SQLite's `integrity_check` finds
/// nothing, and a connection that only reads does not even parse the constraints. What tells is that
/// the text is another one than the steps make.
public struct SchemaForm: Hashable, Sendable {
    public let version: Int
    public let mark: UInt64

    /// As `description` has it; `nil` for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let version = Int(parts[0]), version >= 0,
            let mark = UInt64(parts[1], radix: 16)
        else { return nil }
        (self.version, self.mark) = (version, mark)
    }

    fileprivate init(version: Int, mark: UInt64) {
        (self.version, self.mark) = (version, mark)
    }
}

extension SchemaForm: CustomStringConvertible {
    /// `4:9f3c21d07a5b6e88`.
    public var description: String { "\(version):\(String(mark, radix: 16))" }
}

extension Migrations {
    /// The schema that all the steps make.
    public func form() throws(SQLiteError) -> SchemaForm {
        let made = try Connection(path: ":memory:", access: .readWrite)
        for step in steps { try made.execute(step) }
        return SchemaForm(version: steps.count, mark: try made.schemaMark())
    }
}

extension Connection {
    /// Makes sure that every page, row and index of the database holds together, and that its schema
    /// is that of `form`, where it has that version.
    ///
    /// - Throws: `SQLiteError` of damage (11) with the first of what is wrong.
    public func demandSoundness(_ form: SchemaForm?) throws(SQLiteError) {
        let found = try first("PRAGMA integrity_check(1)") { $0.text(0) }
        guard found == "ok" else {
            // SQLite's words name tables, indexes and pages, never a value.
            let words = found?.split(separator: "\n").first { !$0.hasPrefix("***") }
            throw SQLiteError(
                code: 11, message: "database is damaged: \(words ?? found?[...] ?? "no answer")")
        }
        let version = try first("PRAGMA user_version") { Int($0.integer(0)) } ?? 0
        guard let form, form.version == version else { return }
        try demandSchema(form)
    }

    /// Makes sure of the schema alone, of a database of its version.
    ///
    /// - Throws: as `demandSoundness`.
    public func demandSchema(_ form: SchemaForm) throws(SQLiteError) {
        guard try schemaMark() == form.mark else {
            throw SQLiteError(
                code: 11, message: "database is damaged: its schema is not what this program made")
        }
    }

    /// FNV-1a of the statements that made the schema, without spaces and quotation marks, which the
    /// versions of SQLite set as they like where a step changes a table. Two texts of one length that
    /// differ in one other byte never have the same.
    fileprivate func schemaMark() throws(SQLiteError) -> UInt64 {
        let statements = try all(
            """
            SELECT type || name || coalesce(sql, '') FROM sqlite_schema
            WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name
            """
        ) { $0.text(0) }
        let ignored = Set(" \n\t\r\"".utf8)
        return statements.joined(separator: ";").utf8.reduce(0xCBF2_9CE4_8422_2325) { mark, byte in
            ignored.contains(byte) ? mark : (mark ^ UInt64(byte)) &* 0x100_0000_01B3
        }
    }
}
