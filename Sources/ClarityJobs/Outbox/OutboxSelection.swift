public import ClarityScheduler
import SQLite

/// Which samples of the outbox a person means.
public struct OutboxSelection: Hashable, Sendable {
    /// The word that selects what a person discarded.
    public static let discarded = "discarded"

    public var state: OutboxState?
    public var kind: SampleKind?
    /// Those that began before this instant.
    public var before: Instant?
    /// The name of an `OutboxHold`, or words that the reason contains in any case of letters.
    public var reason: String?

    /// Selects everything.
    public init() {}

    /// Whether nothing narrows it down.
    public var isEverything: Bool {
        state == nil && kind == nil && before == nil && reason == nil
    }

    /// Whether it means what a person discarded; in any case of letters.
    public var meansDiscarded: Bool { reason?.lowercased() == OutboxSelection.discarded }

    /// What rows must fulfil, with the values to bind.
    ///
    /// - Parameter states: the only states that count; `nil`: any.
    func condition(in states: [OutboxState]? = nil) -> (sql: String, values: [Value]) {
        var parts: [String] = []
        var values: [Value] = []
        func add(_ part: String, _ more: Value...) {
            parts.append(part)
            values += more
        }
        if let state { add("state = ?", .text(state.rawValue)) }
        if let states {
            let names = states.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            add("state IN (\(names))")
        }
        if let kind { add("kind = ?", .text(kind.rawValue)) }
        if let before { add("start_s < ?", .integer(before.secondsSince1970)) }
        if let reason {
            add(
                "(hold = ? OR instr(lower(coalesce(reason, '')), lower(?)) > 0)", .text(reason),
                .text(reason))
        }
        return (parts.isEmpty ? "true" : parts.joined(separator: " AND "), values)
    }
}

/// A sample of the outbox without its value.
public struct OutboxEntry: Hashable, Sendable {
    /// The name by which a person means it.
    public let id: Int64
    public let kind: String
    public let start: Instant
    public let end: Instant
    public let state: OutboxState
    /// How often a batch that it was in failed.
    public let failures: Int64
    /// Why our own rules keep it back.
    public let hold: OutboxHold?
    /// Why it is where it is; free of values.
    public let reason: String?
    /// The batch that it is in.
    public let batch: Int64?
    /// The sends that may have arrived without an answer.
    public let doubts: Int64
    /// As of when a day or a night is true.
    public let asOf: Instant?

    static let columns =
        "id, kind, start_s, end_s, state, failures, hold, reason, batch_id, doubts, as_of_s"

    /// `nil` for a row of a state that this version does not know.
    init?(_ row: borrowing Row) {
        guard let state = OutboxState(rawValue: row.text(4)) else { return nil }
        id = row.integer(0)
        kind = row.text(1)
        start = Instant(secondsSince1970: row.integer(2))
        end = Instant(secondsSince1970: row.integer(3))
        self.state = state
        failures = row.integer(5)
        hold = row.optionalText(6).flatMap(OutboxHold.init(rawValue:))
        reason = row.optionalText(7)
        batch = row.optionalInteger(8)
        doubts = row.integer(9)
        asOf = row.optionalInteger(10).map { Instant(secondsSince1970: $0) }
    }
}

/// How many samples of one kind and state a selection has.
public struct OutboxShare: Hashable, Sendable {
    public let kind: String
    public let state: OutboxState
    public let count: Int64
}

extension HealthStore {
    /// The samples that are meant, newest first, at most `limit`, and how many there are in all.
    public func outboxEntries(
        _ selection: OutboxSelection, limit: Int
    ) throws(HealthStoreError) -> (entries: [OutboxEntry], total: Int64) {
        try access { connection in
            try connection.snapshot {
                let (sql, values) = selection.condition()
                var entries: [OutboxEntry] = []
                try connection.forEach(
                    """
                    SELECT \(OutboxEntry.columns) FROM outbox WHERE \(sql)
                    ORDER BY start_s DESC, id DESC LIMIT ?
                    """, values + [.integer(Int64(limit))]
                ) { row in
                    if let entry = OutboxEntry(row) { entries.append(entry) }
                }
                var total: Int64 = 0
                try connection.forEach("SELECT count(*) FROM outbox WHERE \(sql)", values) {
                    total = $0.integer(0)
                }
                return (entries, total)
            }
        }
    }

    /// How many samples that are meant are in one of `states`, by kind and state; most first.
    func shares(
        _ selection: OutboxSelection, in states: [OutboxState], and condition: String,
        _ connection: Connection
    ) throws -> [OutboxShare] {
        let (sql, values) = selection.condition(in: states)
        var shares: [OutboxShare] = []
        try connection.forEach(
            """
            SELECT kind, state, count(*) AS amount FROM outbox WHERE \(sql) AND \(condition)
            GROUP BY kind, state ORDER BY amount DESC, kind, state
            """, values
        ) { row in
            guard let state = OutboxState(rawValue: row.text(1)) else { return }
            shares.append(OutboxShare(kind: row.text(0), state: state, count: row.integer(2)))
        }
        return shares
    }
}
