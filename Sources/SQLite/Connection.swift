import CSQLite

/// A connection to a database file; owned by one task or actor at a time.
///
/// It prepares each statement once and keeps it. If the database is busy, it waits for up to
/// `busyTimeout`. The default is enough for thirty others to commit on a disk that needs a second
/// for each commit.
public final class Connection {
    /// How a file is opened.
    public enum Access: Sendable {
        /// Reads and writes, and creates the file if it does not exist.
        case create
        /// Reads and writes an existing file.
        case readWrite
        /// Reads an existing file.
        case readOnly
        /// Reads a file that nobody changes at the same time, and creates no files beside it.
        case immutable
    }

    let handle: OpaquePointer
    let busyTimeout: Duration
    private var statements: [String: OpaquePointer] = [:]
    /// The number of pages after which a commit checkpoints the write-ahead log (`checkpoint()`).
    ///
    /// If another connection is writing at that moment, a later commit does it. The default of
    /// 1,000 is SQLite's own.
    public var logLimit = 1000

    /// Opens `path`; an empty path opens a private temporary database that is deleted with the
    /// connection.
    ///
    /// - Throws: `SQLiteError` if the file cannot be opened. A file that is not a database fails
    ///   only at the first statement.
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

    /// The number of rows that the last statement inserted, changed or removed.
    public var changes: Int { Int(sqlite3_changes64(handle)) }

    /// The number of rows that all statements since opening inserted, changed or removed.
    public var totalChanges: Int64 { sqlite3_total_changes64(handle) }

    /// The rowid of the last row inserted.
    public var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// Runs one or more statements that take no values, and ignores their rows.
    public func execute(_ script: String) throws(SQLiteError) {
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, script) }
    }

    /// Runs one statement to completion.
    public func run(_ sql: String, _ values: Value...) throws(SQLiteError) {
        try forEach(sql, values) { _ in }
    }

    /// Calls `body` for each row, in order.
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

    /// Returns an element for each row, in the order of the rows, without those for which `map`
    /// returns `nil`.
    public func all<Element>(
        _ sql: String, _ values: Value..., map: (borrowing Row) -> Element?
    ) throws(SQLiteError) -> [Element] {
        try all(sql, with: values, map: map)
    }

    /// Returns the same for a list of values.
    public func all<Element>(
        _ sql: String, with values: [Value], map: (borrowing Row) -> Element?
    ) throws(SQLiteError) -> [Element] {
        var elements: [Element] = []
        try forEach(sql, values) { row in
            if let element = map(row) { elements.append(element) }
        }
        return elements
    }

    /// Returns what `map` returns for the first row, or `nil` if there is no row.
    public func first<Element>(
        _ sql: String, _ values: Value..., map: (borrowing Row) -> Element?
    ) throws(SQLiteError) -> Element? {
        try first(sql, with: values, map: map)
    }

    /// Returns the same for a list of values.
    public func first<Element>(
        _ sql: String, with values: [Value], map: (borrowing Row) -> Element?
    ) throws(SQLiteError) -> Element? {
        var element: Element?
        var isFirst = true
        try forEach(sql, values) { row in
            if isFirst { element = map(row) }
            isFirst = false
        }
        return element
    }

    /// Calls `body` with a statement that it can bind and run any number of times.
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
    /// An error rolls everything back and is rethrown. Transactions do not nest.
    public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try within("BEGIN IMMEDIATE", body)
    }

    /// Runs `body` in a transaction that sees one state of the database; `body` must not write.
    public func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        try within("BEGIN DEFERRED", body)
    }

    /// Copies the whole database into `target`, replacing its content.
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

    /// Rolls back a failed transaction.
    func rollBack() {
        // After some errors, such as a full disk, SQLite has already rolled back. A rollback that
        // fails too must not hide the error that led here: the transaction then stays open, the
        // next one cannot begin, and closing the connection undoes it.
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
            rollBack()
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
