/// A connection to a database; owned by one task or actor at a time.
///
/// The same SQL texts run on every engine. They use `?` and `?1` for parameters, `ON CONFLICT` and
/// `RETURNING`; what an engine needs in addition it adds itself (`PostgresText`). A statement is
/// prepared once and kept.
public class Connection {
    let engine: any Engine
    /// Called in each transaction that writes, after its body and before its commit.
    public var beforeCommit: ((Connection) throws -> Void)?

    init(_ engine: any Engine) { self.engine = engine }

    /// Runs one or more statements that take no values, and ignores their rows.
    public func execute(_ script: String) throws(DatabaseError) { try engine.execute(script) }

    /// Runs one statement, and ignores its rows.
    ///
    /// In a transaction on a server, nobody waits for the statement: its error may come with a later
    /// one, or with the commit.
    public func run(_ sql: String, _ values: Value...) throws(DatabaseError) {
        try run(sql, with: values)
    }

    /// Runs the same for a list of values.
    public func run(_ sql: String, with values: [Value]) throws(DatabaseError) {
        try engine.run(sql, values)
    }

    /// Runs one statement, and returns how many rows it inserted, changed or removed.
    public func change(_ sql: String, _ values: Value...) throws(DatabaseError) -> Int64 {
        try change(sql, with: values)
    }

    /// Returns the same for a list of values.
    public func change(_ sql: String, with values: [Value]) throws(DatabaseError) -> Int64 {
        try engine.forEach(sql, values) { _ in }
        return Int64(engine.changes)
    }

    /// Runs an `INSERT ... RETURNING` of one integer, and returns it.
    public func insert(_ sql: String, _ values: Value...) throws(DatabaseError) -> Int64 {
        guard let returned = try first(sql, with: values, map: { $0.integer(0) }) else {
            preconditionFailure("`\(sql)` inserts no row")
        }
        return returned
    }

    /// Calls `body` for each row, in order.
    public func forEach(
        _ sql: String, _ values: [Value] = [], _ body: (borrowing Row) -> Void
    ) throws(DatabaseError) {
        try engine.forEach(sql, values, body)
    }

    /// Returns the first column of the first row; `nil` if there is no row, or the column is NULL.
    public func integer(_ sql: String, _ values: Value...) throws(DatabaseError) -> Int64? {
        var found: Int64?
        try forEach(sql, values) { row in found = found ?? row.optionalInteger(0) }
        return found
    }

    /// Returns an element for each row, in the order of the rows, without those for which `map`
    /// returns `nil`.
    public func all<Element>(
        _ sql: String, _ values: Value..., map: (borrowing Row) -> Element?
    ) throws(DatabaseError) -> [Element] {
        try all(sql, with: values, map: map)
    }

    /// Returns the same for a list of values.
    public func all<Element>(
        _ sql: String, with values: [Value], map: (borrowing Row) -> Element?
    ) throws(DatabaseError) -> [Element] {
        var elements: [Element] = []
        try engine.forEach(sql, values) { row in
            if let element = map(row) { elements.append(element) }
        }
        return elements
    }

    /// Returns what `map` returns for the first row, or `nil` if there is no row.
    public func first<Element>(
        _ sql: String, _ values: Value..., map: (borrowing Row) -> Element?
    ) throws(DatabaseError) -> Element? {
        try first(sql, with: values, map: map)
    }

    /// Returns the same for a list of values.
    public func first<Element>(
        _ sql: String, with values: [Value], map: (borrowing Row) -> Element?
    ) throws(DatabaseError) -> Element? {
        var element: Element?
        var isFirst = true
        try engine.forEach(sql, values) { row in
            if isFirst { element = map(row) }
            isFirst = false
        }
        return element
    }

    /// Calls `body` with a statement that it can bind and run any number of times.
    public func withStatement<Result>(
        _ sql: String, _ body: (borrowing Statement) throws -> Result
    ) throws -> Result {
        let statement = try engine.begin(sql)
        defer { statement.end() }
        return try body(Statement(statement))
    }

    /// Calls `body` with an `INSERT ... VALUES (...)` that it can bind and run any number of times.
    ///
    /// Every value is a parameter of its own, or a constant. The rows may go to the database several
    /// at a time: all have arrived when this returns, and the error of a row may come with a later
    /// one.
    ///
    /// - Returns: how many rows were inserted.
    @discardableResult
    public func withInsertion(
        _ sql: String, _ body: (borrowing Statement) throws -> Void
    ) throws -> Int64 {
        try engine.insert(sql) { try body(Statement($0)) }
    }

