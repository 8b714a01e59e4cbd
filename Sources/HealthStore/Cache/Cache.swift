public import ClarityScheduler
import Database
public import HealthModel

/// Rows pulled from the backend, readable offline.
public struct Cache: Sendable {
    let store: HealthStore

    var cipher: Cipher { store.cipher }

    /// Stores pulled rows by id, all in one transaction.
    ///
    /// Rows that are not among them stay: an empty answer deletes nothing. Of two versions with
    /// different content the one with the later timestamp wins; with equal timestamps, the one that
    /// came now. The other one is archived. A metric that the outbox sent is recognised by its id,
    /// and counts once from then on.
    ///
    /// - Parameter part: the part whose whole pull becomes due if one of the rows is new. Its
    ///   `PullRecord.wholeAt` and its place then become `nil` in the same transaction, because rows
    ///   after these may be missing however the pull ends.
    public func upsert(
        _ rows: [CachedRow], into table: CachedTable, syncedAt now: Instant,
        newsOwesWhole part: PulledPart? = nil
    ) throws(HealthStoreError) -> UpsertCounts {
        guard !rows.isEmpty else { return UpsertCounts() }
        return try store.change { connection in
            var counts = UpsertCounts()
            let kinds = Dictionary(rows.map { ($0.type, Int64(1)) }, uniquingKeysWith: +)
            try store.audit.record(.read, kinds, detail: "from the backend", connection)
            let twins = try table == .metrics ? SampleTwins(cipher, connection) : nil
            for row in rows {
                let known = try known(row.id, in: table, connection)
                let digest = digest(row, in: table)
                if let known, known.digest == digest {
                    counts.unchanged += 1
                    try keep(row, as: known, in: table, at: now, connection)
                } else if let known, row.timestamp < known.timestamp {
                    counts.outdated += 1
                    let loser = KnownRow(
                        type: row.type, timestamp: row.timestamp, digest: digest,
                        encrypted: cipher.encrypt(
                            row.form(in: table), for: identity(row, in: table)))
                    try archive(loser, row.id, from: table, at: now, connection)
                } else {
                    if let known {
                        counts.replaced += 1
                        try archive(known, row.id, from: table, at: now, connection)
                    } else {
                        counts.added += 1
                    }
                    try put(row, digest, into: table, at: now, connection)
                }
                try twins?.link(row, connection)
            }
            if let part, counts.added + counts.replaced > 0 {
                try connection.run(
                    "UPDATE pulls SET whole_at_ms = NULL, sealed = NULL WHERE name = ?",
                    .text(part.rawValue))
            }
            return counts
        }
    }

    /// Writes a row in place of its stored version.
    func put(
        _ row: CachedRow, _ digest: [UInt8], into table: CachedTable, at now: Instant,
        _ connection: Connection
    ) throws {
        try connection.run(
            """
            INSERT INTO \(table.rawValue)
                (id, type, timestamp_ms, digest, sealed, synced_at_ms)
            VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET type = excluded.type,
                timestamp_ms = excluded.timestamp_ms, digest = excluded.digest,
                sealed = excluded.sealed, synced_at_ms = excluded.synced_at_ms
            """,
            .text(name(row.id, in: table)), .text(row.type),
            .instant(row.timestamp),
            .blob(digest),
            .blob(cipher.encrypt(row.form(in: table), for: identity(row, in: table))),
            .instant(now))
    }

    /// Records that a row is unchanged; a row of an earlier version gets its numbers.
    private func keep(
        _ row: CachedRow, as known: KnownRow, in table: CachedTable, at now: Instant,
        _ connection: Connection
    ) throws {
        let time = Value.instant(now)
        try connection.run(
            "UPDATE \(table.rawValue) SET synced_at_ms = max(synced_at_ms, ?) WHERE id = ?",
            time, .text(name(row.id, in: table)))
        let identity = identity(row, in: table)
        let form = row.form(in: table)
        guard row.numbers != nil, cipher.opened(known.encrypted, for: identity) != form else {
            return
        }
        try connection.run(
            "UPDATE \(table.rawValue) SET sealed = ? WHERE id = ?",
            .blob(cipher.encrypt(form, for: identity)), .text(name(row.id, in: table)))
    }

