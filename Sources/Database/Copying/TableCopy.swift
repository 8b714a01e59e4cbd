/// Copies the rows of all tables from one database to another with the same tables. One of the two
/// is a file, or both are.
public struct TableCopy {
    /// What came of a copy that changes no rows that are there.
    public enum Outcome: Hashable, Sendable {
        /// There was nothing to copy.
        case empty
        /// This many rows were copied, and both sides have the same.
        case copied(rows: Int64)
        /// Both sides had the same before.
        case same
        /// The target has other rows. Nothing was changed.
        case occupied
    }

    private let source: Connection
    private let target: Connection
    private let tables: [Table]

    /// - Parameter target: has the tables.
    public init(from source: Connection, to target: Connection) throws(DatabaseError) {
        (self.source, self.target) = (source, target)
        guard let file = (target as? FileConnection) ?? (source as? FileConnection) else {
            preconditionFailure("neither side is a file")
        }
        tables = try Table.all(of: file)
    }

    /// Copies all rows unless the target has any, and proves that both sides have the same. The
    /// caller has a transaction of each.
    ///
    /// - Parameters:
    ///   - marks: the tables that have rows only if there is something to copy.
    ///   - own: the tables of which each side may have its own rows after a copy.
    /// - Throws: `DatabaseError`, of kind `damage` if what arrived is not what was sent.
    public func runOnce(marks: [String], own: Set<String> = []) throws -> Outcome {
        guard try marks.contains(where: { try source.hasRows($0) }) else { return .empty }
        guard try !marks.contains(where: { try target.hasRows($0) }) else {
            return try isFaithful(but: own) ? .same : .occupied
        }
        let rows = try run()
        for table in tables { try raiseNumber(of: table) }
        guard try isFaithful() else {
            throw DatabaseError(
                kind: .damage, message: "the copy is not what it was made of", code: "copy")
        }
        return .copied(rows: rows)
    }

    /// Replaces the target's rows by those of the source, in the order in which the tables were
    /// made: a table refers only to those before it. The caller has a transaction of each.
    ///
    /// - Returns: how many rows the source has.
    @discardableResult
    public func run() throws -> Int64 {
        // What a trigger would add is among the rows already.
        let triggers = try (target as? FileConnection)?.all(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        ) { (name: $0.text(0), sql: $0.text(1)) }
        for trigger in triggers ?? [] { try target.execute("DROP TRIGGER \(trigger.name)") }
        for table in tables.reversed() { try target.run("DELETE FROM \(table.name) WHERE true") }
        let rows = try tables.reduce(0) { try $0 + copy($1) }
        for trigger in triggers ?? [] { try target.execute(trigger.sql) }
        if !(target is FileConnection) {
            // The triggers of a server are its owner's. They have added to what was copied.
            for table in tables where try source.sum(of: table) != target.sum(of: table) {
                _ = try copy(table)
            }
        }
        return rows
    }

    /// Replaces the rows of a table, and returns how many the source has.
    private func copy(_ table: Table) throws -> Int64 {
        try target.run("DELETE FROM \(table.name) WHERE true")
        let places = table.columns.map { _ in "?" }.joined(separator: ", ")
        return try target.withInsertion(
            "INSERT INTO \(table.name) (\(table.columnList)) VALUES (\(places))"
        ) { insertion in
            var failure: DatabaseError?
            try source.forEachRow(of: table) { row in
                guard failure == nil else { return }
                do throws(DatabaseError) {
                    try insertion.bind(table.values(of: row))
                    try insertion.run()
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
        }
    }

    /// Whether both sides have the same rows in all tables but `own`.
    ///
    /// Compares sums over hashes of the rows, each with a key of this process: the engines order
    /// texts differently.
    public func isFaithful(but own: Set<String> = []) throws(DatabaseError) -> Bool {
        for table in tables where !own.contains(table.name) {
            guard try source.sum(of: table) == target.sum(of: table) else { return false }
        }
        return true
    }

    /// Raises the number that the target gives next beyond all that the source has given: rows that
    /// were removed had some, too.
    private func raiseNumber(of table: Table) throws(DatabaseError) {
        guard let number = table.number else { return }
        let given = try max(source.numberGiven(to: table) ?? 0, source.highest(number, in: table))
        let missing = try given - (target.numberGiven(to: table) ?? given)
        guard missing > 0 else { return }
        if target is FileConnection {
            try target.run("DELETE FROM sqlite_sequence WHERE name = ?", .text(table.name))
            try target.run(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)",
                .text(table.name), .integer(given))
        } else {
            // The role may take numbers, and not set the next one.
            try target.run(
                """
                SELECT max(nextval(pg_get_serial_sequence(?, ?)))
                FROM generate_series(1, CAST(? AS bigint))
                """, .text(table.name), .text(number), .integer(missing))
        }
    }
}

/// A table, and the types of its columns.
private struct Table {
    var name: String
    var columns: [(name: String, type: String)]
    /// The column with the number of a row; `nil` if rows have no numbers.
    var number: String?
    /// Whether a file gives no number twice.
    var keepsNumbers: Bool

