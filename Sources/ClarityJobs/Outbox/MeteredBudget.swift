import ClarityScheduler
import SQLite

/// How much may still be sent over a metered connection, and when there is room for more.
struct MeteredBudget {
    /// The stretch of time for which the budget holds.
    static let window = Duration.seconds(24 * 3600)
    /// How long is waited for room at most, so that a connection that is not metered any more is
    /// noticed soon.
    static let patience = Duration.seconds(3600)

    /// The bytes of any 24 h.
    let bytes: Int64
    private let now: Instant
    /// What was sent within the window, oldest first.
    private let sent: [(at: Instant, bytes: Int64)]

    /// Creates a budget with what was sent of it.
    ///
    /// - Parameter sent: when how many bytes were sent. A clock that was put back leaves instants
    ///   later than `now`: they count as if they were `now`.
    init(_ bytes: Int64, after sent: [(at: Instant, bytes: Int64)], now: Instant) {
        self.bytes = bytes
        self.now = now
        self.sent =
            sent
            .filter { now - $0.at < MeteredBudget.window }
            .map { (min($0.at, now), $0.bytes) }
            .sorted { $0.at < $1.at }
    }

    /// The bytes that may be sent now.
    var room: Int64 {
        let used = sent.reduce(into: Int64(0)) { sum, entry in
            let (next, overflow) = sum.addingReportingOverflow(entry.bytes)
            sum = overflow ? .max : next
        }
        return max(0, bytes - min(bytes, used))
    }

    /// The bytes in whole steps of 4 KiB, rounded up: the length of a body follows from its values.
    static func rounded(_ bytes: Int64) -> Int64 {
        let (sum, overflow) = bytes.addingReportingOverflow(4095)
        return overflow ? bytes : sum / 4096 * 4096
    }

    /// The bytes that must be free before a new batch is made.
    ///
    /// One that the budget cuts short is not made of the last crumbs of it: a sixteenth must be free.
    ///
    /// - Parameters:
    ///   - first: the most bytes of a request of the first sample alone.
    ///   - whole: those of the batch that would be made without a budget.
    func wanted(first: Int64, whole: Int64) -> Int64 { min(whole, max(first, bytes / 16)) }

    /// How long until so many bytes are free, at most an hour; `nil` when they are free now.
    ///
    /// What is more than the whole budget never is, and is asked about again each hour.
    func wait(for wanted: Int64) -> Duration? {
        guard room < wanted else { return nil }
        var kept: Int64 = 0
        for entry in sent.reversed() {
            let (sum, overflow) = kept.addingReportingOverflow(entry.bytes)
            guard !overflow, sum <= bytes - wanted else {
                // With this one's leaving there is room.
                return min(MeteredBudget.patience, entry.at + MeteredBudget.window - now)
            }
            kept = sum
        }
        return MeteredBudget.patience
    }
}

extension HealthStore {
    /// A budget with what was sent of it; what is older than its window is forgotten.
    func meteredBudget(
        _ bytes: Int64, at now: Instant, _ connection: Connection
    ) throws -> MeteredBudget {
        try connection.run(
            "UPDATE metered_bytes SET sent_at_ms = ?1 WHERE sent_at_ms > ?1",
            .integer(now.millisecondsSince1970))
        try connection.run(
            "DELETE FROM metered_bytes WHERE sent_at_ms <= ?",
            .integer((now - MeteredBudget.window).millisecondsSince1970))
        let sent = try connection.all("SELECT sent_at_ms, bytes FROM metered_bytes") {
            (at: Instant(millisecondsSince1970: $0.integer(0)), bytes: $0.integer(1))
        }
        return MeteredBudget(bytes, after: sent, now: now)
    }

    /// Counts a request that is about to be sent by the most that one try of it can have;
    /// `sentMetered` then says what all its tries really had.
    ///
    /// - Returns: the number of the entry, for `sentMetered`.
    func countMetered(
        _ bytes: Int, at now: Instant, _ connection: Connection
    ) throws -> Int64 {
        try connection.run(
            "INSERT INTO metered_bytes (sent_at_ms, bytes) VALUES (?, ?)",
            .integer(now.millisecondsSince1970), .integer(MeteredBudget.rounded(Int64(bytes))))
        return connection.lastInsertedRow
    }

    /// Says how much really was sent for a batch, all tries together, which may be more than the
    /// budget had left.
    ///
    /// A process that ends before it says so leaves the estimate of one try.
    public func sentMetered(_ batch: OutboxBatch, bytes: Int64) throws(HealthStoreError) {
        guard let entry = batch.meteredEntry else { return }
        try changeAnyway { connection in
            try connection.run(
                "UPDATE metered_bytes SET bytes = ? WHERE id = ?",
                .integer(MeteredBudget.rounded(max(0, bytes))),
                .integer(entry))
        }
    }
}
