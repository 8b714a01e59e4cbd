import Database

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
