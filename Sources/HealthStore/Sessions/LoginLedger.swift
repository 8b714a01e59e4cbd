public import HealthModel
public import ClarityScheduler
import Database

/// The number of logins that may still be tried for an e-mail address.
///
/// A backend may lock an account for 15 minutes after three failed logins, even for the right
/// password. It may also report its own outage as a failed login. Two tries in 15 minutes never
/// cause a lock.
public struct LoginAllowance: Hashable, Sendable {
    /// The most tries within `window`: 2, whatever their outcome.
    public static let limit = 2
    /// 15 min.
    public static let window = Duration.seconds(15 * 60)

    /// The number of tries left now, 0 to 2.
    public let left: Int
    /// When the next login may be tried; `nil` if one may be tried now.
    public let nextAt: Instant?

    /// Counts the earlier tries.
    ///
    /// A try in the future, left by a clock that was stepped back, counts as made now: nothing
    /// delays a login for longer than `window`.
    init(after tries: [Instant], at now: Instant) {
        let recent = tries.map { min($0, now) }.filter { now - $0 < LoginAllowance.window }.sorted()
        left = max(0, LoginAllowance.limit - recent.count)
        nextAt =
            left > 0 ? nil : recent[recent.count - LoginAllowance.limit] + LoginAllowance.window
    }
}

// The logins that were tried, by all processes together: their times, and keyed hashes of the
// e-mail addresses. A logout that removes everything keeps them, because it could otherwise be used
// to get around the limit.

extension Sessions {
    /// Reserves a login and records it if it may be tried.
    ///
    /// The record is durable before the login is sent, so a kill in between counts as a try.
    public func reserveLogin(
        email: String, at now: Instant
    ) throws(HealthStoreError) -> LoginReservation {
        try store.changeAnyway { connection in
            let time = Value.instant(now)
            // Stored as now; otherwise the wait would start again with each request.
            try connection.run(
                "UPDATE login_tries SET tried_at_ms = ? WHERE tried_at_ms > ?", time, time)
            try connection.run(
                "DELETE FROM login_tries WHERE tried_at_ms <= ?",
                .instant(now - LoginAllowance.window))
            let allowance = try allowance(email, at: now, connection)
            if let nextAt = allowance.nextAt { return .usedUp(until: nextAt) }
            return .granted(
                try connection.insert(
                    "INSERT INTO login_tries (tag, tried_at_ms) VALUES (?, ?) RETURNING id",
                    .blob(loginIndex(email)), time))
        }
    }

    /// Removes the record of a login that certainly never left this machine.
    public func withdrawLogin(_ number: Int64) throws(HealthStoreError) {
        try store.changeAnyway { connection in
            try connection.run("DELETE FROM login_tries WHERE id = ?", .integer(number))
        }
    }

    /// Returns how many logins may still be tried for an address; writes nothing.
    public func loginAllowance(
        email: String, at now: Instant
    ) throws(HealthStoreError) -> LoginAllowance {
        try store.access { connection in try allowance(email, at: now, connection) }
    }

    private func allowance(
        _ email: String, at now: Instant, _ connection: Connection
    ) throws -> LoginAllowance {
        let tries = try connection.all(
            "SELECT tried_at_ms FROM login_tries WHERE tag = ?", .blob(loginIndex(email))
        ) { $0.instant(0) }
        return LoginAllowance(after: tries, at: now)
    }

    /// Returns the keyed hash of an address.
    ///
    /// Case and surrounding spaces do not matter, because backends treat such addresses as one
    /// account.
    private func loginIndex(_ email: String) -> [UInt8] {
        let start = email.drop(while: \.isWhitespace)
        let address = String(start.reversed().drop(while: \.isWhitespace).reversed())
        return cipher.blindIndex(of: address.lowercased(), in: "login_tries")
    }
}
