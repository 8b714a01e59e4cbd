import CSQLite

/// Hears of each row that the statements of a connection to a file insert, change or remove.
public protocol RowWatch: AnyObject {
    /// Called just before a row changes. No statement may run meanwhile. If a statement fails, what
    /// was noted of it stays until the transaction is rolled back.
    func note(_ change: borrowing RowChange)

    /// Called when what was noted since the last commit was rolled back.
    func forget()
}

/// A row that is inserted, changed or removed (sqlite.org/c3ref/preupdate_blobwrite.html).
public struct RowChange: ~Copyable {
    /// The row before or after the change.
    public enum Side { case former, new }

    private let handle: OpaquePointer
    private let operation: Int32
    public let table: String

    fileprivate init(_ handle: OpaquePointer, _ operation: Int32, _ table: String) {
        (self.handle, self.operation, self.table) = (handle, operation, table)
    }

    /// Whether there is a row on that side.
    public func has(_ side: Side) -> Bool {
        operation != (side == .former ? SQLITE_INSERT : SQLITE_DELETE)
    }

    /// Returns an integer by the position of its column, from 0; `nil` if it is NULL. Of the former
    /// row it is also `nil` if the column was added to the table later, whatever its default.
    public func integer(_ column: Int32, _ side: Side) -> Int64? {
        let value = value(column, side)
        return sqlite3_value_type(value) == SQLITE_NULL ? nil : sqlite3_value_int64(value)
    }

    /// Returns a text by the position of its column; `nil` if it is NULL.
    public func text(_ column: Int32, _ side: Side) -> String? {
        sqlite3_value_text(value(column, side)).map { String(cString: $0) }
    }

    public func isNull(_ column: Int32, _ side: Side) -> Bool {
        sqlite3_value_type(value(column, side)) == SQLITE_NULL
    }

    private func value(_ column: Int32, _ side: Side) -> OpaquePointer? {
        var value: OpaquePointer?
        let code =
            side == .former
            ? sqlite3_preupdate_old(handle, column, &value)
            : sqlite3_preupdate_new(handle, column, &value)
        // Without memory there is no value, and the statement itself fails.
        return code == SQLITE_OK ? value : nil
    }
}

extension FileConnection {
    /// Tells `watch` of each row from now on. The connection keeps it.
    public func watchRows(_ watch: any RowWatch) {
        rowWatch = watch
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_preupdate_hook(
            handle,
            { context, handle, operation, schema, table, _, _ in
                guard let context, let handle, let schema, let table,
                    schema[0] == CChar(UInt8(ascii: "m"))
                else { return }
                let connection = Unmanaged<FileConnection>.fromOpaque(context).takeUnretainedValue()
                connection.rowWatch?.note(RowChange(handle, operation, String(cString: table)))
            }, context)
        sqlite3_rollback_hook(
            handle,
            { context in
                guard let context else { return }
                Unmanaged<FileConnection>.fromOpaque(context).takeUnretainedValue().rowWatch?
                    .forget()
            }, context)
    }
}
