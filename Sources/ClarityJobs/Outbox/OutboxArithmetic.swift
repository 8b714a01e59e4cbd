import SQLite

/// Where every record went that was ever read, and every row that it left in the outbox.
///
/// Three sums that hold at every instant: of the records, of the days and nights that were made of
/// them, and of the rows, which the ledger of readings tells on its own and the states tell on theirs.
public struct OutboxArithmetic: Hashable, Sendable {
    /// All readings together.
    public var counts = ReadingCounts()
    public var reasons = ReadingReasons()
    /// How many readings there were.
    public var readings: Int64 = 0
    /// How many of them were cut short; what they had not brought was read again, or will be.
    public var interrupted: Int64 = 0
    /// How many are under way, or were when their process ended.
    public var open: Int64 = 0
    /// The rows by their states.
    public var account = OutboxAccount()
    public var doubled = DoubledSamples()
    /// What waits for a person.
    public var review: [OutboxReviewEntry] = []

    /// Creates the sums of nothing.
    public init() {}

    /// Whether all three sums hold.
    public var isBalanced: Bool {
        counts.isBalanced && account.isBalanced && counts.rows == account.samples
    }
}

extension HealthStore {
    /// All sums, counted at one instant.
    public func arithmetic() throws(HealthStoreError) -> OutboxArithmetic {
        try access { connection in
            try connection.snapshot {
                var sums = OutboxArithmetic()
                for row in try ledgerRows(connection) {
                    sums.counts += row.counts
                    if let reasons = row.reasons { sums.reasons += reasons }
                    sums.readings += row.readings
                    sums.interrupted += row.interrupted
                    if row.state == "open" { sums.open += 1 }
                }
                sums.account = try account(connection)
                sums.doubled = try doubled(connection)
                sums.review = try review(connection)
                return sums
            }
        }
    }
}
