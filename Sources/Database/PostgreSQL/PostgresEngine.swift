import CPostgreSQL

/// A connection to PostgreSQL and its prepared statements.
///
/// It keeps what the texts take for granted from SQLite: a transaction that writes keeps out every
/// other writer of the same rows' owner, by a lock of the owner's.
///
/// In such a transaction nobody waits for the lock, or for a statement without rows: the next
/// statement with rows, or the commit, brings what failed.
final class PostgresEngine: Engine {
    let link: PostgresLink
    private let text: PostgresText
    /// The statement by which a transaction that writes takes its lock before it reads.
    private let writeLock: String?
    /// Whether the next transaction takes it.
    var takesWriteLock = true
    /// The statement that a transaction that writes runs once it has its lock.
    var condition: (sql: String, values: [Value])?
    /// The names of prepared statements, and the texts of those that the server may not have
    /// prepared yet.
    private var statements: [String: String] = [:]
    private var unconfirmed: [String] = []
    private var namesGiven = 0
    /// The forms of insertions, by the text.
    private var insertions: [String: InsertionForm] = [:]
    private var isWriting = false
    private(set) var changes = 0
    /// The number of rows that all statements so far have inserted, changed or removed.
    private var totalChanges: Int64 = 0
    /// The most statements that are sent before one is waited for.
    private static let mostPosted = 256

    init(_ link: PostgresLink, _ text: PostgresText, writeLock: String?) {
        (self.link, self.text, self.writeLock) = (link, text, writeLock)
    }

    func execute(_ script: String) throws(DatabaseError) {
        try collect()
        try link.execute(script)
    }

    func run(_ sql: String, _ values: [Value]) throws(DatabaseError) {
        try run(sql, PostgresParameters(values))
    }

    /// Runs a statement whose rows nobody reads.
    func run(_ sql: String, _ parameters: PostgresParameters) throws(DatabaseError) {
        try post(sql, parameters)
        if !isWriting || link.postedCount >= PostgresEngine.mostPosted { try collect() }
    }

    func forEach(
        _ sql: String, _ values: [Value], _ body: (borrowing Row) -> Void
    ) throws(DatabaseError) {
        try post(sql, PostgresParameters(values))
        var malformed: String?
        try collect { [library = link.library] result in
            changes = Int(PostgresEngine.rowsChanged(by: result, library))
            let fault = PostgresRow.Fault()
            for row in 0..<library.pointee.PQntuples(result) {
                body(
                    Row(
                        .postgreSQL(
                            PostgresRow(library: library, result: result, row: row, fault: fault))))
            }
            malformed = fault.column.map { column in
                library.pointee.PQfname(result, column).map { String(cString: $0) } ?? "\(column)"
            }
        }
        guard let malformed else { return }
        throw DatabaseError(
            kind: .other,
            message: "the value of `\(malformed)` is not in the form that this session has asked "
                + "for; a connection pool in between has to keep its settings", code: "PostgreSQL",
            statement: sql)
    }

    func begin(_ sql: String) throws(DatabaseError) -> any EngineStatement {
        PostgresStatement(sql, self)
    }

    func insert(_ sql: String, _ body: (any EngineStatement) throws -> Void) throws -> Int64 {
        let form =
            try insertions[sql]
            ?? InsertionForm(sql) { texts throws(DatabaseError) in
                try types(of: texts)
            }
        insertions[sql] = form
        try collect()
        let before = totalChanges
        let insertion = PostgresInsertion(form, self)
        try body(insertion)
        try insertion.finish()
        try collect()
        return totalChanges - before
    }

