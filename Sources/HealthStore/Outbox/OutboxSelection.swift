public import HealthModel
public import ClarityScheduler
import Database

/// The samples of the outbox that a person selects.
public struct OutboxSelection: Hashable, Sendable {
    /// The reason that selects discarded samples.
    public static let discarded = "discarded"

    /// The reason that selects samples that were erased at the backend.
    public static let erased = "erased"

    /// Only the samples with these numbers; all without one.
    public var ids: [Int64] = []
    public var state: OutboxState?
    public var kind: SampleKind?
    /// Only samples that start before this instant.
    public var before: Instant?
    /// The rule of an `UploadRefusal`, or text that the reason contains, ignoring case.
    public var reason: String?

    /// Selects everything, or the samples in a state.
    public init(state: OutboxState? = nil) { self.state = state }

    /// Whether it selects everything.
    public var isEverything: Bool {
        ids.isEmpty && state == nil && kind == nil && before == nil && reason == nil
    }

    /// Whether it selects discarded samples, ignoring case.
    public var meansDiscarded: Bool { reason?.lowercased() == OutboxSelection.discarded }

    /// Whether it selects samples that were erased at the backend, ignoring case.
    public var meansErased: Bool { reason?.lowercased() == OutboxSelection.erased }

    /// Returns the SQL condition for the selected rows of the view `samples`, and the values to
    /// bind to it.
    ///
    /// - Parameter states: the only states to select; `nil` for any.
    func condition(in states: [OutboxState]? = nil) -> (sql: String, values: [Value]) {
        var parts: [String] = []
        var values: [Value] = []
        func add(_ part: String, _ more: Value...) {
            parts.append(part)
            values += more
        }
        if !ids.isEmpty { add("id IN (\(ids.map { "\($0)" }.joined(separator: ", ")))") }
        if let state { add(state.condition) }
        if let states { add("(\(states.map(\.condition).joined(separator: " OR ")))") }
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

extension OutboxState {
    /// Selects the samples in this state in the view `samples`, by an index where there is one.
    fileprivate var condition: String {
        switch self {
        case .queued, .rejected, .setAside:
            "own_state = '\(rawValue)' AND batch_id IS NULL"
        case .sending, .accepted, .unconfirmed:
            """
            own_state = 'batched'
                AND batch_id IN (SELECT id FROM batches WHERE state = '\(rawValue)')
            """
        case .confirmed, .stored: "state = '\(rawValue)'"
        }
    }
}

/// A sample of the outbox without its value.
public struct OutboxEntry: Hashable, Sendable {
    /// The number by which a person refers to the sample.
    public let id: Int64
    public let kind: String
    public let start: Instant
    public let end: Instant
    public let state: OutboxState
    /// The number of times that a batch with this sample failed.
    public let failures: Int64
    /// The rule of clarity-jobs that keeps the sample back (`UploadRefusal.rule`); `nil` if none does.
    public let hold: String?
    /// The reason for its state; contains no values.
    public let reason: String?
    /// The batch that the sample is in.
    public let batch: Int64?
    /// The number of sends that got no answer and may have arrived.
    public let possibleSends: Int64
    /// The instant as of which a day, a night or another aggregate is true; `nil` for a
    /// measurement.
    public let asOf: Instant?

    enum Column: String, RowColumn {
        case id, kind, start_s, end_s, state, failures, hold, reason, batch_id, doubts, as_of_s
    }

    /// Reads a row; `nil` if this version does not know its state.
    init?(_ row: borrowing Row) {
        guard let state = OutboxState(rawValue: row.text(Column.state)) else { return nil }
        id = row.integer(Column.id)
        kind = row.text(Column.kind)
        start = Instant(secondsSince1970: row.integer(Column.start_s))
        end = Instant(secondsSince1970: row.integer(Column.end_s))
        self.state = state
        failures = row.integer(Column.failures)
        hold = row.optionalText(Column.hold)
        reason = row.optionalText(Column.reason)
        batch = row.optionalInteger(Column.batch_id)
        possibleSends = row.integer(Column.doubts)
        asOf = row.optionalInteger(Column.as_of_s).map { Instant(secondsSince1970: $0) }
    }
}

/// The number of selected samples of one kind and state.
public struct OutboxShare: Hashable, Sendable {
    public let kind: String
    public let state: OutboxState
    public let count: Int64
}

extension Outbox {
    /// Returns the selected samples, newest first, at most `limit`, and how many are selected in
    /// total.
    public func entries(
        _ selection: OutboxSelection, limit: Int
    ) throws(HealthStoreError) -> (entries: [OutboxEntry], total: Int64) {
        try store.snapshot { connection in
            let (sql, values) = selection.condition()
            let entries = try connection.all(
                """
                SELECT \(OutboxEntry.Column.list) FROM samples WHERE \(sql)
                ORDER BY start_s DESC, id DESC LIMIT ?
                """, with: values + [.integer(Int64(limit))], map: OutboxEntry.init)
            let total = try connection.first(
                "SELECT count(*) FROM samples WHERE \(sql)", with: values
            ) { $0.integer(0) }
            return (entries, total ?? 0)
        }
    }

    /// Counts the selected samples in one of `states` that meet `condition`, by kind and state, the
    /// largest count first.
    func shares(
        _ selection: OutboxSelection, in states: [OutboxState], and condition: String,
        _ connection: Connection
    ) throws -> [OutboxShare] {
        let (sql, values) = selection.condition(in: states)
        return try connection.all(
            """
            SELECT kind, state, count(*) AS amount FROM samples WHERE \(sql) AND \(condition)
            GROUP BY kind, state ORDER BY amount DESC, kind, state
            """, with: values
        ) { row in
            OutboxState(rawValue: row.text(1)).map {
                OutboxShare(kind: row.text(0), state: $0, count: row.integer(2))
            }
        }
    }
}

/// The samples of one kind, state and reason that wait for a person, without their values.
public struct OutboxReviewEntry: Hashable, Sendable {
    public let kind: String
    public let state: OutboxState
    /// The reason, in the words of whoever refused the samples; empty if there is none.
    public let reason: String
    public let count: Int64
}

// How a person reviews samples that did not arrive.

extension Outbox {
    /// Returns the samples that are `rejected`, `setAside` or `unconfirmed` and not discarded, by
    /// kind, state and reason, the largest count first.
    public func review() throws(HealthStoreError) -> [OutboxReviewEntry] {
        try store.access { connection in try review(connection) }
    }

    func review(_ connection: Connection) throws -> [OutboxReviewEntry] {
        let (sql, values) = OutboxSelection().condition(in: Outbox.retriable)
        return try connection.all(
            """
            SELECT kind, state, coalesce(reason, ''), count(*) AS amount FROM samples
            WHERE \(sql) AND \(Outbox.isGivenUp(nil))
            GROUP BY kind, state, reason ORDER BY amount DESC, kind, state
            """, with: values
        ) { row in
            OutboxState(rawValue: row.text(1)).map {
                OutboxReviewEntry(
                    kind: row.text(0), state: $0, reason: row.text(2), count: row.integer(3))
            }
        }
    }
}
