import CSQLite

extension DatabaseError {
    /// The error for a database file that has become empty. SQLite itself would treat it as new.
    public static let emptied = DatabaseError(code: 11, message: "it is empty, and once was not")
    /// The error for a database file that is gone. SQLite itself would create a new one.
    public static let missing = DatabaseError(
        code: 11, message: "it is missing, and a backup has it")

    /// Creates the error of a result code of SQLite (<https://www.sqlite.org/rescode.html>), such
    /// as 787 for a foreign key.
    public init(code: Int32, message: String, statement: String? = nil) {
        let primary = code & 0xFF
        self.init(
            kind: Kind(primary, message), message: message, code: "SQLite \(primary)",
            statement: statement)
    }
}

extension DatabaseError.Kind {
    /// Creates the kind of a primary result code.
    ///
    /// The statements are fixed and the schema's version has been checked, so a schema without a
    /// table, column or function that a statement names must be damaged. SQLite has no code for it.
    fileprivate init(_ primary: Int32, _ message: String) {
        self =
            switch primary {
            case SQLITE_CONSTRAINT: .constraint
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_FULL, SQLITE_IOERR: .disk
            case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .access
            case SQLITE_CORRUPT, SQLITE_NOTADB: .damage
            case SQLITE_ERROR where DatabaseError.Kind.isOfSchema(message): .damage
            default: .other
            }
    }

    private static func isOfSchema(_ message: String) -> Bool {
        ["no such column", "no such table", "no such function", "unknown function"]
            .contains { message.hasPrefix($0) } || message.contains(" has no column named ")
    }
}
