import Database
import ClarityScheduler

/// The parts of a table that are encrypted or hashed with the master key, and the identity of its
/// rows.
///
/// Every table with such parts must be in `all`: the change of the master key relies on it, and so
/// do the tests that damage every encrypted value.
struct EncryptedTable: Sendable {
    /// A column of a row's identity.
    enum Part: Hashable, Sendable {
        case text(String)
        case integer(String)
        /// The column of the keyed hash itself.
        case blindIndex
    }

    let name: String
    /// The column that names the table for which the value was encrypted; `nil` if it is this
    /// table.
    var origin: String?
    /// The parts of the row's identity, in order.
    var identity: [Part] = []
    /// The index of the part that names the row for people; `nil` to use the row's number.
    var label: Int?
    /// Whether the table has a column `encrypted`. NULL there means that the value was removed.
    var isEncrypted = true
    /// The column with a keyed hash.
    var blindIndex: String?
    /// The column that holds a `Cipher.hexIndex` instead of a text. In `archive`, only a metric's
    /// version has one.
    var hexIndex: String?

    /// Every table with something that depends on the key, except the audit log, which is chained,
    /// and the key check and the former keys, which change last.
    static let all: [EncryptedTable] = [
        EncryptedTable(name: "owner"),
        EncryptedTable(name: "session"),
        EncryptedTable(name: "session_record"),
        EncryptedTable(name: "login_tries", isEncrypted: false, blindIndex: "tag"),
        EncryptedTable(name: "profile"),
        EncryptedTable(
            name: "outbox",
            identity: [.text("kind"), .integer("start_s"), .integer("end_s"), .blindIndex],
            blindIndex: "tag"),
        EncryptedTable(
            name: "metrics", identity: pulled("id"), label: 0, blindIndex: "digest", hexIndex: "id"),
        EncryptedTable(name: "insights", identity: pulled("id"), label: 0, blindIndex: "digest"),
        EncryptedTable(
            name: "archive", origin: "origin", identity: pulled("row_id"), label: 0,
            blindIndex: "digest",
            hexIndex: "row_id"),
        EncryptedTable(name: "pulls", identity: [.text("name")], label: 0),
        EncryptedTable(
            name: "sources", identity: [.blindIndex], blindIndex: "tag", hexIndex: "stamp"),
        EncryptedTable(name: "day_zone"),
        EncryptedTable(name: "readings", identity: [.integer("id")], blindIndex: "tag"),
        EncryptedTable(name: "server_words", identity: [.integer("id")]),
        EncryptedTable(
            name: "contributions", identity: [.text("kind"), .integer("period"), .blindIndex],
            blindIndex: "tag"),
        EncryptedTable(name: "minutes", identity: [.integer("day")]),
        EncryptedTable(name: "analyses", identity: [.integer("id"), .integer("last_day")]),
        EncryptedTable(
            name: "segments",
            identity: [.text("type"), .integer("month"), .integer("generation")], label: 0),
        EncryptedTable(
            name: "segment_days", identity: [.text("type"), .integer("month")], label: 0),
        EncryptedTable(
            name: "packed_samples",
            identity: [.text("kind"), .integer("month"), .integer("generation")], label: 0),
        EncryptedTable(name: "packed_totals", identity: [.text("kind")], label: 0),
        EncryptedTable(name: "segment_marks", identity: [.blindIndex], blindIndex: "tag"),
        EncryptedTable(
            name: "insight_requests", identity: [.integer("id"), .integer("analysis_id")]),
        EncryptedTable(
            name: "publications", identity: [.text("job"), .text("part")], label: 0),
    ]

    static let formerKeys = EncryptedTable(
        name: "former_keys", identity: [.integer("generation"), .integer("copy")])

    private static func pulled(_ id: String) -> [Part] {
        [.text(id), .text("type"), .integer("timestamp_ms")]
    }

    /// A row, with its parts that depend on the key.
    struct Entry {
        /// Its number in the table, by which the rows are ordered.
        let number: Int64
        /// Where a server has it; `nil` in a file.
        fileprivate let place: String?
        let encrypted: [UInt8]?
        let blindIndex: [UInt8]?
        /// The content of the column `hexIndex`; `nil` in a row that has none.
        fileprivate let hexIndex: String?
        fileprivate let title: String
        fileprivate let parts: [Value]
    }

    /// Returns the rows after `number` in their order, at most `limit`.
    func entries(after number: Int64, limit: Int, _ connection: Connection) throws -> [Entry] {
        try connection.all(
            "\(selection(of: "rowid")) WHERE rowid > ? ORDER BY rowid LIMIT ?", .integer(number),
            .integer(Int64(limit))
        ) { entry($0, number: $0.integer(0), place: nil) }
    }

