import ClarityScheduler
import SQLite

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
    /// Returns the samples that are `rejected`, `setAside` or `unconfirmed`, by kind, state and
    /// reason, the largest count first.
    public func review() throws(HealthStoreError) -> [OutboxReviewEntry] {
        try store.access { connection in try review(connection) }
    }

    func review(_ connection: Connection) throws -> [OutboxReviewEntry] {
        try connection.all(
            """
            SELECT kind, state, coalesce(reason, ''), count(*) AS amount FROM outbox
            WHERE state IN ('rejected', 'setAside', 'unconfirmed')
            GROUP BY kind, state, reason ORDER BY amount DESC, kind, state
            """
        ) { row in
            OutboxState(rawValue: row.text(1)).map {
                OutboxReviewEntry(
                    kind: row.text(0), state: $0, reason: row.text(2), count: row.integer(3))
            }
        }
    }
}
