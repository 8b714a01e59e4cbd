import ClarityScheduler
import JSON

// Answers about accounts and sessions, in every dialect.

/// The tokens of a session.
struct SessionTokens {
    let accessToken: String
    /// A backend that does not replace the refresh token may leave it out.
    let refreshToken: String?
    /// In seconds.
    let expiresIn: Double

    init(_ answer: JSONPart) throws(JSONPart.Fault) {
        accessToken = try answer.member("access_token").text()
        refreshToken = try answer["refresh_token"]?.text()
        expiresIn = try answer.member("expires_in").number()
    }

    /// Reads the answer to a refresh: the tokens, at the top level or under `tokens`.
    init(renewed answer: JSONPart) throws(JSONPart.Fault) {
        try self.init(answer.has("tokens") ? answer.member("tokens") : answer)
    }
}

/// The answer to a login: tokens and user, or the tokens alone at the top level.
struct LoginAnswer {
    let user: UserProfile?
    let tokens: SessionTokens?
    /// Whether the answer consists of the tokens alone.
    let isBare: Bool
    let secondFactorToken: String?

    init(_ answer: JSONPart) throws(JSONPart.Fault) {
        user = try answer["user"].map(UserProfile.init)
        secondFactorToken = try answer["mfa_session_token"]?.text()
        let hasTokens = try answer.has("tokens")
        isBare = try answer.has("access_token") && !hasTokens
        tokens = try (isBare ? answer : answer["tokens"]).map(SessionTokens.init(_:))
    }
}

extension UserProfile {
    init(_ account: JSONPart) throws(JSONPart.Fault) {
        let firstName = try account["first_name"]?.text()
        let lastName = try account["last_name"]?.text()
        let names = [firstName, lastName].compactMap { $0 }.filter { !$0.isEmpty }
        let joined = names.isEmpty ? nil : names.joined(separator: " ")
        self.init(
            userID: try account.member("user_id").text(), email: try account["email"]?.text(),
            displayName: try account["display_name"]?.text() ?? joined,
            isVerified: try account["email_verified"]?.flag())
        // The others are only shown: a value of another type counts as missing.
        func shown(_ name: String) -> String? { lenient { try account[name]?.text() } }
        let permissions = lenient {
            try account["permissions"]?.elements().map { permission in try permission.text() }
        }
        details = Details(
            firstName: firstName, lastName: lastName, role: shown("role"),
            permissions: permissions ?? [], status: shown("status"),
            createdAt: shown("created_at").flatMap { Instant(rfc3339: $0) },
            lastLogin: shown("last_login").flatMap { Instant(rfc3339: $0) },
            hasSecondFactor: lenient { try account["mfa_enabled"]?.flag() },
            provider: shown("auth_provider"))
    }
}

extension RegistrationResult {
    /// Reads an account, tokens for it, or a note that it must be confirmed.
    init(_ answer: JSONPart) throws(JSONPart.Fault) {
        let userID = try answer["user_id"]?.text()
        let status = try answer["status"]?.text()
        let needsVerification = try answer["requires_email_verification"]?.flag()
        let accessToken = try answer["access_token"]?.text()
        guard userID != nil || accessToken != nil || needsVerification != nil else {
            throw answer.fault("says neither `user_id` nor what is to be done")
        }
        self.init(
            userID: userID,
            needsVerification: needsVerification ?? (status == "pending_verification"))
    }
}

extension ServiceHealth {
    /// Reads the health of a service, at the top level or under `data`.
    init(_ answer: JSONPart) throws(JSONPart.Fault) {
        let health = try answer.has("data") ? answer.member("data") : answer
        let status = try health.member("status").text()
        self.init(
            isHealthy: status == "healthy",
            service: try (health["service"]?.text()).flatMap(FaultReport.plain),
            version: try (health["version"]?.text()).flatMap(FaultReport.plain))
    }
}
