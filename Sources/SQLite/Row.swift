import CSQLite

/// The current row of a query; valid only inside the closure that receives it.
///
/// Columns count from 0. SQLite converts a value of another storage class.
public struct Row: ~Copyable {
    private let statement: OpaquePointer

    init(_ statement: OpaquePointer) { self.statement = statement }

    /// Whether the column is NULL.
    public func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(statement, column) == SQLITE_NULL
    }

    /// The column as an integer; 0 for NULL.
    public func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    /// The column as a real number; 0 for NULL.
    public func real(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }

    /// The column as text; empty for NULL.
    public func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(statement, column) else { return "" }
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// The column as bytes; empty for NULL.
    public func blob(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(statement, column) else { return [] }
        let count = Int(sqlite3_column_bytes(statement, column))
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Calls `body` with the column's bytes in SQLite's own buffer, without copying them; empty for
    /// NULL.
    public func withBlob<Result>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        let start = sqlite3_column_blob(statement, column)
        return body(
            UnsafeRawBufferPointer(
                start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }

    /// The column as an integer; `nil` for NULL.
    public func optionalInteger(_ column: Int32) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    /// The column as text; `nil` for NULL.
    public func optionalText(_ column: Int32) -> String? {
        isNull(column) ? nil : text(column)
    }
}
