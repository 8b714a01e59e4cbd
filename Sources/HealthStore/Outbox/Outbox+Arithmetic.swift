import Database

/// Where every record that was ever read went, and every row that it left in the outbox. A record
/// that several readings of its source found counts once.
///
/// Three sums hold at every instant: of the records, of the days and nights made of them, and of
/// the rows. The ledger of readings and the states each give the number of rows independently.
public struct OutboxArithmetic: Hashable, Sendable {
    /// The counts of all readings together, with each record once.
    public var counts = ReadingCounts()
    public var reasons = ReadingReasons()
    /// How many readings there were.
    public var readings: Int64 = 0
    /// How many of them were cut short. What those did not bring in was read again, or will be.
    public var interrupted: Int64 = 0
    /// How many are in progress, or were when their process ended.
    public var open: Int64 = 0
    /// The rows by their states.
    public var account = OutboxCounts()
    public var doubled = DoubledSamples()
    /// The samples that wait for a person.
    public var review: [OutboxReviewEntry] = []

    /// Creates empty sums.
    public init() {}

    /// Whether all three sums hold.
    public var isBalanced: Bool {
        counts.isBalanced && account.isBalanced && counts.rows == account.total
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
    /// Returns all sums, counted in one snapshot.
    public func arithmetic() throws(HealthStoreError) -> OutboxArithmetic {
        try store.snapshot { connection in
            var sums = OutboxArithmetic()
            var distinct = DistinctRecords()
            for row in try ledgerRows(connection) {
                distinct.add(row)
                sums.readings += row.readings
                sums.interrupted += row.interrupted
                if row.state == "open" { sums.open += 1 }
            }
            (sums.counts, sums.reasons) = (distinct.counts, distinct.reasons)
            sums.account = try counts(connection)
            sums.doubled = try doubled(connection)
            sums.review = try review(connection)
            return sums
        }
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
                SELECT doubts
                    - iif(state IN ('accepted', 'confirmed', 'stored', 'unconfirmed'), 0, 1) AS extra
                FROM samples WHERE doubts > 0 AND state <> 'sending'
                UNION ALL
                SELECT doubts + sends - 1
                FROM outbox JOIN batches ON batch_id = batches.id
                WHERE batches.state = 'sending' AND outbox.state = 'batched'
            ) AS sends WHERE extra > 0
            """
        ) { ($0.integer(0), $0.integer(1)) }
        var doubled = DoubledSamples()
        (doubled.samples, doubled.copies) = found ?? (0, 0)
        return doubled
    }
}
