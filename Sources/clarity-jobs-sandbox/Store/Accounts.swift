import Database
import JSON

/// A user of the service.
struct Account: Hashable, Sendable {
    var id: String
    /// The address in lower case.
    var email: String
    var firstName: String
    var lastName: String
    var phoneNumber: String?
    var isVerified: Bool
    var createdAt: Timestamp
    var lastLogin: Timestamp?

    var status: String { isVerified ? "active" : "pending_verification" }
}

extension Store {
    private static let columns = """
        id, email, first_name, last_name, phone_number, is_verified, created_at_ms, last_login_ms
        """

    private static func account(_ row: borrowing Row) -> Account {
        Account(
            id: row.text(0), email: row.text(1), firstName: row.text(2), lastName: row.text(3),
            phoneNumber: row.optionalText(4), isVerified: row.integer(5) == 1,
            createdAt: Timestamp(milliseconds: row.integer(6)),
            lastLogin: row.optionalInteger(7).map { Timestamp(milliseconds: $0) })
    }

    /// Adds a user; `false` if the address is taken.
    func add(_ account: Account, _ password: PasswordHash, code: String?) throws -> Bool {
        let changed = try database.change(
            """
            INSERT INTO users (id, email, first_name, last_name, phone_number, is_verified,
                created_at_ms, salt, iterations, password, verification_code)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (email) DO NOTHING
            """,
            .text(account.id), .text(account.email), .text(account.firstName),
            .text(account.lastName), .text(account.phoneNumber),
            .integer(account.isVerified ? 1 : 0), .integer(account.createdAt.milliseconds),
            .blob(password.salt), .integer(Int64(password.iterations)), .blob(password.digest),
            .text(code))
        return changed == 1
    }

    func account(id: String) throws -> Account? {
        try database.first(
            "SELECT \(Store.columns) FROM users WHERE id = ?", .text(id), map: Store.account)
    }

    func account(email: String) throws -> Account? {
        try database.first(
            "SELECT \(Store.columns) FROM users WHERE email = ?", .text(email.lowercased()),
            map: Store.account)
    }

    func password(of user: String) throws -> PasswordHash? {
        try database.first(
            "SELECT salt, iterations, password FROM users WHERE id = ?", .text(user)
        ) { row in
            PasswordHash(
                salt: row.blob(0), iterations: Int(row.integer(1)), digest: row.blob(2))
        }
    }

    func noteLogin(of user: String, at time: Timestamp) throws {
        try database.run(
            "UPDATE users SET last_login_ms = ? WHERE id = ?", .integer(time.milliseconds),
            .text(user))
    }

    /// Marks the user's address as verified; `false` if the code is wrong.
    func verify(_ user: String, code: String) throws -> Bool {
        let changed = try database.change(
            """
            UPDATE users SET is_verified = 1, verification_code = NULL
            WHERE id = ? AND verification_code = ?
            """, .text(user), .text(code))
        return changed == 1
    }

    /// Stores a code as if it had been mailed to the user, in place of any earlier one.
    func mail(_ user: String, code: String) throws {
        try database.run(
            "UPDATE users SET verification_code = ? WHERE id = ?", .text(code), .text(user))
    }

    /// Sets a new password; `false` if the code is wrong.
    func reset(_ password: PasswordHash, of user: String, code: String) throws -> Bool {
        let changed = try database.change(
            """
            UPDATE users SET salt = ?, iterations = ?, password = ?, verification_code = NULL
            WHERE id = ? AND verification_code = ?
            """,
            .blob(password.salt), .integer(Int64(password.iterations)), .blob(password.digest),
            .text(user), .text(code))
        return changed == 1
    }

    /// Returns the codes that a real server would have sent by mail and that nobody has entered
    /// yet.
    func unsentMail() throws -> [(email: String, code: String)] {
        try database.all(
            """
            SELECT email, verification_code FROM users
            WHERE verification_code IS NOT NULL ORDER BY created_at_ms, email
            """
        ) { ($0.text(0), $0.text(1)) }
    }
}

extension Store {
    /// Changes the user's display name.
    func rename(_ user: String, to name: String) throws {
        try database.run(
            "UPDATE users SET first_name = ?, last_name = '' WHERE id = ?", .text(name),
            .text(user))
    }
}

/// The user and the session that a token gives access to.
struct Grant: Hashable, Sendable {
    var user: String
    /// The login that the token comes from.
    var session: String
}

/// A kind of token.
enum TokenKind: String, Sendable {
    case access, refresh
}

extension Store {
    private func digest(_ token: String) -> Value { .blob(SHA256.digest(Array(token.utf8))) }

    /// Adds a token.
    func add(_ token: String, _ kind: TokenKind, _ grant: Grant, until end: Timestamp) throws {
        try database.run(
            """
            INSERT INTO tokens (digest, kind, session, user_id, expires_at_ms)
            VALUES (?, ?, ?, ?, ?)
            """,
            digest(token), .text(kind.rawValue), .text(grant.session), .text(grant.user),
            .integer(end.milliseconds))
    }

