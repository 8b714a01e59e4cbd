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
