import ClarityScheduler
import SQLite

// What the store adds to SQLite: queries for one value, and instants in milliseconds since 1970.

extension Connection {
    /// Returns the first column of the first row; `nil` if there is no row, or the column is NULL.
    func integer(_ sql: String, _ values: Value...) throws(SQLiteError) -> Int64? {
        var found: Int64?
        try forEach(sql, values) { row in found = found ?? row.optionalInteger(0) }
        return found
    }

    /// Returns the first column of the first row; `nil` if there is no row, or the column is NULL.
    func blob(_ sql: String, _ values: Value...) throws(SQLiteError) -> [UInt8]? {
        var found: [UInt8]?
        try forEach(sql, values) { row in
            if found == nil, !row.isNull(0) { found = row.blob(0) }
        }
        return found
    }

    /// Runs one statement with a list of values.
    func run(_ sql: String, with values: [Value]) throws(SQLiteError) {
        try forEach(sql, values) { _ in }
    }
}

extension Value {
    static func instant(_ instant: Instant) -> Value { .integer(instant.millisecondsSince1970) }

    /// The instant, or NULL.
    static func instant(_ instant: Instant?) -> Value {
        .integer(instant?.millisecondsSince1970)
    }
}

extension Row {
    func instant(_ column: Int32) -> Instant {
        Instant(millisecondsSince1970: integer(column))
    }

    func instant(_ column: some RowColumn) -> Instant { instant(column.position) }

    /// The column as an instant; `nil` for NULL.
    func optionalInstant(_ column: Int32) -> Instant? {
        optionalInteger(column).map { Instant(millisecondsSince1970: $0) }
    }

    func optionalInstant(_ column: some RowColumn) -> Instant? {
        optionalInstant(column.position)
    }
}
