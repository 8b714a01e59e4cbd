import CSQLite

/// A statement that runs many times and whose values are bound without a copy; valid only inside
/// the closure that receives it.
///
/// It is for bulk work. `Connection.run` takes an array of values for each call and copies each
/// text and blob, which would cost more than the row. Parameters count from 1. A bound value stays
/// bound from one run to the next.
public struct Statement: ~Copyable {
    private let handle: OpaquePointer
    private let sql: String

    init(_ handle: OpaquePointer, _ sql: String) {
        self.handle = handle
        self.sql = sql
    }

    /// Binds an integer.
    public func bind(_ number: Int64, at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_int64(handle, index, number))
    }

    /// Binds a blob without copying it.
    ///
    /// The bytes must stay unchanged and at the same address until something else is bound to
    /// `index` or the closure returns.
    public func bind(blob bytes: UnsafeRawBufferPointer, at index: Int32) throws(SQLiteError) {
        // `nil` for the destructor means SQLITE_STATIC.
        try check(
            sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), nil))
    }

    /// Binds UTF-8 text without copying it, under the same condition as `bind(blob:at:)`.
    public func bind(text bytes: UnsafeRawBufferPointer, at index: Int32) throws(SQLiteError) {
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        try check(
            sqlite3_bind_text64(
                handle, index, start, UInt64(bytes.count), nil, UInt8(SQLITE_UTF8)))
    }

    /// Runs the statement to completion.
    ///
    /// - Returns: whether it returned a row.
    @discardableResult
    public func run() throws(SQLiteError) -> Bool {
        defer { sqlite3_reset(handle) }
        var hasRow = false
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW: hasRow = true
            case SQLITE_DONE: return hasRow
            case let code: throw failure(code)
            }
        }
    }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw failure(code) }
    }

    private func failure(_ code: Int32) -> SQLiteError {
        guard let connection = sqlite3_db_handle(handle) else {
            return SQLiteError(code: code, message: "no connection", statement: sql)
        }
        return SQLiteError(
            code: code, message: SQLiteError.message(of: connection, code), statement: sql)
    }
}
