public import ClarityScheduler
import SQLite

/// How many requests may still be sent, so that no hour of the backend's sees more than its limit.
///
/// A backend counts in hours that begin when it likes and by the time at which a request arrives. An
/// hour that slides along with each request, and a minute more for one that takes that long to
/// arrive, hold whatever its hours are.
enum HourlyBudget {
    /// The stretch in which requests are counted: an hour, and as much as a request may take.
    static let window = Duration.seconds(3600 + 60)

    /// How long to wait before a further request; `nil` when it may be sent now.
    ///
    /// - Parameters:
    ///   - sent: when the requests of the last `window` were sent, oldest first. A clock that was put
    ///     back leaves instants later than `now`: they count as if they were `now`.
    ///   - limit: the most requests of an hour, at least 1.
    static func wait(after sent: [Instant], limit: Int, now: Instant) -> Duration? {
        let counted = sent.filter { now - $0 < window }
        guard counted.count >= limit else { return nil }
        // The one with whose leaving there is room again.
        return min(counted[counted.count - limit], now) + window - now
    }
}

extension HealthStore {
    /// The backend wants no further request by `route`, although the budget had room: it counts
    /// others' too, or began anew.
    ///
    /// Its hour began no later than with our oldest request in it, so that it has ended when that
    /// leaves the budget; without any it is an hour from now.
    ///
    /// - Parameter wish: the backend's own believable wish, which is kept to in place of that; one of
    ///   a whole hour says no more than that it counts by the hour.
    /// - Returns: how long nothing is to be sent.
    public func closeRoute(
        _ route: UploadRoute, for wish: Duration?, at now: Instant
    ) throws(HealthStoreError) -> Duration {
        try changeAnyway { connection in
            let sent = try requests(by: route, at: now, connection)
            let shorter = wish.flatMap { $0 < .seconds(3600) ? $0 : nil }
            let wait =
                shorter ?? (sent.first.map { min($0, now) } ?? now) + HourlyBudget.window - now
            try connection.run(
                """
                INSERT INTO closures (route, until_ms) VALUES (?, ?)
                ON CONFLICT (route) DO UPDATE SET until_ms = excluded.until_ms
                """, .text(route.rawValue), .integer((now + wait).millisecondsSince1970))
            return wait
        }
    }

    /// How long a request by these rules has to wait; `nil` when it may be sent now.
    func requestWait(
        _ rules: BatchRules, at now: Instant, _ connection: Connection
    ) throws -> Duration? {
        guard let limit = rules.requestsPerHour else { return nil }
        let until = try connection.first(
            "SELECT until_ms FROM closures WHERE route = ?", .text(rules.route.rawValue)
        ) { Instant(millisecondsSince1970: $0.integer(0)) }
        if let until, until > now {
            // One that lies further ahead was written down before the clock was put back.
            return min(until - now, HourlyBudget.window)
        }
        let sent = try requests(by: rules.route, at: now, connection)
        return HourlyBudget.wait(after: sent, limit: max(1, limit), now: now)
    }

    /// Counts a request that is about to be sent.
    func countRequest(
        _ rules: BatchRules, at now: Instant, _ connection: Connection
    ) throws {
        guard rules.requestsPerHour != nil else { return }
        try connection.run(
            "INSERT INTO requests (route, sent_at_ms) VALUES (?, ?)",
            .text(rules.route.rawValue), .integer(now.millisecondsSince1970))
    }

    /// The requests that still count, oldest first; the others are forgotten.
    private func requests(
        by route: UploadRoute, at now: Instant, _ connection: Connection
    ) throws -> [Instant] {
        let name = Value.text(route.rawValue)
        // Of a clock that was put back: from now on they are as old as this.
        try connection.run(
            "UPDATE requests SET sent_at_ms = ? WHERE route = ? AND sent_at_ms > ?",
            .integer(now.millisecondsSince1970), name, .integer(now.millisecondsSince1970))
        try connection.run(
            "DELETE FROM requests WHERE route = ? AND sent_at_ms <= ?", name,
            .integer((now - HourlyBudget.window).millisecondsSince1970))
        return try connection.all(
            "SELECT sent_at_ms FROM requests WHERE route = ? ORDER BY sent_at_ms", name
        ) { Instant(millisecondsSince1970: $0.integer(0)) }
    }
}