    /// Runs `body` in a transaction that keeps every other writer out from its first statement with
    /// rows to its end.
    ///
    /// An error rolls everything back and is rethrown. Transactions do not nest.
    public func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try within(writes: true, body)
    }

    /// Runs `body` in a transaction that sees one state of the database; `body` must not write.
    public func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        try within(writes: false, body)
    }

    // MARK: The place

    // Nothing of this is needed on a server, which looks after its files itself.

    /// Prepares for much that is written in many transactions.
    ///
    /// - Parameters:
    ///   - logPages: the pages after which a commit copies the log into the file.
    ///   - cache: the memory for pages, as in `PRAGMA cache_size`: a number of pages, or, if it is
    ///     negative, KiB.
    public func expectMuch(logPages: Int, cache: Int) throws(DatabaseError) {}

    /// Copies the log into the file as far as others allow.
    public func copyLog() throws(DatabaseError) {}

    /// Overwrites removed content from now on, or no longer.
    public func overwrite(_ isOn: Bool) throws(DatabaseError) {}

    /// Rewrites everything, so that nothing of what was removed is left in the file or its log.
    public func rewrite() throws(DatabaseError) {}

    /// Returns unused space to the file system, at most `pages` of the file.
    ///
    /// - Returns: the bytes by which the file shrank, and whether there is more to give back.
    public func giveBack(pages: Int) throws(DatabaseError) -> (freed: Int64, isMore: Bool) {
        (0, false)
    }

    private func within<Result>(writes: Bool, _ body: () throws -> Result) throws -> Result {
        try engine.beginTransaction(writes: writes)
        do {
            let result = try body()
            if writes { try beforeCommit?(self) }
            try engine.commit()
            return result
        } catch {
            engine.rollBack()
            throw error
        }
    }
}

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

/// What a connection asks of the database behind it: SQLite or PostgreSQL.
///
/// Used by one task at a time, as `Connection` is.
protocol Engine: AnyObject {
    /// The number of rows that the last `forEach` inserted, changed or removed.
    var changes: Int { get }

    /// Runs one or more statements that take no values, and ignores their rows.
    func execute(_ script: String) throws(DatabaseError)

    /// Runs one statement, and ignores its rows. In a transaction its error may come with a later
    /// statement, or the commit.
    func run(_ sql: String, _ values: [Value]) throws(DatabaseError)

    /// Calls `body` for each row, in order.
    func forEach(
        _ sql: String, _ values: [Value], _ body: (borrowing Row) -> Void
    ) throws(DatabaseError)

    /// Returns a statement that runs many times, until `end` is called for it.
    func begin(_ sql: String) throws(DatabaseError) -> any EngineStatement

    /// Calls `body` with an `INSERT ... VALUES (...)`, whose rows may go to the database several at a
    /// time, and returns how many were inserted.
    func insert(_ sql: String, _ body: (any EngineStatement) throws -> Void) throws -> Int64

    /// Begins a transaction that excludes other writers, or one that only reads one state.
    func beginTransaction(writes: Bool) throws(DatabaseError)

    /// Commits the transaction.
    func commit() throws(DatabaseError)

    /// Rolls back a failed transaction. A failure must not hide the error that led here.
    func rollBack()
}

/// A statement that is bound and run any number of times.
protocol EngineStatement: AnyObject {
    func bind(_ value: Value, at index: Int32) throws(DatabaseError)
    func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) throws(DatabaseError)
    func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) throws(DatabaseError)

    /// Runs to completion, and returns whether there was a row.
    func run() throws(DatabaseError) -> Bool

    /// Forgets what is bound.
    func end()
}

/// A statement that runs many times and whose values are bound without a copy; valid only inside
/// the closure that receives it.
///
/// It is for bulk work. `Connection.run` takes an array of values for each call and copies each
/// text and blob, which would cost more than the row. Parameters count from 1. A bound value stays
/// bound from one run to the next.
public struct Statement: ~Copyable {
    private let statement: any EngineStatement

    init(_ statement: any EngineStatement) { self.statement = statement }

    /// Binds copies of values, the first to the first parameter.
    public func bind(_ values: [Value]) throws(DatabaseError) {
        for (place, value) in values.enumerated() {
            try statement.bind(value, at: Int32(place + 1))
        }
    }

    /// Binds an integer.
    public func bind(_ number: Int64, at index: Int32) throws(DatabaseError) {
        try statement.bind(.integer(number), at: index)
    }

    /// Binds a blob without copying it.
    ///
    /// The bytes must stay unchanged and at the same address until something else is bound to
    /// `index` or the closure returns.
    public func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) throws(DatabaseError) {
        try statement.bind(blob: bytes, at: index)
    }

    /// Binds UTF-8 text without copying it, under the same condition as `bind(blob:at:)`.
    public func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) throws(DatabaseError) {
        try statement.bind(text: bytes, at: index)
    }

    /// Runs the statement to completion.
    ///
    /// - Returns: whether it returned a row.
    @discardableResult
    public func run() throws(DatabaseError) -> Bool { try statement.run() }
}
