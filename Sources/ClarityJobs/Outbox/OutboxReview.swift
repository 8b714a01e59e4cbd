import ClarityScheduler
import SQLite

/// Samples of one kind that wait for a person, without their values.
public struct OutboxReviewEntry: Hashable, Sendable {
    public let kind: String
    public let state: OutboxState
    /// Why, in the words of whoever refused.
    public let reason: String
    public let count: Int64
}

// What a person does with samples that did not arrive.

extension HealthStore {
    /// The samples that are `rejected`, `setAside` or `unconfirmed`, by kind and reason; most first.
    public func outboxReview() throws(HealthStoreError) -> [OutboxReviewEntry] {
        try access { connection in try review(connection) }
    }

    func review(_ connection: Connection) throws -> [OutboxReviewEntry] {
        var entries: [OutboxReviewEntry] = []
        try connection.forEach(
            """
            SELECT kind, state, coalesce(reason, ''), count(*) AS amount FROM outbox
            WHERE state IN ('rejected', 'setAside', 'unconfirmed')
            GROUP BY kind, state, reason ORDER BY amount DESC, kind, state
            """
        ) { row in
            guard let state = OutboxState(rawValue: row.text(1)) else { return }
            entries.append(
                OutboxReviewEntry(
                    kind: row.text(0), state: state, reason: row.text(2),
                    count: row.integer(3)))
        }
        return entries
    }

    /// Puts every sample of a state back into the queue, as `retry` does.
    ///
    /// - Returns: how many; 0 for a state other than `rejected`, `setAside` and `unconfirmed`.
    public func requeue(_ state: OutboxState) throws(HealthStoreError) -> Int64 {
        var selection = OutboxSelection()
        selection.state = state
        return try retry(selection)
    }
}
