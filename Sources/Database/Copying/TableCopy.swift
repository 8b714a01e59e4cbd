/// Copies the rows of all tables of a database, of either engine, into a file with the same tables.
public struct TableCopy {
    /// A table, and the types of its columns.
    private struct Table {
        var name: String
        var columns: [(name: String, type: String)]
    }

    private let source: Connection
    private let target: FileConnection
    private let tables: [Table]

    /// - Parameter target: has the tables, whose rows the copies replace.
    public init(from source: Connection, to target: FileConnection) throws(DatabaseError) {
        (self.source, self.target) = (source, target)
        tables = try TableCopy.tables(of: target)
    }

    /// Copies all rows in one transaction of the target, in the order in which the tables were made:
    /// a table refers only to those before it. The caller has a transaction of the source.
    public func run() throws {
        try target.transaction {
            // What a trigger would add is among the rows already.
            let triggers = try target.all(
                "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
            ) { (name: $0.text(0), sql: $0.text(1)) }
            for trigger in triggers { try target.execute("DROP TRIGGER \(trigger.name)") }
            for table in tables.reversed() { try target.run("DELETE FROM \(table.name)") }
            for table in tables {
                let columns = table.columns.map(\.name).joined(separator: ", ")
                let places = table.columns.map { _ in "?" }.joined(separator: ", ")
                let insert = "INSERT INTO \(table.name) (\(columns)) VALUES (\(places))"
                var failure: DatabaseError?
                try forEachRow("SELECT \(columns) FROM \(table.name)", of: table) { row in
                    guard failure == nil else { return }
                    do throws(DatabaseError) {
                        try target.forEach(insert, TableCopy.values(of: row, table)) { _ in }
                    } catch {
                        failure = error
                    }
                }
                if let failure { throw failure }
            }
            for trigger in triggers { try target.execute(trigger.sql) }
        }
    }

    private func forEachRow(
        _ query: String, of table: Table, _ body: (borrowing Row) -> Void
    ) throws(DatabaseError) {
        guard source is ServerConnection else { return try source.forEach(query, [], body) }
        // The answer to a query comes as a whole, and a table may be larger than the memory.
        let cursor = "copy_of_\(table.name)"
        try source.execute("DECLARE \(cursor) CURSOR FOR \(query)")
        var isMore = true
        while isMore {
            isMore = false
            try source.forEach("FETCH 2000 FROM \(cursor)") { row in
                isMore = true
                body(row)
            }
        }
        try source.execute("CLOSE \(cursor)")
    }

    private static func values(of row: borrowing Row, _ table: Table) -> [Value] {
        var values: [Value] = []
        for (index, column) in table.columns.enumerated() {
            let index = Int32(index)
            switch column.type {
            case _ where row.isNull(index): values.append(.null)
            case "INTEGER": values.append(.integer(row.integer(index)))
            case "REAL": values.append(.real(row.real(index)))
            case "BLOB": values.append(.blob(row.blob(index)))
            default: values.append(.text(row.text(index)))
            }
        }
        return values
    }

    private static func tables(of connection: FileConnection) throws(DatabaseError) -> [Table] {
        let names = try connection.all(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
            ORDER BY rowid
            """
        ) { $0.text(0) }
        return try names.map { name throws(DatabaseError) in
            Table(
                name: name,
                columns: try connection.all(
                    "SELECT name, type FROM pragma_table_info(?)", .text(name)
                ) { ($0.text(0), $0.text(1)) })
        }
    }
}
