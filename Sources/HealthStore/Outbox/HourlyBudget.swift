public import HealthModel
public import ClarityScheduler
import Database

/// Limits requests so that the backend never counts more than its limit in an hour.
///
/// A backend's hours may begin at any time, and it counts a request when the request arrives. A
/// sliding window of an hour keeps the limit whenever the backend's hours begin. The window is a
/// minute longer, since a request may take that long to arrive. The requests of all processes count
/// together: each is recorded in the transaction that takes its batch.
enum HourlyBudget {
    /// The window in which requests are counted: an hour, and the longest time that a request may
    /// take.
    static let window = Duration.seconds(3600 + 60)

    /// Returns how long to wait before the next request; `nil` if it may be sent now.
    ///
    /// - Parameters:
    ///   - sent: when the requests of the last `window` were sent, oldest first. If the clock was
    ///     set back, some instants are later than `now`; they count as `now`.
    ///   - limit: the most requests in an hour, at least 1.
    static func wait(after sent: [Instant], limit: Int, now: Instant) -> Duration? {
        let counted = sent.filter { now - $0 < window }
        guard counted.count >= limit else { return nil }
        // There is room again when this request leaves the window.
        return min(counted[counted.count - limit], now) + window - now
    }
}

extension Outbox {
    /// Stops requests to `route` because the backend refused one although the budget had room.
    ///
    /// The backend may count requests of others too, or may have begun to count anew. Its current
    /// hour began no later than our oldest request in the window, so the hour is over when that
    /// request leaves the window. Without such a request, the wait is one `HourlyBudget.window`.
    ///
    /// - Parameter retryAfter: the wait that the backend asked for, if believable. It replaces that wait
    ///   if it is shorter than an hour. One of an hour or more only says that the backend counts by
    ///   the hour.
    /// - Returns: how long to send nothing.
    public func closeRoute(
        _ route: UploadRoute, for retryAfter: Duration?, at now: Instant
    ) throws(HealthStoreError) -> Duration {
        try store.changeAnyway { connection in
            let sent = try requests(by: route, at: now, connection)
            let shorter = retryAfter.flatMap { $0 < .seconds(3600) ? $0 : nil }
            let wait =
                shorter ?? (sent.first.map { min($0, now) } ?? now) + HourlyBudget.window - now
            try connection.run(
                """
                INSERT INTO closures (route, until_ms) VALUES (?, ?)
                ON CONFLICT (route) DO UPDATE SET until_ms = excluded.until_ms
                """, .text(route.rawValue), .instant(now + wait))
            return wait
        }
    }

    /// Returns how long a request under these rules has to wait; `nil` if it may be sent now.
    func requestWait(
        _ rules: UploadEndpoint, at now: Instant, _ connection: Connection
    ) throws -> Duration? {
        guard let limit = rules.requestsPerHour else { return nil }
        let until = try connection.first(
            "SELECT until_ms FROM closures WHERE route = ?", .text(rules.route.rawValue)
        ) { $0.instant(0) }
        if let until, until > now {
            // A time further ahead was stored before the clock was set back.
            return min(until - now, HourlyBudget.window)
        }
        let sent = try requests(by: rules.route, at: now, connection)
        return HourlyBudget.wait(after: sent, limit: max(1, limit), now: now)
    }

    /// Counts a request that is about to be sent.
    func countRequest(
        _ rules: UploadEndpoint, at now: Instant, _ connection: Connection
    ) throws {
        guard rules.requestsPerHour != nil else { return }
        try connection.run(
            "INSERT INTO requests (route, sent_at_ms) VALUES (?, ?)",
            .text(rules.route.rawValue), .instant(now))
    }

    /// Returns the requests that still count, oldest first, and deletes the others.
    private func requests(
        by route: UploadRoute, at now: Instant, _ connection: Connection
    ) throws -> [Instant] {
        let name = Value.text(route.rawValue)
        // Requests from before the clock was set back count as sent now.
        try connection.run(
            "UPDATE requests SET sent_at_ms = ? WHERE route = ? AND sent_at_ms > ?",
            .instant(now), name, .instant(now))
        try connection.run(
            "DELETE FROM requests WHERE route = ? AND sent_at_ms <= ?", name,
            .instant(now - HourlyBudget.window))
        return try connection.all(
            "SELECT sent_at_ms FROM requests WHERE route = ? ORDER BY sent_at_ms", name
        ) { $0.instant(0) }
    }
}
