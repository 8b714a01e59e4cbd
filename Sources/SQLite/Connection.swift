import CSQLite

/// One connection to a database file; owned by one task or actor at a time.
///
/// Statements are prepared once and kept. A busy database is waited for up to `busyTimeout`; as it
/// stands, for as long as the commits of thirty others take on a disk that needs a second for each.
public final class Connection {
    /// How a file is opened.
    public enum Access: Sendable {
        /// Reads and writes, and makes the file where there is none.
        case create
        /// Reads and writes an existing file.
        case readWrite
        /// Reads an existing file.
        case readOnly
        /// Reads a file that nobody changes meanwhile, without touching anything beside it.
        case immutable
    }

    let handle: OpaquePointer
    let busyTimeout: Duration
    private var statements: [String: OpaquePointer] = [:]
    /// How many pages the write-ahead log may hold: a commit that leaves as many in it copies it
    /// into the file (`checkpoint()`), or the next one does when another connection writes by then.
    /// 1,000 as SQLite itself has it.
    public var logLimit = 1000

    /// Opens `path`; an empty path is a private temporary database that vanishes with the
    /// connection.
    ///
    /// - Throws: `SQLiteError` when the file cannot be opened. A file that is no database is found
    ///   at the first statement.
    public init(
        path: String, access: Access = .create, busyTimeout: Duration = .seconds(30)
    ) throws(SQLiteError) {
        let flags =
            switch access {
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .readWrite: SQLITE_OPEN_READWRITE
            case .readOnly: SQLITE_OPEN_READONLY
            case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            }
        let name =
            access == .immutable ? "file:\(Connection.escapedForURI(path))?immutable=1" : path
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(
            name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let opened else {
            let message = opened.map { SQLiteError.message(of: $0, code) } ?? "out of memory"
            sqlite3_close_v2(opened)
            throw SQLiteError(code: code, message: message)
        }
        handle = opened
        self.busyTimeout = busyTimeout
        let (seconds, attoseconds) = busyTimeout.components
        sqlite3_busy_timeout(
            handle, Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000))
        watchLog()
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// The rows that the last statement inserted, changed or removed.
    public var changes: Int { Int(sqlite3_changes64(handle)) }

    /// The rows that all statements since opening inserted, changed or removed.
    public var totalChanges: Int64 { sqlite3_total_changes64(handle) }

    /// The rowid of the last row inserted.
    public var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Runs one or more statements that take no values and whose rows do not matter.
    public func execute(_ script: String) throws(SQLiteError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, script) }
    }

    /// Runs one statement to its end.
    public func run(_ sql: String, _ values: Value...) throws(SQLiteError) {
        try forEach(sql, values) { _ in }
    }

    /// Calls `body` for each row in turn.
    public func forEach(
        _ sql: String, _ values: [Value] = [], _ body: (borrowing Row) -> Void
    ) throws(SQLiteError) {
        let statement = try prepare(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        try bind(values, to: statement, sql)
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: body(Row(statement))
            case SQLITE_DONE: return
            case let code: throw failure(code, sql)
            }
        }
    }

    /// Makes an element of each row, in the rows' order.
    public func all<Element>(
        _ sql: String, _ values: Value..., map: (borrowing Row) -> Element
    ) throws(SQLiteError) -> [Element] {
        var elements: [Element] = []
        try forEach(sql, values) { elements.append(map($0)) }
        return elements
    }

    /// Makes an element of the first row; `nil` when there is none.
    public func first<Element>(
        _ sql: String, _ values: Value..., map: (borrowing Row) -> Element
    ) throws(SQLiteError) -> Element? {
        var element: Element?
        try forEach(sql, values) { row in
            if element == nil { element = map(row) }
        }
        return element
    }

    /// Calls `body` with a statement to bind and run as often as is wanted.
    public func withStatement<Result>(
        _ sql: String, _ body: (borrowing Statement) throws -> Result
    ) throws -> Result {
        let statement = try prepare(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        return try body(Statement(statement, sql))
    }

    /// Runs `body` in a transaction that holds the write lock from its start.
    ///
    /// An error rolls everything back and is thrown on. Transactions do not nest.
    public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try within("BEGIN IMMEDIATE", body)
    }

    /// Runs `body` in a transaction that sees one state of the database and writes nothing.
    public func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        try within("BEGIN DEFERRED", body)
    }

    /// Copies the whole database into `target`, replacing what is there.
    public func copy(into target: Connection) throws(SQLiteError) {
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw target.failure(sqlite3_extended_errcode(target.handle), nil)
        }
        let step = sqlite3_backup_step(backup, -1)
        let finish = sqlite3_backup_finish(backup)
        guard step == SQLITE_DONE, finish == SQLITE_OK else {
            throw target.failure(finish == SQLITE_OK ? step : finish, nil)
        }
    }

    /// Ends a transaction that failed.
    func rollBack() {
        // SQLite itself has rolled back after some errors, a full disk for one. A refusal of
        // ROLLBACK would only hide the error that led here; the next BEGIN reports it.
        if sqlite3_get_autocommit(handle) == 0 {
            sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
        }
    }

    private func within<Result>(_ begin: String, _ body: () throws -> Result) throws -> Result {
        try execute(begin)
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // SQLite itself has rolled back after some errors, a full disk for one.
            if sqlite3_get_autocommit(handle) == 0 { try execute("ROLLBACK") }
            throw error
        }
    }

    private func prepare(_ sql: String) throws(SQLiteError) -> OpaquePointer {
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
    ) throws(SQLiteError) {
        let wanted = Int(sqlite3_bind_parameter_count(statement))
        precondition(
            values.count == wanted, "`\(sql)` takes \(wanted) values, got \(values.count)")
        for (offset, value) in values.enumerated() {
            let index = Int32(offset + 1)
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
                            csqlite_bind_blob(
                                statement, index, $0.baseAddress, UInt64($0.count))
                        }
                }
            guard code == SQLITE_OK else { throw failure(code, sql) }
        }
    }

    private func failure(_ code: Int32, _ sql: String?) -> SQLiteError {
        SQLiteError(
            code: code, message: SQLiteError.message(of: handle, code), statement: sql)
    }

    private static func escapedForURI(_ path: String) -> String {
        path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
    }
}
