import CSQLite

/// A handle of SQLite and its prepared statements.
final class SQLiteEngine: Engine {
    let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    private static let isConfigured: Void = csqlite_configure()

    /// Opens a database file; `name` is what `sqlite3_open_v2` takes.
    init(_ name: String, flags: Int32, busyTimeout: Duration) throws(DatabaseError) {
        _ = SQLiteEngine.isConfigured
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(
            name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { SQLiteEngine.message(of: $0, code) } ?? "out of memory"
            sqlite3_close_v2(opened)
            throw DatabaseError(code: code, message: message)
        }
        handle = opened
        let (seconds, attoseconds) = busyTimeout.components
        sqlite3_busy_timeout(
            handle, Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000))
    }

    deinit {
        // Closing within a transaction rolls it back, and whoever heard of that may be gone.
        sqlite3_rollback_hook(handle, nil, nil)
        sqlite3_preupdate_hook(handle, nil, nil)
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    var changes: Int { Int(sqlite3_changes64(handle)) }

    func execute(_ script: String) throws(DatabaseError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, script) }
    }

    func run(_ sql: String, _ values: [Value]) throws(DatabaseError) {
        try forEach(sql, values) { _ in }
    }

    func forEach(
        _ sql: String, _ values: [Value], _ body: (borrowing Row) -> Void
    ) throws(DatabaseError) {
        let statement = try prepare(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        try bind(values, to: statement, sql)
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: body(Row(.sqlite(statement)))
            case SQLITE_DONE: return
            case let code: throw failure(code, sql)
            }
        }
    }

    func begin(_ sql: String) throws(DatabaseError) -> any EngineStatement {
        SQLiteStatement(try prepare(sql), sql, self)
    }

    func insert(_ sql: String, _ body: (any EngineStatement) throws -> Void) throws -> Int64 {
        let statement = SQLiteStatement(try prepare(sql), sql, self)
        defer { statement.end() }
        try body(statement)
        return statement.changes
    }

    func beginTransaction(writes: Bool) throws(DatabaseError) {
        try execute(writes ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED")
    }

    func commit() throws(DatabaseError) { try execute("COMMIT") }

    func rollBack() {
        // After some errors, such as a full disk, SQLite has already rolled back. If a rollback
        // fails too, the transaction stays open, the next one cannot begin, and closing the
        // connection undoes it.
        if sqlite3_get_autocommit(handle) == 0 {
            sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
        }
    }

    func failure(_ code: Int32, _ sql: String?) -> DatabaseError {
        DatabaseError(code: code, message: SQLiteEngine.message(of: handle, code), statement: sql)
    }

    private func prepare(_ sql: String) throws(DatabaseError) -> OpaquePointer {
        if let known = statements[sql] { return known }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(
            handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(code, sql) }
        statements[sql] = statement
        return statement
    }

    private func bind(
        _ values: [Value], to statement: OpaquePointer, _ sql: String
    ) throws(DatabaseError) {
        let wanted = Int(sqlite3_bind_parameter_count(statement))
        precondition(values.count == wanted, "`\(sql)` takes \(wanted) values, got \(values.count)")
        for (offset, value) in values.enumerated() {
            try bind(value, to: statement, at: Int32(offset + 1), sql)
        }
    }

    /// Binds a copy of a value.
    func bind(
        _ value: Value, to statement: OpaquePointer, at index: Int32, _ sql: String
    ) throws(DatabaseError) {
        let code =
            switch value {
            case .null: sqlite3_bind_null(statement, index)
            case .integer(let number): sqlite3_bind_int64(statement, index, number)
            case .real(let number): sqlite3_bind_double(statement, index, number)
            case .text(let text):
                csqlite_bind_text(statement, index, text, UInt64(text.utf8.count))
            case .blob(let bytes):
                bytes.isEmpty
                    ? sqlite3_bind_zeroblob(statement, index, 0)
                    : bytes.withUnsafeBytes {
                        csqlite_bind_blob(statement, index, $0.baseAddress, UInt64($0.count))
                    }
            }
        guard code == SQLITE_OK else { throw failure(code, sql) }
    }

    /// Returns the message of the last failure.
    ///
    /// If SQLite only knows that the system refused, the system's reason is appended.
    static func message(of handle: OpaquePointer, _ code: Int32) -> String {
        let message = String(cString: sqlite3_errmsg(handle))
        let reason = sqlite3_system_errno(handle)
        guard [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xFF), reason != 0 else {
            return message
        }
        return "\(message): \(String(cString: csqlite_reason(reason)).lowercased())"
    }
}

/// A prepared statement of SQLite, to which values are bound where they are.
private final class SQLiteStatement: EngineStatement {
    private let handle: OpaquePointer
    private let sql: String
    /// Keeps the statement open.
    private let engine: SQLiteEngine
    /// The number of rows that all runs inserted, changed or removed, without those of triggers.
    private(set) var changes: Int64 = 0

    init(_ handle: OpaquePointer, _ sql: String, _ engine: SQLiteEngine) {
        (self.handle, self.sql, self.engine) = (handle, sql, engine)
    }

    func bind(_ value: Value, at index: Int32) throws(DatabaseError) {
        try engine.bind(value, to: handle, at: index, sql)
    }

    func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) throws(DatabaseError) {
        // `nil` for the destructor means SQLITE_STATIC.
        try check(sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), nil))
    }

    func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) throws(DatabaseError) {
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        try check(
            sqlite3_bind_text64(
                handle, index, start, UInt64(bytes.count), nil, UInt8(SQLITE_UTF8)))
    }

    func run() throws(DatabaseError) -> Bool {
        defer { sqlite3_reset(handle) }
        var hasRow = false
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW: hasRow = true
            case SQLITE_DONE:
                changes += sqlite3_changes64(engine.handle)
                return hasRow
            case let code: throw engine.failure(code, sql)
            }
        }
    }

    func end() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    private func check(_ code: Int32) throws(DatabaseError) {
        guard code == SQLITE_OK else { throw engine.failure(code, sql) }
    }
}

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
