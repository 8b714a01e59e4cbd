import Database

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