    func beginTransaction(writes: Bool) throws(DatabaseError) {
        isWriting = writes
        // After the lock, each statement sees what was committed before it: in READ COMMITTED,
        // because a snapshot from before the lock would not.
        guard writes else {
            return try post("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        }
        try post("BEGIN ISOLATION LEVEL READ COMMITTED")
        if takesWriteLock, let writeLock { try post(writeLock) }
        if let condition { try post(condition.sql, PostgresParameters(condition.values)) }
    }

    func commit() throws(DatabaseError) {
        guard !link.transaction.hasFailed else {
            // The server would take the commit, and roll back.
            throw DatabaseError(
                kind: .other, message: "a statement of the transaction has failed",
                code: "PostgreSQL 25P02", statement: "COMMIT")
        }
        try post("COMMIT")
        try collect()
        isWriting = false
    }

    func rollBack() {
        isWriting = false
        do throws(DatabaseError) {
            try collect()
        } catch {
            // It belongs to what is rolled back.
        }
        guard link.fault == nil, link.transaction.isOpen else { return }
        do throws(DatabaseError) {
            try execute("ROLLBACK")
        } catch {
            // The connection has failed, and the server rolls back by itself.
        }
    }

    /// Sends a statement, and what prepares it once. The server infers the types of its parameters.
    private func post(
        _ sql: String, _ parameters: PostgresParameters = .init([])
    ) throws(DatabaseError) {
        let name: String
        if let known = statements[sql] {
            name = known
        } else {
            name = "s\(namesGiven)"
            namesGiven += 1
            let translated = text.translated(sql)
            try link.post(sql, bytes: translated.utf8.count) { connection, library in
                library.pointee.PQsendPrepare(connection, name, translated, 0, nil)
            }
            statements[sql] = name
            unconfirmed.append(sql)
        }
        try link.post(sql, bytes: parameters.size) { connection, library in
            parameters.withPointers { values, lengths, formats in
                library.pointee.PQsendQueryPrepared(
                    connection, name, Int32(parameters.count), values, lengths, formats, 0)
            }
        }
    }

    /// Waits for all that was sent.
    private func collect(_ body: (OpaquePointer) -> Void = { _ in }) throws(DatabaseError) {
        defer { unconfirmed = [] }
        do throws(DatabaseError) {
            try link.collect(
                count: { [library = link.library] result in
                    totalChanges += PostgresEngine.rowsChanged(by: result, library)
                }, body)
        } catch {
            for sql in unconfirmed { statements[sql] = nil }
            throw error
        }
    }

    /// Asks the server for the types of a statement's parameters.
    private func types(of sql: String) throws(DatabaseError) -> [UInt32] {
        let translated = text.translated(sql)
        try link.post(sql, bytes: translated.utf8.count) { connection, library in
            library.pointee.PQsendPrepare(connection, "", translated, 0, nil)
        }
        try link.post(sql, bytes: 0) { connection, library in
            library.pointee.PQsendDescribePrepared(connection, "")
        }
        var types: [UInt32] = []
        try collect { [library = link.library] result in
            types = (0..<library.pointee.PQnparams(result)).map {
                library.pointee.PQparamtype(result, $0)
            }
        }
        return types
    }

    /// How many rows a statement inserted, changed or removed; what reads counts its rows here too.
    private static func rowsChanged(
        by result: OpaquePointer, _ library: UnsafePointer<cpostgresql>
    ) -> Int64 {
        library.pointee.PQcmdTuples(result).flatMap { Int64(String(cString: $0)) } ?? 0
    }
}

/// A statement that is run many times with values that it copies.
private final class PostgresStatement: EngineStatement {
    private let sql: String
    private let engine: PostgresEngine
    private var values: [Value] = []

    init(_ sql: String, _ engine: PostgresEngine) { (self.sql, self.engine) = (sql, engine) }

    func bind(_ value: Value, at index: Int32) { set(value, index) }

    func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) {
        set(.blob(Array(bytes)), index)
    }

    func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) {
        set(.text(String(decoding: bytes, as: UTF8.self)), index)
    }

    func run() throws(DatabaseError) -> Bool {
        var hasRow = false
        try engine.forEach(sql, values) { _ in hasRow = true }
        return hasRow
    }

    func end() { values = [] }

    private func set(_ value: Value, _ index: Int32) {
        let place = Int(index) - 1
        while values.count <= place { values.append(.null) }
        values[place] = value
    }
}

extension DatabaseError {
    /// Creates the error of a code of PostgreSQL (its documentation, appendix A).
    ///
    /// Messages of class 22 hold the value that does not fit; they are replaced.
    ///
    /// - Parameter isPooled: whether a connection pool is between this side and the server.
    init(sqlState: String, message: String, statement: String? = nil, isPooled: Bool = false) {
        // A prepared statement that is there already, or is not: somebody else's session. Such a one
        // also has another `search_path`, and a pool may refuse a transaction.
        let isShared =
            ["42P05", "26000"].contains(sqlState)
            || isPooled && ["42P01", "42883", "08P01"].contains(sqlState)
        let message =
            switch sqlState {
            case let code where code.hasPrefix("22"): "a value does not fit its column"
            case _ where isShared:
                message + "; a connection pool in between has to give each client a session of its "
                    + "own (`pool_mode = session` in pgbouncer)"
            case "25006":
                "the server takes no writes: `default_transaction_read_only` is on, or it is a "
                    + "standby"
            case "53300":
                message + "; a loop needs 3 and each attempt up to 2: raise `max_connections`, or "
                    + "the `CONNECTION LIMIT` of the role or the database"
            default: message
            }
        self.init(
            kind: Kind(sqlState: sqlState), message: message, code: "PostgreSQL \(sqlState)",
            statement: statement)
    }

    /// Creates the error of a server that cannot be reached or has gone away.
    static func gone(_ message: String) -> DatabaseError {
        DatabaseError(kind: .gone, message: message, code: "PostgreSQL 08006")
    }
}

extension DatabaseError.Kind {
    fileprivate init(sqlState: String) {
        self =
            switch sqlState {
            // Somebody else's lock or transaction was in the way.
            case "55P03", "40001", "40P01": .busy
            // A full disk, or one that fails.
            case "53100", "58030": .disk
            // Damaged pages and indices, and a schema without a name that a statement has.
            case "XX001", "XX002", "42P01", "42703", "42883", "3F000": .damage
            case "42501", "3D000": .access
            // A standby, or one that was promoted away.
            case "25006", "57P01", "57P02", "57P03", "57P05", "25P03", "53300": .gone
            case let code where code.hasPrefix("23"): .constraint
            case let code where code.hasPrefix("28"): .access
            case let code where code.hasPrefix("08"): .gone
            default: .other
            }
    }
}
