import Database

/// How many rows of one type, month and state a table has, authenticated with the key.
struct CountRow: Hashable, Sendable {
    /// What is counted together.
    struct Key: Hashable, Sendable {
        /// The table.
        let place: String
        let type: String
        let month: Int64
        let state: String
    }

    let key: Key
    var number: Int64 = 0
    /// A sum over columns of the rows, by which other rows in their place are missed. Whoever
    /// chooses the rows with care can balance it.
    var weight: Int64 = 0
    /// Which write of a count wrote this one (`AuditHead.Counts`).
    var generation: Int64 = 0

    private enum Column: String, RowColumn {
        case place, type, month, state, number, weight, generation, mac
    }

    /// Returns every count, and whether this key made it.
    static func all(
        _ connection: Connection, _ cipher: Cipher
    ) throws -> [(row: CountRow, isAuthentic: Bool)] {
        try connection.all("SELECT \(Column.list) FROM counts") { found($0, cipher) }
    }

    /// Returns the count of a key; `nil` if there is none.
    static func find(
        _ key: Key, _ connection: Connection, _ cipher: Cipher
    ) throws -> (row: CountRow, isAuthentic: Bool)? {
        try connection.first(
            """
            SELECT \(Column.list) FROM counts
            WHERE place = ? AND type = ? AND month = ? AND state = ?
            """, .text(key.place), .text(key.type), .integer(key.month), .text(key.state)
        ) { found($0, cipher) }
    }

    private static func found(
        _ row: borrowing Row, _ cipher: Cipher
    ) -> (row: CountRow, isAuthentic: Bool) {
        let count = CountRow(
            key: Key(
                place: row.text(Column.place), type: row.text(Column.type),
                month: row.integer(Column.month), state: row.text(Column.state)),
            number: row.integer(Column.number), weight: row.integer(Column.weight),
            generation: row.integer(Column.generation))
        return (count, count.mac(cipher) == row.blob(Column.mac))
    }

    /// Returns the generation of the count that was written last; 0 without any.
    static func newest(_ connection: Connection, _ cipher: Cipher) throws -> Int64 {
        try all(connection, cipher).filter(\.isAuthentic).map(\.row.generation).max() ?? 0
    }

    /// Writes the count in the place of the one that its key has.
    func write(_ connection: Connection, _ cipher: Cipher) throws {
        try connection.run(
            """
            INSERT INTO counts (\(Column.list)) VALUES (\(Column.parameters))
            ON CONFLICT (place, type, month, state)
                DO UPDATE SET \(Column.replacements(besides: [.place, .type, .month, .state]))
            """, .text(key.place), .text(key.type), .integer(key.month), .text(key.state),
            .integer(number), .integer(weight), .integer(generation), .blob(mac(cipher)))
    }

    private func mac(_ cipher: Cipher) -> [UInt8] {
        cipher.authenticate(
            RowIdentity(
                "counts", key.place, key.type, key.month, key.state, number, weight, generation
            ).bytes)
    }
}
