import CSQLite

/// A refusal of SQLite: its extended result code, its words and the statement.
///
/// Bound values are never part of it.
public struct SQLiteError: Error, Hashable, Sendable {
    /// The extended result code, such as 787 for a foreign key.
    public var code: Int32
    public var message: String
    /// The statement's text with its placeholders, when one was involved.
    public var statement: String?

    /// The error of a database of which nothing is left: SQLite itself takes it for a new one.
    public static let emptied = SQLiteError(code: 11, message: "it is empty, and once was not")
    /// The error of a database that is gone, where SQLite itself would begin a new one.
    public static let missing = SQLiteError(code: 11, message: "it is missing, and a backup has it")

    /// Creates an error.
    public init(code: Int32, message: String, statement: String? = nil) {
        self.code = code
        self.message = message
        self.statement = statement
    }

    /// The primary result code, such as 19 for every kind of constraint.
    public var primaryCode: Int32 { code & 0xFF }

    /// The words of a connection's last failure; where SQLite only knows that the system refused,
    /// the system's reason with them.
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

    /// Whether another connection held what was needed, so that the same may work later.
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
    /// So is one whose schema lacks what a statement names: the statements never change, and the
    /// version of the schema was looked at before.
    public var isDamage: Bool {
        [SQLITE_CORRUPT, SQLITE_NOTADB].contains(primaryCode)
            || primaryCode == SQLITE_ERROR && SQLiteError.isOfSchema(message)
    }

    /// The words by which SQLite says that something is not in a schema, which has no code of its own.
    private static func isOfSchema(_ message: String) -> Bool {
        ["no such column", "no such table", "no such function", "unknown function"]
            .contains { message.hasPrefix($0) } || message.contains(" has no column named ")
    }
}

extension SQLiteError: CustomStringConvertible {
    /// `database or disk is full (SQLite 13)`, `unable to open database file: permission denied
    /// (SQLite 14)`; the statement is left to whoever debugs.
    public var description: String { "\(message) (SQLite \(primaryCode))" }
}