    var columnList: String { columns.map(\.name).joined(separator: ", ") }

    static func all(of file: FileConnection) throws(DatabaseError) -> [Table] {
        let tables = try file.all(
            """
            SELECT name, sql LIKE '%AUTOINCREMENT%' FROM sqlite_schema
            WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid
            """
        ) { (name: $0.text(0), keepsNumbers: $0.integer(1) == 1) }
        return try tables.map { table throws(DatabaseError) in
            let columns = try file.all(
                "SELECT name, type, pk FROM pragma_table_info(?)", .text(table.name)
            ) { (name: $0.text(0), type: $0.text(1), isKey: $0.integer(2) > 0) }
            let keys = columns.filter(\.isKey)
            return Table(
                name: table.name, columns: columns.map { ($0.name, $0.type) },
                number: keys.count == 1 && keys[0].type == "INTEGER" ? keys[0].name : nil,
                keepsNumbers: table.keepsNumbers)
        }
    }

    func values(of row: borrowing Row) -> [Value] {
        var values: [Value] = []
        for (index, column) in columns.enumerated() {
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
}

extension Connection {
    fileprivate func hasRows(_ table: String) throws(DatabaseError) -> Bool {
        try first("SELECT 1 FROM \(table) LIMIT 1") { _ in true } ?? false
    }

    fileprivate func forEachRow(
        of table: Table, _ body: (borrowing Row) -> Void
    ) throws(DatabaseError) {
        let query = "SELECT \(table.columnList) FROM \(table.name)"
        guard self is ServerConnection else { return try forEach(query, [], body) }
        // The answer to a query comes as a whole, and a table may be larger than the memory.
        let cursor = "copy_of_\(table.name)"
        try execute("DECLARE \(cursor) CURSOR FOR \(query)")
        var isMore = true
        while isMore {
            isMore = false
            try forEach("FETCH 2000 FROM \(cursor)") { row in
                isMore = true
                body(row)
            }
        }
        try execute("CLOSE \(cursor)")
    }

    /// Returns the number of a table's rows and the sum of their hashes.
    fileprivate func sum(of table: Table) throws(DatabaseError) -> [Int] {
        var (count, sum) = (0, 0)
        try forEachRow(of: table) { row in
            var hasher = Hasher()
            for value in table.values(of: row) { hasher.combine(value) }
            count += 1
            sum &+= hasher.finalize()
        }
        return [count, sum]
    }

    /// Returns the highest number that was given to a row of a table, as far as this is remembered;
    /// `nil` if the database gives it none.
    fileprivate func numberGiven(to table: Table) throws(DatabaseError) -> Int64? {
        guard let number = table.number else { return nil }
        guard self is FileConnection else {
            return try integer(
                "SELECT nextval(pg_get_serial_sequence(?, ?))", .text(table.name), .text(number))
        }
        guard table.keepsNumbers else { return nil }
        return try integer("SELECT seq FROM sqlite_sequence WHERE name = ?", .text(table.name)) ?? 0
    }

    fileprivate func highest(
        _ number: String, in table: Table
    ) throws(DatabaseError) -> Int64 {
        try integer("SELECT max(\(number)) FROM \(table.name)") ?? 0
    }
}
