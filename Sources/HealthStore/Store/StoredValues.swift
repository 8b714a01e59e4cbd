import ClarityScheduler
import Database

// What the store adds to SQLite: queries for one value, and instants in milliseconds since 1970.

extension Connection {
    /// Returns the first column of the first row as an instant, under the same conditions.
    func instant(_ sql: String, _ values: Value...) throws(DatabaseError) -> Instant? {
        try first(sql, with: values) { $0.optionalInstant(0) }
    }

    /// Whether a table has any rows.
    func hasRows(_ table: String) throws(DatabaseError) -> Bool {
        try integer("SELECT 1 FROM \(table) LIMIT 1") != nil
    }

    /// Returns the counts of a query for names and numbers.
    func counts(_ sql: String, _ values: Value...) throws(DatabaseError) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        try forEach(sql, values) { counts[$0.text(0)] = $0.integer(1) }
        return counts
    }

    /// Returns the first column of the first row; `nil` if there is no row, or the column is NULL.
    func blob(_ sql: String, _ values: Value...) throws(DatabaseError) -> [UInt8]? {
        var found: [UInt8]?
        try forEach(sql, values) { row in
            if found == nil, !row.isNull(0) { found = row.blob(0) }
        }
        return found
    }

    /// Returns the encrypted value of a table that has one row; `nil` if there is none.
    func encryptedValue(of table: String) throws(DatabaseError) -> [UInt8]? {
        try blob("SELECT sealed FROM \(table)")
    }

    /// Returns the value of a table that has one row; `nil` if there is none or it does not
    /// decrypt.
    func openedValue(of table: String, _ cipher: Cipher) throws(DatabaseError) -> [UInt8]? {
        try encryptedValue(of: table).flatMap { cipher.opened($0, for: RowIdentity(table)) }
    }

    /// Encrypts a value into a table that has one row.
    func write(_ plain: [UInt8], to table: String, _ cipher: Cipher) throws(DatabaseError) {
        try run(
            """
            INSERT INTO \(table) (id, sealed) VALUES (1, ?)
            ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed
            """, .blob(cipher.encrypt(plain, for: RowIdentity(table))))
    }
}

// One statement as a whole access, or as a whole change, of the store.

extension HealthStore {
    func all<Element>(
        _ sql: String, _ values: Value..., map: (borrowing Row) -> Element?
    ) throws(HealthStoreError) -> [Element] {
        try access { try $0.all(sql, with: values, map: map) }
    }

    func first<Element>(
        _ sql: String, _ values: Value..., map: (borrowing Row) -> Element?
    ) throws(HealthStoreError) -> Element? {
        try access { try $0.first(sql, with: values, map: map) }
    }

    func integer(_ sql: String, _ values: Value...) throws(HealthStoreError) -> Int64? {
        try access { try $0.first(sql, with: values) { $0.optionalInteger(0) } }
    }

    func run(_ sql: String, _ values: Value...) throws(HealthStoreError) {
        try change { try $0.run(sql, with: values) }
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