    /// Calls `body` with each row that a server has as the current transaction begins, whatever
    /// `body` changes.
    ///
    /// - Parameter portion: how many rows are in memory at a time.
    func forEachOnServer(
        portion: Int, _ connection: Connection, _ body: (Entry) throws -> Void
    ) throws {
        // A cursor sees nothing that its own transaction changes later.
        try connection.execute(
            "DECLARE \(name)_rows NO SCROLL CURSOR FOR \(selection(of: "CAST(ctid AS text)"))")
        var number: Int64 = 0
        while true {
            let entries = try connection.all("FETCH FORWARD \(portion) FROM \(name)_rows") { row in
                number += 1
                return entry(row, number: number, place: row.text(0))
            }
            for entry in entries { try body(entry) }
            guard entries.count == portion else { break }
        }
        try connection.execute("CLOSE \(name)_rows")
    }

    private func selection(of place: String) -> String {
        let columns = identity.map { part in
            switch part {
            case .text(let name), .integer(let name): name
            case .blindIndex: blindIndex ?? "NULL"
            }
        }
        return "SELECT \(place), \(isEncrypted ? "sealed" : "NULL"), \(blindIndex ?? "NULL"), "
            + ([origin ?? "NULL", hexIndex ?? "NULL"] + columns).joined(separator: ", ")
            + " FROM \(name)"
    }

    private func entry(_ row: borrowing Row, number: Int64, place: String?) -> Entry {
        var parts: [Value] = []
        for (index, part) in identity.enumerated() {
            let column = Int32(5 + index)
            switch part {
            case .text: parts.append(.text(row.text(column)))
            case .integer: parts.append(.integer(row.integer(column)))
            case .blindIndex: parts.append(.blob(row.blob(column)))
            }
        }
        return Entry(
            number: number, place: place, encrypted: row.isNull(1) ? nil : row.blob(1),
            blindIndex: row.isNull(2) ? nil : row.blob(2),
            hexIndex: hexIndex == nil || (origin != nil && row.text(3) != "metrics")
                ? nil : row.text(4),
            title: origin == nil ? name : row.text(3), parts: parts)
    }

    /// Returns the identity for which the entry's value is encrypted, with `blindIndex` and
    /// `hexIndex` in place of the entry's own.
    func identity(
        of entry: Entry, blindIndex: [UInt8]? = nil, hexIndex: String? = nil
    ) -> RowIdentity {
        var label = String(entry.number)
        if let part = self.label, case .text(let text) = entry.parts[part] { label = text }
        var row = RowIdentity(entry.title, label: label)
        for (part, value) in zip(identity, entry.parts) {
            switch (part, value) {
            case (.blindIndex, .blob(let own)): row.append(blindIndex ?? own)
            case (.text(let column), .text(let text)):
                row.append(column == self.hexIndex ? hexIndex ?? text : text)
            case (_, .integer(let number)): row.append(number)
            default: break
            }
        }
        return row
    }

    /// Encrypts an entry again with the next master key.
    ///
    /// - Returns: `false` if the value cannot be decrypted; the value then stays as it is.
    func reencrypt(
        _ entry: Entry, from former: Cipher, to next: Cipher, _ connection: Connection
    ) throws -> Bool {
        let newIndex = entry.blindIndex.map { next.blindIndex(following: $0) }
        let newHexIndex = entry.hexIndex.map { next.hexIndex(following: $0) ?? $0 }
        var isSound = true
        var encrypted = entry.encrypted
        if let old = entry.encrypted {
            do throws(EncryptionError) {
                let plain = try former.open(old, for: identity(of: entry))
                encrypted = next.encrypt(
                    plain, for: identity(of: entry, blindIndex: newIndex, hexIndex: newHexIndex))
            } catch {
                isSound = false
            }
        }
        var settings: [String] = []
        var values: [Value] = []
        if isEncrypted {
            settings.append("sealed = ?")
            values.append(encrypted.map { .blob($0) } ?? .null)
        }
        if let blindIndex, let newIndex {
            settings.append("\(blindIndex) = ?")
            values.append(.blob(newIndex))
        }
        if let hexIndex, let newHexIndex {
            settings.append("\(hexIndex) = ?")
            values.append(.text(newHexIndex))
        }
        guard !settings.isEmpty else { return isSound }
        try connection.run(
            "UPDATE \(name) SET \(settings.joined(separator: ", ")) WHERE "
                + (entry.place == nil ? "rowid = ?" : "ctid = CAST(? AS tid)"),
            with: values + [entry.place.map { .text($0) } ?? .integer(entry.number)])
        return isSound
    }
}

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