    /// Returns the grant of a token, or `nil` if the token is unknown, of the other kind, revoked
    /// or expired.
    func grant(_ token: String, _ kind: TokenKind, at now: Timestamp) throws -> Grant? {
        try database.first(
            """
            SELECT user_id, session FROM tokens
            WHERE digest = ? AND kind = ? AND expires_at_ms > ?
            """, digest(token), .text(kind.rawValue), .integer(now.milliseconds)
        ) { Grant(user: $0.text(0), session: $0.text(1)) }
    }

    /// Revokes one token; an unknown token is not an error.
    func revoke(_ token: String) throws {
        try database.run("DELETE FROM tokens WHERE digest = ?", digest(token))
    }

    /// Revokes every token of a session.
    func end(session: String) throws {
        try database.run("DELETE FROM tokens WHERE session = ?", .text(session))
    }

    /// Revokes every access token and, with `andRefresh`, every refresh token; returns how many.
    func expireTokens(andRefresh: Bool) throws -> Int {
        let changed = try database.change(
            "DELETE FROM tokens WHERE kind = 'access' OR ?", andRefresh ? 1 : 0)
        return Int(changed)
    }

    /// Removes expired tokens.
    func forgetTokens(before now: Timestamp) throws {
        try database.run(
            "DELETE FROM tokens WHERE expires_at_ms <= ?", .integer(now.milliseconds))
    }
}

/// The content of a new server: one user with a history.
struct Seed {
    /// The demo user's id, the same on every server.
    static let user = "5f0c7e52-6a1d-4f0e-9b1e-2d8a4c3b7a10"
    static let email = "demo@example.com"
    static let password = "Demo-Passw0rd!"
    static let insights = 23
    static let metrics = 12

    /// Fills a store without the demo user, completely or not at all.
    ///
    /// Identifiers depend only on the order within the seed. Dates are in the days before `now`.
    static func plant(
        in store: Store, now: Timestamp, salt: [UInt8], iterations: Int
    ) throws {
        try store.transaction {
            guard try store.account(id: user) == nil else { return }
            let account = Account(
                id: user, email: email, firstName: "Demo", lastName: "Person",
                isVerified: true, createdAt: now)
            let hash = PasswordHash(password, salt: salt, iterations: iterations)
            guard try store.add(account, hash, code: nil) else { return }
            for number in 0..<insights {
                try store.add(insight(number, now))
            }
            for number in 0..<metrics {
                _ = try store.add(metric(number, now), user: user, work: nil)
            }
        }
    }

    private static func id(_ name: String, _ number: Int) -> String {
        UUIDText.make(Array(SHA256.digest(Array("\(name) \(number)".utf8)).prefix(16)))
    }

    private static func insight(_ number: Int, _ now: Timestamp) -> Work {
        let topics = [
            ("sleep", "Go to bed within the same half hour each evening."),
            ("heart rate", "Keep two easy days between hard efforts."),
            ("activity", "Break long sitting with a short walk every hour."),
            ("recovery", "Leave the evening free of screens once a week."),
        ]
        let (topic, advice) = topics[number % topics.count]
        let made = now - .seconds(86_400 * (number + 1))
        let change = 2 + (number * 7) % 11
        let direction = number % 3 == 0 ? "below" : "above"
        let narrative = """
            This week your \(topic) was \(change) percent \(direction) the average of the four \
            weeks before. The change began in the middle of the week and is within what you have \
            had before. Nothing in it asks for action today; the next days will show whether it \
            lasts.
            """
        return Work(
            .insight, id: id("insight", number), of: user, at: made,
            result: [
                "narrative": .string(narrative),
                "key_insights": [
                    .string("\(topic) \(change) percent \(direction) average"),
                    "the change began in the middle of the week",
                ],
                "recommendations": [.string(advice)],
                "confidence_score": .number(Double(60 + (number * 13) % 36) / 100),
            ])
    }

    private static func metric(_ number: Int, _ now: Timestamp) -> AcceptedMetric {
        let kinds = [
            ("heart_rate", "heart_rate", 58 + number), ("blood_oxygen", "oxygen_saturation", 96),
            ("respiratory_rate", "respiratory_rate", 13 + number % 3),
        ]
        let (type, field, value) = kinds[number % kinds.count]
        let time = now - .seconds(21_600 * (number + 1))
        let id = id("metric", number)
        return AcceptedMetric(
            id: id, type: type, createdAt: time,
            body: [
                "metric_id": .string(id), "metric_type": .string(type),
                "biometric_data": .object([JSON.Member(name: field, value: .count(value))]),
                "device_id": "phone", "created_at": .time(time),
            ])
    }
}
