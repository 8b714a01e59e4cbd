import CSQLite
import CPostgreSQL

/// The columns that a query returns, in their order: one case for each, named as in SQL.
///
/// A decoder names a column by its case, so that a new column in the middle of a query shifts no
/// other. An enum of 2 to 256 cases conforms by the raw type `String`.
public protocol RowColumn: RawRepresentable<String>, CaseIterable {}

extension RowColumn {
    /// The position of the column, from 0.
    ///
    /// Swift stores an enum without payloads as the number of its case (docs/ABI/TypeLayout.rst in
    /// its repository), so that reading a column costs no search.
    @inlinable public var position: Int32 { Int32(unsafeBitCast(self, to: UInt8.self)) }

    /// The names of the columns, separated by commas, for `SELECT` and `INSERT`.
    @inlinable public static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }

    /// A parameter for each column, separated by commas, for the `VALUES` of an `INSERT`.
    @inlinable public static var parameters: String {
        allCases.map { _ in "?" }.joined(separator: ", ")
    }

    /// Returns the assignments of an `ON CONFLICT` clause that replace every column but some by the
    /// value that the `INSERT` has for it.
    public static func replacements(besides kept: [Self]) -> String {
        allCases.filter { column in !kept.contains { $0.rawValue == column.rawValue } }
            .map { "\($0.rawValue) = excluded.\($0.rawValue)" }.joined(separator: ", ")
    }
}

/// The current row of a query; valid only inside the closure that receives it.
///
/// Columns count from 0. A value of another type is converted: SQLite does it itself, and
/// PostgreSQL sends every value as text, of which an integer is the part before a fraction.
public struct Row: ~Copyable {
    /// The row in the engine's own memory.
    enum Source {
        case sqlite(OpaquePointer)
        case postgreSQL(PostgresRow)
    }

    private let source: Source

    init(_ source: Source) { self.source = source }

    /// Whether the column is NULL.
    public func isNull(_ column: Int32) -> Bool {
        switch source {
        case .sqlite(let statement): sqlite3_column_type(statement, column) == SQLITE_NULL
        case .postgreSQL(let row): row.isNull(column)
        }
    }

    /// The column as an integer; 0 for NULL.
    public func integer(_ column: Int32) -> Int64 {
        switch source {
        case .sqlite(let statement): sqlite3_column_int64(statement, column)
        case .postgreSQL(let row): row.integer(column)
        }
    }

    /// The column as a real number; 0 for NULL.
    public func real(_ column: Int32) -> Double {
        switch source {
        case .sqlite(let statement): sqlite3_column_double(statement, column)
        case .postgreSQL(let row): row.real(column)
        }
    }

    /// The column as text; empty for NULL.
    public func text(_ column: Int32) -> String {
        switch source {
        case .sqlite(let statement):
            guard let start = sqlite3_column_text(statement, column) else { return "" }
            let count = Int(sqlite3_column_bytes(statement, column))
            return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
        case .postgreSQL(let row):
            return String(decoding: row.bytes(column), as: UTF8.self)
        }
    }

    /// The column as bytes; empty for NULL.
    public func blob(_ column: Int32) -> [UInt8] {
        withBlob(column) { Array($0) }
    }

    /// Calls `body` with the column's bytes, which SQLite does not copy; empty for NULL.
    public func withBlob<Result>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        switch source {
        case .sqlite(let statement):
            let start = sqlite3_column_blob(statement, column)
            return body(
                UnsafeRawBufferPointer(
                    start: start, count: Int(sqlite3_column_bytes(statement, column))))
        case .postgreSQL(let row): return row.blob(column).withUnsafeBytes(body)
        }
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

extension Row {
    @inlinable public func isNull(_ column: some RowColumn) -> Bool { isNull(column.position) }

    @inlinable public func integer(_ column: some RowColumn) -> Int64 { integer(column.position) }

    @inlinable public func text(_ column: some RowColumn) -> String { text(column.position) }

    @inlinable public func blob(_ column: some RowColumn) -> [UInt8] { blob(column.position) }

    @inlinable public func optionalInteger(_ column: some RowColumn) -> Int64? {
        optionalInteger(column.position)
    }

    @inlinable public func optionalText(_ column: some RowColumn) -> String? {
        optionalText(column.position)
    }
}

/// A row of a result of PostgreSQL, whose values are text.
struct PostgresRow {
    /// The first column of a result whose value is no text of its type, as under another
    /// `bytea_output`. Its place in the row has an empty value.
    final class Fault {
        var column: Int32?
    }

    let library: UnsafePointer<cpostgresql>
    let result: OpaquePointer
    let row: Int32
    let fault: Fault

    func isNull(_ column: Int32) -> Bool { library.pointee.PQgetisnull(result, row, column) != 0 }

    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: library.pointee.PQgetvalue(result, row, column),
            count: Int(library.pointee.PQgetlength(result, row, column)))
    }

    /// The column as an integer; a boolean is `t` or `f`, and a sum of integers may have a fraction.
    func integer(_ column: Int32) -> Int64 {
        let text = bytes(column)
        guard let first = text.first else { return 0 }
        if text.count == 1, first == UInt8(ascii: "t") { return 1 }
        if text.count == 1, first == UInt8(ascii: "f") { return 0 }
        let digits = text.prefix { $0 != UInt8(ascii: ".") }
        return Int64(String(decoding: digits, as: UTF8.self)) ?? malformed(column, 0)
    }

    func real(_ column: Int32) -> Double {
        let text = bytes(column)
        if text.isEmpty { return 0 }
        return Double(String(decoding: text, as: UTF8.self)) ?? malformed(column, 0)
    }

    /// The column as bytes: two hexadecimal digits for each after `\x` in a column of type `bytea`
    /// (PostgreSQL's documentation, 8.4.1), and the text itself in every other.
    func blob(_ column: Int32) -> [UInt8] {
        let text = bytes(column)
        let bytea: UInt32 = 17
        guard library.pointee.PQftype(result, column) == bytea, !isNull(column) else {
            return Array(text)
        }
        guard text.count.isMultiple(of: 2), text.starts(with: #"\x"#.utf8) else {
            return malformed(column, [])
        }
        var isHexadecimal = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 2 - 1) { bytes, count in
            for place in 0..<(text.count / 2 - 1) {
                let high = PostgresRow.digit(text[2 * place + 2])
                let low = PostgresRow.digit(text[2 * place + 3])
                isHexadecimal = isHexadecimal && high | low < 16
                bytes[place] = high << 4 | low
            }
            count = text.count / 2 - 1
        }
        return isHexadecimal ? bytes : malformed(column, [])
    }

    /// The value of a digit, which the server writes in lower case; 16 or more for another byte.
    private static func digit(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: 16
        }
    }

    private func malformed<Value>(_ column: Int32, _ empty: Value) -> Value {
        fault.column = fault.column ?? column
        return empty
    }
}

/// A value to bind, in one of SQLite's storage classes.
public enum Value: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// Binds text, or NULL for `nil`.
    public static func text(_ text: String?) -> Value { text.map { .text($0) } ?? .null }

    /// Binds an integer, or NULL for `nil`.
    public static func integer(_ number: Int64?) -> Value { number.map { .integer($0) } ?? .null }
}

extension Value: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(stringLiteral value: String) { self = .text(value) }
}
