public import ClarityScheduler

/// A table of rows that were pulled from the backend.
public enum CachedTable: String, CaseIterable, Sendable {
    case metrics
    case insights
}

/// A metric or an insight as the backend gave it.
public struct CachedRow: Hashable, Sendable, PrivateValue {
    /// The backend's id.
    public var id: String
    /// What it is, such as `heart_rate`; not sealed.
    public var type: String
    /// The backend's time of this version, by which the later one wins.
    public var timestamp: Instant
    /// The rest, as JSON in UTF-8; the same bytes for the same content.
    public var json: [UInt8]
    /// A metric's numbers, for reading it without its JSON; `nil` for what was not looked at yet, and
    /// in rows that are read back.
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

    /// What of it is sealed in a table.
    func form(in table: CachedTable) -> [UInt8] {
        let rest = numbers?.form(before: json) ?? json
        return table == .metrics ? MetricForm.adding(id, to: rest) : rest
    }

    /// Takes id and JSON out of what was sealed; the numbers are left.
    mutating func take(form: [UInt8]) {
        let (id, rest) = MetricForm.parts(of: form)
        if let id { self.id = id }
        json = MetricNumbers.json(of: rest)
    }
}

/// A cached row with when it was last seen on the backend.
public struct SyncedRow: Sendable, PrivateValue {
    public let row: CachedRow
    public let syncedAt: Instant
}

/// Cached rows in their order, and which of those asked for are damaged.
public struct CachedRows: RandomAccessCollection, Sendable {
    private var rows: [SyncedRow] = []
    /// Those whose sealed part does not open, by table and row.
    public internal(set) var damaged: [SealingError] = []

    init() {}

    public var startIndex: Int { rows.startIndex }
    public var endIndex: Int { rows.endIndex }
    public subscript(position: Int) -> SyncedRow { rows[position] }

    mutating func append(_ row: SyncedRow) { rows.append(row) }
}

/// What storing pulled rows changed.
public struct UpsertCounts: Hashable, Sendable {
    /// Rows that were not known.
    public var added: Int64 = 0
    /// Rows of which a later version came; the earlier one is archived.
    public var replaced: Int64 = 0
    /// Rows that came as they were known.
    public var unchanged: Int64 = 0
    /// Rows that came older than known: the known one stays, the older one is archived.
    public var outdated: Int64 = 0

    /// Creates counts of nothing.
    public init() {}
}
