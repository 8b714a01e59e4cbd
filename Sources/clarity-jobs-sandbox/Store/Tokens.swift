import SQLite

/// What a token stands for.
struct Grant: Hashable, Sendable {
    var user: String
    /// The login that it came from.
    var session: String
}

/// The kinds of token.
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

    /// What a token stands for; `nil` when it is unknown, of the other kind, revoked or expired.
    func grant(_ token: String, _ kind: TokenKind, at now: Timestamp) throws -> Grant? {
        try database.first(
            """
            SELECT user_id, session FROM tokens
            WHERE digest = ? AND kind = ? AND expires_at_ms > ?
            """, digest(token), .text(kind.rawValue), .integer(now.milliseconds)
        ) { Grant(user: $0.text(0), session: $0.text(1)) }
    }

    /// Revokes one token; one that is unknown is no error.
    func revoke(_ token: String) throws {
        try database.run("DELETE FROM tokens WHERE digest = ?", digest(token))
    }

    /// Revokes every token of a session.
    func end(session: String) throws {
        try database.run("DELETE FROM tokens WHERE session = ?", .text(session))
    }

    /// Revokes every access token, and every refresh token too when `andRefresh`.
    func expireTokens(andRefresh: Bool) throws -> Int {
        try database.run("DELETE FROM tokens WHERE kind = 'access' OR ?", andRefresh ? 1 : 0)
        return database.changes
    }

    /// Removes the tokens that have expired.
    func forgetTokens(before now: Timestamp) throws {
        try database.run(
            "DELETE FROM tokens WHERE expires_at_ms <= ?", .integer(now.milliseconds))
    }
}
