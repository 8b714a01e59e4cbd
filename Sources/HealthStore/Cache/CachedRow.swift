public import HealthModel
public import ClarityScheduler
import Database

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
        case id, type, timestamp_ms, sealed, synced_at_ms
    }

}

extension SyncedRow {
    /// Reads a row as it is stored: its `json` is encrypted, and its `id` is the stored name.
    init(_ found: borrowing Row) {
        row = CachedRow(
            id: found.text(Column.id), type: found.text(Column.type),
            timestamp: found.instant(Column.timestamp_ms), json: found.blob(Column.sealed))
        syncedAt = found.instant(Column.synced_at_ms)
    }
}

/// Cached rows in order, and which of the requested rows are damaged.
public struct CachedRows: RandomAccessCollection, Sendable {
    private var rows: [SyncedRow] = []
    /// The rows that do not decrypt, by table and row.
    public internal(set) var damaged: [SealingError] = []

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
