import CSQLite

/// An error from SQLite: its extended result code, its message and the statement.
///
/// It never contains bound values.
public struct SQLiteError: Error, Hashable, Sendable {
    /// The extended result code, such as 787 for a foreign key.
    public var code: Int32
    public var message: String
    /// The statement's text with its placeholders; `nil` if no statement was involved.
    public var statement: String?

    /// The error for a database file that has become empty. SQLite itself would treat it as new.
    public static let emptied = SQLiteError(code: 11, message: "it is empty, and once was not")
    /// The error for a database file that is gone. SQLite itself would create a new one.
    public static let missing = SQLiteError(code: 11, message: "it is missing, and a backup has it")

    /// Creates an error.
    public init(code: Int32, message: String, statement: String? = nil) {
        self.code = code
        self.message = message
        self.statement = statement
    }

    /// The primary result code, such as 19 for every kind of constraint.
    public var primaryCode: Int32 { code & 0xFF }

    /// Returns the message of a connection's last failure.
    ///
    /// If SQLite only knows that the system refused, the system's reason is appended.
    static func message(of connection: OpaquePointer, _ code: Int32) -> String {
        let message = String(cString: sqlite3_errmsg(connection))
        let reason = sqlite3_system_errno(connection)
        guard [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xFF), reason != 0 else {
            return message
        }
        return "\(message): \(String(cString: csqlite_reason(reason)).lowercased())"
    }

    /// Whether a constraint of the schema refused a row.
    public var isConstraint: Bool { primaryCode == SQLITE_CONSTRAINT }

    /// Whether another connection held a lock, so that a retry may succeed.
    public var isBusy: Bool {
        [SQLITE_BUSY, SQLITE_LOCKED].contains(primaryCode)
    }

    /// Whether the disk is full or cannot be read or written.
    public var isDisk: Bool {
        [SQLITE_FULL, SQLITE_IOERR].contains(primaryCode)
    }

    /// Whether the file cannot be opened or written by this user.
    public var isAccess: Bool {
        [SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH].contains(primaryCode)
    }

    /// Whether the file is not a database or is damaged.
    ///
    /// This includes a schema without a table, column or function that a statement names. The
    /// statements are fixed and the schema's version has been checked, so such a schema must be
    /// damaged.
    public var isDamage: Bool {
        [SQLITE_CORRUPT, SQLITE_NOTADB].contains(primaryCode)
            || primaryCode == SQLITE_ERROR && SQLiteError.isOfSchema(message)
    }

    /// Whether a message says that a name is not in the schema, for which SQLite has no code.
    private static func isOfSchema(_ message: String) -> Bool {
        ["no such column", "no such table", "no such function", "unknown function"]
            .contains { message.hasPrefix($0) } || message.contains(" has no column named ")
    }
}

extension SQLiteError: CustomStringConvertible {
    /// The message and the primary code, such as `database or disk is full (SQLite 13)` or
    /// `unable to open database file: permission denied (SQLite 14)`. `statement` is left out; it
    /// is for debugging.
    public var description: String { "\(message) (SQLite \(primaryCode))" }
}
