public import ClarityScheduler
import SQLite

/// How many logins may still be tried for an e-mail address.
///
/// A backend may lock an account for 15 minutes after three failed logins, even for the right
/// password, and may call its own outage a failed login: two tries in 15 minutes never lead there.
public struct LoginAllowance: Hashable, Sendable {
    /// The most tries within `window`: 2, whatever becomes of them.
    public static let limit = 2
    /// 15 min.
    public static let window = Duration.seconds(15 * 60)

    /// How many may be tried now, 0 to 2.
    public let left: Int
    /// When the next may be tried; `nil` when one may be tried now.
    public let nextAt: Instant?

    /// Judges by earlier tries. One in the future, of a clock that was stepped back, counts as one of
    /// now: nothing holds up a login for longer than `window`.
    init(after tries: [Instant], at now: Instant) {
        let recent = tries.map { min($0, now) }.filter { now - $0 < LoginAllowance.window }.sorted()
        left = max(0, LoginAllowance.limit - recent.count)
        nextAt =
            left > 0 ? nil : recent[recent.count - LoginAllowance.limit] + LoginAllowance.window
    }
}

/// The answer to who wants to try a login.
public enum LoginReservation: Hashable, Sendable {
    /// It may be sent, and is written down under a number already.
    case granted(Int64)
    /// It must not be sent before.
    case usedUp(until: Instant)
}

// Which logins were tried, by all processes together. What is kept is the instant and a keyed hash
// of the e-mail address. A logout that removes everything leaves it: it could else be used to get
// around the rule.

extension HealthStore {
    /// Asks for a login, and writes it down when it may be tried: durable before it is sent, so that
    /// a kill in between counts as a try.
    public func reserveLogin(
        email: String, at now: Instant
    ) throws(HealthStoreError) -> LoginReservation {
        try changeAnyway { connection in
            let time = Value.integer(now.millisecondsSince1970)
            // Kept so: otherwise the wait would begin anew with each question.
            try connection.run(
                "UPDATE login_tries SET tried_at_ms = ? WHERE tried_at_ms > ?", time, time)
            try connection.run(
                "DELETE FROM login_tries WHERE tried_at_ms <= ?",
                .integer((now - LoginAllowance.window).millisecondsSince1970))
            let allowance = try allowance(email, at: now, connection)
            if let nextAt = allowance.nextAt { return .usedUp(until: nextAt) }
            try connection.run(
                "INSERT INTO login_tries (tag, tried_at_ms) VALUES (?, ?)",
                .blob(loginTag(email)), time)
            return .granted(connection.lastInsertedRow)
        }
    }

    /// Strikes out a login of which it is certain that it never left this machine.
    public func withdrawLogin(_ number: Int64) throws(HealthStoreError) {
        try changeAnyway { connection in
            try connection.run("DELETE FROM login_tries WHERE id = ?", .integer(number))
        }
    }

    /// How many logins may still be tried for an address; asking writes nothing.
    public func loginAllowance(
        email: String, at now: Instant
    ) throws(HealthStoreError) -> LoginAllowance {
        try access { connection in try allowance(email, at: now, connection) }
    }

    private func allowance(
        _ email: String, at now: Instant, _ connection: Connection
    ) throws -> LoginAllowance {
        let tries = try connection.all(
            "SELECT tried_at_ms FROM login_tries WHERE tag = ?", .blob(loginTag(email))
        ) { Instant(millisecondsSince1970: $0.integer(0)) }
        return LoginAllowance(after: tries, at: now)
    }

    /// The same for an address in another case or with spaces around it, which is the same account to
    /// a backend.
    private func loginTag(_ email: String) -> [UInt8] {
        let start = email.drop(while: \.isWhitespace)
        let address = String(start.reversed().drop(while: \.isWhitespace).reversed())
        var identity = RowIdentity("login_tries")
        identity.append(address.lowercased())
        return sealer.tag(identity.bytes, count: 16)
    }
}