    /// Returns the cached rows, latest first, and which rows do not decrypt.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of rows read, including damaged ones.
    ///   - end: returns only rows from before this instant.
    public func rows(
        of table: CachedTable, limit: Int, offset: Int = 0, before end: Instant? = nil
    ) throws(HealthStoreError) -> CachedRows {
        try store.access { connection in
            let found = try connection.all(
                """
                SELECT \(SyncedRow.Column.list) FROM \(table.rawValue)
                WHERE timestamp_ms < ? ORDER BY timestamp_ms DESC, id LIMIT ? OFFSET ?
                """, .integer(end?.millisecondsSince1970 ?? .max), .integer(Int64(limit)),
                .integer(Int64(offset)), map: SyncedRow.init)
            var opened: [SyncedRow] = []
            var rows = CachedRows()
            for row in found {
                do throws(EncryptionError) {
                    opened.append(try self.opened(row, in: table))
                } catch {
                    rows.damaged.append(error)
                }
            }
            // The file orders rows of one instant by their stored names.
            opened.sort { ($1.row.timestamp, $0.row.id) < ($0.row.timestamp, $1.row.id) }
            for row in opened { rows.append(row) }
            return rows
        }
    }

    /// Decrypts a row as it is stored.
    func opened(_ row: SyncedRow, in table: CachedTable) throws(EncryptionError) -> SyncedRow {
        var opened = row.row
        let identity = identity(named: opened.id, opened, in: table)
        opened.take(form: try cipher.open(opened.json, for: identity))
        return SyncedRow(row: opened, syncedAt: row.syncedAt)
    }

    /// Returns the number of rows in a table.
    public func count(of table: CachedTable) throws(HealthStoreError) -> Int64 {
        try store.integer("SELECT count(*) FROM \(table.rawValue)") ?? 0
    }

    /// Stores the user's profile as JSON.
    public func storeProfile(
        _ json: [UInt8], syncedAt now: Instant
    ) throws(HealthStoreError) {
        try store.run(
            """
            INSERT INTO profile (id, sealed, synced_at_ms) VALUES (1, ?, ?)
            ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed,
                synced_at_ms = excluded.synced_at_ms
            """, .blob(cipher.encrypt(json, for: RowIdentity("profile"))),
            .instant(now))
    }

    /// Returns the profile and when it was pulled, or `nil` before the first pull.
    public func profile() throws(HealthStoreError) -> (json: [UInt8], syncedAt: Instant)? {
        try store.access { connection in
            let found = try connection.first("SELECT sealed, synced_at_ms FROM profile") {
                ($0.blob(0), $0.instant(1))
            }
            guard let (encrypted, syncedAt) = found else { return nil }
            return (try cipher.open(encrypted, for: RowIdentity("profile")), syncedAt)
        }
    }

    /// A stored row.
    private struct KnownRow {
        enum Column: String, RowColumn {
            case type, timestamp_ms, digest, encrypted = "sealed"
        }

        var type: String
        var timestamp: Instant
        var digest: [UInt8]
        var encrypted: [UInt8]
    }

    private func known(
        _ id: String, in table: CachedTable, _ connection: Connection
    ) throws -> KnownRow? {
        try connection.first(
            "SELECT \(KnownRow.Column.list) FROM \(table.rawValue) WHERE id = ?",
            .text(name(id, in: table))
        ) {
            KnownRow(
                type: $0.text(KnownRow.Column.type),
                timestamp: $0.instant(KnownRow.Column.timestamp_ms),
                digest: $0.blob(KnownRow.Column.digest),
                encrypted: $0.blob(KnownRow.Column.encrypted))
        }
    }

