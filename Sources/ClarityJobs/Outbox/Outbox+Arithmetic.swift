import SQLite

/// Where every record that was ever read went, and every row that it left in the outbox.
///
/// Three sums hold at every instant: of the records, of the days and nights made of them, and of
/// the rows. The ledger of readings and the states each give the number of rows independently.
public struct OutboxArithmetic: Hashable, Sendable {
    /// The counts of all readings together.
    public var counts = ReadingCounts()
    public var reasons = ReadingReasons()
    /// How many readings there were.
    public var readings: Int64 = 0
    /// How many of them were cut short. What those did not bring in was read again, or will be.
    public var interrupted: Int64 = 0
    /// How many are in progress, or were when their process ended.
    public var open: Int64 = 0
    /// The rows by their states.
    public var account = OutboxAccount()
    public var doubled = DoubledSamples()
    /// The samples that wait for a person.
    public var review: [OutboxReviewEntry] = []

    /// Creates empty sums.
    public init() {}

    /// Whether all three sums hold.
    public var isBalanced: Bool {
        counts.isBalanced && account.isBalanced && counts.rows == account.samples
    }
}

extension Outbox {
    /// Returns all sums, counted in one snapshot.
    public func arithmetic() throws(HealthStoreError) -> OutboxArithmetic {
        try store.snapshot { connection in
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
