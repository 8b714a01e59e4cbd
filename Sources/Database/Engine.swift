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
