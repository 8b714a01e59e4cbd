import SQLite

/// The number of samples in each state, over the whole outbox.
public struct OutboxAccount: Hashable, Sendable {
    /// All samples.
    public var samples: Int64 = 0
    public var confirmed: Int64 = 0
    public var stored: Int64 = 0
    public var accepted: Int64 = 0
    public var unconfirmed: Int64 = 0
    public var rejected: Int64 = 0
    public var setAside: Int64 = 0
    /// Samples that are queued, or in a batch that is being sent.
    public var waiting: Int64 = 0

    /// Creates an empty account.
    public init() {}

    /// Whether each sample is counted in exactly one state.
    public var isBalanced: Bool {
        samples == confirmed + stored + accepted + unconfirmed + rejected + setAside + waiting
    }
}

extension OutboxAccount: CustomStringConvertible {
    /// The sum as a line for people.
    public var description: String {
        // Only some dialects have this state.
        let kept = stored > 0 ? " + \(stored) stored" : ""
        return """
            \(samples) samples = \(confirmed) confirmed\(kept) + \(accepted) accepted + \(unconfirmed) \
            unconfirmed + \(rejected) rejected + \(setAside) set aside + \(waiting) waiting
            """
    }
}

/// The samples that the backend may have stored more than once.
public struct DoubledSamples: Hashable, Sendable {
    /// How many samples.
    public var samples: Int64 = 0
    /// The most surplus copies that there may be.
    public var copies: Int64 = 0

    /// Creates empty counts.
    public init() {}
}

extension Outbox {
    /// Returns the number of samples in each state, counted in one snapshot.
    public func account() throws(HealthStoreError) -> OutboxAccount {
        try store.access { connection in try connection.snapshot { try account(connection) } }
    }

    func account(_ connection: Connection) throws -> OutboxAccount {
        var account = OutboxAccount()
        account.samples =
            try connection.first("SELECT count(*) FROM outbox") { $0.integer(0) } ?? 0
        try connection.forEach(
            "SELECT state, count(*) FROM outbox GROUP BY state"
        ) { row in
            let count = row.integer(1)
            switch OutboxState(rawValue: row.text(0)) {
            case .confirmed: account.confirmed = count
            case .stored: account.stored = count
            case .accepted: account.accepted = count
            case .unconfirmed: account.unconfirmed = count
            case .rejected: account.rejected = count
            case .setAside: account.setAside = count
            case .queued, .sending: account.waiting += count
            case nil: break
            }
        }
        return account
    }

    /// Counts the samples that the backend may have stored more than once, because an unanswered
    /// send was followed by another send.
    ///
    /// The backend has an accepted sample once, and at most once more for each other send. It has
    /// any other sample at most as often as the sample was sent without an answer.
    public func possiblyDoubled() throws(HealthStoreError) -> DoubledSamples {
        try store.access { connection in try doubled(connection) }
    }

    func doubled(_ connection: Connection) throws -> DoubledSamples {
        let found = try connection.first(
            """
            SELECT count(*), coalesce(sum(extra), 0) FROM (
                SELECT doubts - (state NOT IN ('accepted', 'confirmed', 'stored', 'unconfirmed'))
                    AS extra
                FROM outbox WHERE doubts > 0 AND state <> 'sending'
                UNION ALL
                SELECT doubts + sends - 1
                FROM outbox JOIN batches ON batch_id = batches.id
                WHERE outbox.state = 'sending'
            ) WHERE extra > 0
            """
        ) { ($0.integer(0), $0.integer(1)) }
        var doubled = DoubledSamples()
        (doubled.samples, doubled.copies) = found ?? (0, 0)
        return doubled
    }
}
