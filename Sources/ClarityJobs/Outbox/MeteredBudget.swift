public import ClarityScheduler
import SQLite

/// How much may still be sent over a metered connection.
public enum MeteredBudget {
    /// The stretch of time for which the budget holds.
    public static let window = Duration.seconds(24 * 3600)

    /// The bytes that may be sent now.
    ///
    /// - Parameters:
    ///   - budget: the bytes of any 24 h.
    ///   - sent: when how many were sent. A clock that was put back leaves instants later than
    ///     `now`: they count as if they were `now`.
    public static func room(
        _ budget: Int64, after sent: [(at: Instant, bytes: Int64)], now: Instant
    ) -> Int64 {
        let used = sent.filter { now - $0.at < window }.reduce(into: Int64(0)) { sum, entry in
            let (next, overflow) = sum.addingReportingOverflow(entry.bytes)
            sum = overflow ? .max : next
        }
        return max(0, budget - min(budget, used))
    }
}

extension HealthStore {
    /// The bytes that the budget leaves; what is older than its window is forgotten.
    func meteredRoom(
        _ budget: Int64, at now: Instant, _ connection: Connection
    ) throws -> Int64 {
        try connection.run(
            "UPDATE metered_bytes SET sent_at_ms = ?1 WHERE sent_at_ms > ?1",
            .integer(now.millisecondsSince1970))
        try connection.run(
            "DELETE FROM metered_bytes WHERE sent_at_ms <= ?",
            .integer((now - MeteredBudget.window).millisecondsSince1970))
        let sent = try connection.all("SELECT sent_at_ms, bytes FROM metered_bytes") {
            (at: Instant(millisecondsSince1970: $0.integer(0)), bytes: $0.integer(1))
        }
        return MeteredBudget.room(budget, after: sent, now: now)
    }

    /// Counts a request that is about to be sent by the most that it can have.
    ///
    /// - Returns: the number of the entry, for `sentMetered`.
    func countMetered(
        _ bytes: Int, at now: Instant, _ connection: Connection
    ) throws -> Int64 {
        try connection.run(
            "INSERT INTO metered_bytes (sent_at_ms, bytes) VALUES (?, ?)",
            .integer(now.millisecondsSince1970), .integer(Int64(bytes)))
        return connection.lastInsertedRow
    }

    /// Says how much really was sent for a batch, all tries together.
    ///
    /// A process that ends before it says so leaves the estimate.
    public func sentMetered(_ batch: OutboxBatch, bytes: Int64) throws(HealthStoreError) {
        guard let entry = batch.meteredEntry else { return }
        try changeAnyway { connection in
            try connection.run(
                "UPDATE metered_bytes SET bytes = ? WHERE id = ?", .integer(max(0, bytes)),
                .integer(entry))
        }
    }
}
