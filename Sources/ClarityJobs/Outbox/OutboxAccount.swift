import SQLite

/// Where every sample is that was ever put into the outbox.
public struct OutboxAccount: Hashable, Sendable {
    /// All samples.
    public var samples: Int64 = 0
    public var confirmed: Int64 = 0
    public var stored: Int64 = 0
    public var accepted: Int64 = 0
    public var unconfirmed: Int64 = 0
    public var rejected: Int64 = 0
    public var setAside: Int64 = 0
    /// Queued, or in a batch that is being sent.
    public var waiting: Int64 = 0

    /// Creates an account of nothing.
    public init() {}

    /// Whether each sample is in exactly one place.
    public var isBalanced: Bool {
        samples == confirmed + stored + accepted + unconfirmed + rejected + setAside + waiting
    }
}

extension OutboxAccount: CustomStringConvertible {
    /// The sum for a person.
    public var description: String {
        // Only some dialects have such an end.
        let kept = stored > 0 ? " + \(stored) stored" : ""
        return """
            \(samples) samples = \(confirmed) confirmed\(kept) + \(accepted) accepted + \(unconfirmed) \
            unconfirmed + \(rejected) rejected + \(setAside) set aside + \(waiting) waiting
            """
    }
}

/// Samples of which the backend may have more than one.
public struct DoubledSamples: Hashable, Sendable {
    /// How many samples.
    public var samples: Int64 = 0
    /// How many copies too many there may be at most.
    public var copies: Int64 = 0

    /// Creates a count of none.
    public init() {}
}

extension HealthStore {
    /// Where every sample is; all of it counted at one instant.
    public func outboxAccount() throws(HealthStoreError) -> OutboxAccount {
        try access { connection in try connection.snapshot { try account(connection) } }
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

    /// The samples that the backend may have more than once, since a send without an answer was
    /// followed by another.
    ///
    /// A sample that was taken is there once, and once more for each other send; one that was not
    /// is there as often as it was sent without an answer.
    public func possiblyDoubled() throws(HealthStoreError) -> DoubledSamples {
        try access { connection in try doubled(connection) }
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
