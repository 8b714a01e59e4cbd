import SQLite

/// The number of samples that are not confirmed yet, and how many of them only a person can move.
public struct OutboxBacklog: Hashable, Sendable {
    /// Queued, or being sent.
    public var waiting: Int64 = 0
    /// Accepted by the backend, and not confirmed yet.
    public var accepted: Int64 = 0
    /// Unconfirmed, rejected or set aside.
    public var forPerson: Int64 = 0

    /// Creates an empty backlog.
    public init() {}
}

extension Outbox {
    /// Returns the number of samples that are queued or being sent, by kind.
    public func waiting() throws(HealthStoreError) -> [SampleKind: Int64] {
        try store.access { connection in
            var waiting: [SampleKind: Int64] = [:]
            try connection.forEach(
                """
                SELECT kind, count(*) FROM outbox
                WHERE state = 'queued' OR state = 'sending' GROUP BY kind
                """, []
            ) { row in
                if let kind = SampleKind(rawValue: row.text(0)) { waiting[kind] = row.integer(1) }
            }
            return waiting
        }
    }

    /// Returns the backlog; the time grows with its size, and confirmed samples cost nothing.
    public func backlog() throws(HealthStoreError) -> OutboxBacklog {
        try store.access { connection in
            var backlog = OutboxBacklog()
            try connection.forEach(
                """
                SELECT state, count(*) FROM outbox
                WHERE state IN ('queued', 'sending', 'accepted', 'unconfirmed', 'rejected',
                    'setAside')
                GROUP BY state
                """, []
            ) { row in
                switch OutboxState(rawValue: row.text(0)) {
                case .queued, .sending: backlog.waiting += row.integer(1)
                case .accepted: backlog.accepted += row.integer(1)
                case .unconfirmed, .rejected, .setAside: backlog.forPerson += row.integer(1)
                case .confirmed, .stored, nil: break
                }
            }
            return backlog
        }
    }
}