    private func archive(
        _ loser: KnownRow, _ id: String, from table: CachedTable, at now: Instant,
        _ connection: Connection
    ) throws {
        // An outdated row comes again with every pull, but is archived once.
        try connection.run(
            """
            INSERT INTO archive
                (origin, row_id, type, timestamp_ms, digest, sealed, archived_at_ms)
            VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            .text(table.rawValue), .text(name(id, in: table)), .text(loser.type),
            .instant(loser.timestamp), .blob(loser.digest),
            .blob(loser.encrypted), .instant(now))
    }

    /// Returns the stored name of a row: a blind index for a metric, since the backend's id is a
    /// hash of the value.
    func name(_ id: String, in table: CachedTable) -> String {
        table == .metrics ? cipher.metricIndex(id) : id
    }

    func identity(_ row: CachedRow, in table: CachedTable) -> RowIdentity {
        identity(named: name(row.id, in: table), row, in: table)
    }

    /// Returns the identity of a row with a stored name.
    func identity(named name: String, _ row: CachedRow, in table: CachedTable) -> RowIdentity {
        .cached(table, name, type: row.type, at: row.timestamp)
    }

    /// Returns a keyed hash of the whole row, which reveals a change without decrypting the stored
    /// row.
    func digest(_ row: CachedRow, in table: CachedTable) -> [UInt8] {
        var content = identity(named: row.id, row, in: table)
        content.append(row.json)
        return cipher.blindIndex(content.bytes, count: 16)
    }
}

extension RowIdentity {
    /// Returns the identity of a row of a table, or of a version of it, with a stored name.
    static func cached(
        _ table: CachedTable, _ name: String, type: String, at timestamp: Instant
    ) -> RowIdentity {
        RowIdentity(table.rawValue, label: name, name, type, timestamp.millisecondsSince1970)
    }
}

extension HealthStore {
    /// What was pulled from the backend.
    public var cache: Cache { Cache(store: self) }
}

extension Cache {
    /// Returns the ids of all stored insights, in no order.
    public func insightIDs() throws(HealthStoreError) -> [String] {
        try store.all("SELECT id FROM insights") { $0.text(0) }
    }

    /// Returns the insight with this id, or the only one whose id has this prefix.
    ///
    /// - Returns: `nil` if there is none, or more than one with the prefix.
    /// - Throws: `encryption` if it does not decrypt.
    public func insight(named name: String) throws(HealthStoreError) -> SyncedRow? {
        guard !name.isEmpty else { return nil }
        return try store.access { connection in
            let found = try connection.all(
                """
                SELECT \(SyncedRow.Column.list) FROM insights
                WHERE substr(id, 1, ?) = ? ORDER BY id <> ?2, id LIMIT 2
                """, .integer(Int64(name.unicodeScalars.count)), .text(name), map: SyncedRow.init)
            guard let first = found.first, first.row.id == name || found.count == 1 else {
                return nil
            }
            return try opened(first, in: .insights)
        }
    }
}

/// A table of rows pulled from the backend.
public enum CachedTable: String, CaseIterable, Sendable {
    case metrics
    case insights
}

/// A metric or an insight as the backend sent it.
public struct CachedRow: Hashable, Sendable, PrivateValue {
    /// The backend's id.
    public var id: String
    /// The type, such as `heart_rate`; not encrypted.
    public var type: String
    /// The backend's time of this version; the later version wins.
    public var timestamp: Instant
    /// The rest as JSON in UTF-8; the same bytes for the same content.
    public var json: [UInt8]
    /// A metric's numbers, to read it without its JSON; `nil` if they were not extracted, and in
    /// rows read from the store.
    public var numbers: MetricNumbers?

    /// Creates a row.
    public init(
        id: String, type: String, timestamp: Instant, json: [UInt8],
        numbers: MetricNumbers? = nil
    ) {
        self.id = id
        self.type = type
        self.timestamp = timestamp
        self.json = json
        self.numbers = numbers
    }

    /// Returns the bytes of the row that are encrypted in a table.
    func form(in table: CachedTable) -> [UInt8] {
        let rest = numbers?.form(before: json) ?? json
        return table == .metrics ? MetricForm.adding(id, to: rest) : rest
    }

    /// Sets id and JSON from decrypted bytes; the numbers stay as they are.
    mutating func take(form: [UInt8]) {
        let (id, rest) = MetricForm.parts(of: form)
        if let id { self.id = id }
        json = MetricNumbers.json(of: rest)
    }
}

/// A cached row and when the backend last listed it.
public struct SyncedRow: Sendable, PrivateValue {
    public let row: CachedRow
    public let syncedAt: Instant

    enum Column: String, RowColumn {
        case id, type, timestamp_ms, encrypted = "sealed", synced_at_ms
    }

}

extension SyncedRow {
    /// Reads a row as it is stored: its `json` is encrypted, and its `id` is the stored name.
    init(_ found: borrowing Row) {
        row = CachedRow(
            id: found.text(Column.id), type: found.text(Column.type),
            timestamp: found.instant(Column.timestamp_ms), json: found.blob(Column.encrypted))
        syncedAt = found.instant(Column.synced_at_ms)
    }
}

/// Cached rows in order, and which of the requested rows are damaged.
public struct CachedRows: RandomAccessCollection, Sendable {
    private var rows: [SyncedRow] = []
    /// The rows that do not decrypt, by table and row.
    public internal(set) var damaged: [EncryptionError] = []

    public var startIndex: Int { rows.startIndex }
    public var endIndex: Int { rows.endIndex }
    public subscript(position: Int) -> SyncedRow { rows[position] }

    mutating func append(_ row: SyncedRow) { rows.append(row) }
}

/// The changes made by storing pulled rows.
public struct UpsertCounts: Hashable, Sendable {
    /// Rows that were new.
    public var added: Int64 = 0
    /// Rows for which a later version came; the earlier one is archived.
    public var replaced: Int64 = 0
    /// Rows without a change.
    public var unchanged: Int64 = 0
    /// Rows that came older than the stored version, which stays; the older one is archived.
    public var outdated: Int64 = 0
}
