/// An error from a database: what kind of failure it is, the engine's message and the statement.
///
/// It never contains bound values.
public struct DatabaseError: Error, Hashable, Sendable {
    /// What a caller can do about a failure.
    public enum Kind: Hashable, Sendable {
        /// Another connection held a lock for too long, so that a retry may succeed.
        case busy
        /// A constraint of the schema refused a row.
        case constraint
        /// A disk is full or cannot be read or written.
        case disk
        /// This user may not open or change the database.
        case access
        /// What is there is not the database, or is damaged.
        case damage
        /// The server does not answer, or has ended the connection.
        case gone
        case other
    }

    public var kind: Kind
    public var message: String
    /// The engine and its primary code, such as `SQLite 13` or `PostgreSQL 53100`.
    public var code: String
    /// The statement's text with its placeholders; `nil` if no statement was involved.
    public var statement: String?

    /// Creates an error.
    public init(kind: Kind, message: String, code: String, statement: String? = nil) {
        self.kind = kind
        self.message = message
        self.code = code
        self.statement = statement
    }

    public var isBusy: Bool { kind == .busy }
    public var isConstraint: Bool { kind == .constraint }
    public var isDisk: Bool { kind == .disk }
    public var isAccess: Bool { kind == .access }
    public var isDamage: Bool { kind == .damage }
    public var isGone: Bool { kind == .gone }
}

extension DatabaseError: CustomStringConvertible {
    /// The message and the code, such as `database or disk is full (SQLite 13)` or `unable to open
    /// database file: permission denied (SQLite 14)`. `statement` is left out; it is for debugging.
    public var description: String { "\(message) (\(code))" }
}

/// A reason why this program cannot use a database's tables.
public enum SchemaFault: Error, Hashable, Sendable {
    /// The file belongs to another program, or to another part of this one.
    case foreign(applicationID: Int64)
    /// A newer version of the program made them.
    case newer(found: Int, known: Int)
    /// A version before 0.1.0, the first release, made them.
    case older

    /// What `older` says of a file, after its name.
    public static let olderText =
        "was written before 0.1.0: open it once with clarity-jobs 0.1.0, then with this version"
}
