public import BackendContract
public import HealthModel
import ClarityScheduler
import JSON

// Account calls. A call that the dialect does not offer throws `APIError.notOffered`.

extension APIClient {
    /// Creates an account, without logging in.
    ///
    /// - Throws: `APIError.passwordTooWeak`, with nothing sent; `.passwordRefused`;
    ///   `.accountExists`; `.signupClosed`; `.refused` if the dialect requires a field that is
    ///   missing.
    public func register(
        _ registration: Registration
    ) async throws(APIError) -> RegistrationResult {
        let body = try await answer(
            to: .register, with: registration.values, newPassword: registration.password)
        return try AnswerReader(.register).read(body, RegistrationResult.init)
    }

    /// Returns the profile of the account that is logged in.
    public func me() async throws(APIError) -> UserProfile {
        try await read(.me, as: UserProfile.init)
    }

    /// Changes the account's name or e-mail address; `nil` leaves it unchanged.
    public func updateMe(
        displayName: String? = nil, email: String? = nil
    ) async throws(APIError) -> UserProfile {
        var values: [BodyField: APIRequests.FieldValue] = [:]
        if let displayName { values[.displayName] = .text(displayName) }
        if let email { values[.email] = .text(email) }
        let body = try await answer(to: .updateMe, with: values)
        return try AnswerReader(.updateMe).read(body, UserProfile.init)
    }

    /// Confirms the e-mail address with the code that was mailed to it.
    ///
    /// - Throws: `APIError.codeRefused`; `.notLoggedIn` if the backend requires a session for this
    ///   call.
    public func verifyEmail(_ email: String, code: Secret) async throws(APIError) {
        _ = try await answer(to: .verifyEmail, with: [.email: .text(email), .code: .secret(code)])
    }

    /// Requests another mail with the code for `verifyEmail`.
    public func resendVerification(to email: String) async throws(APIError) {
        _ = try await answer(to: .resendVerification, with: [.email: .text(email)])
    }

    /// Requests a mail with the code for `resetPassword`.
    public func forgotPassword(_ email: String) async throws(APIError) {
        _ = try await answer(to: .forgotPassword, with: [.email: .text(email)])
    }

    /// Sets a new password with the code that was mailed.
    ///
    /// - Throws: `APIError.passwordTooWeak`, with nothing sent; `.passwordRefused`, `.codeRefused`.
    public func resetPassword(
        _ email: String, code: Secret, newPassword: Secret
    ) async throws(APIError) {
        _ = try await answer(
            to: .resetPassword,
            with: [.email: .text(email), .code: .secret(code), .newPassword: .secret(newPassword)],
            newPassword: newPassword)
    }

    /// Makes a call that sets a password, unless that breaks the dialect's `passwordRule`.
    private func answer(
        to call: APICall, with values: [BodyField: APIRequests.FieldValue], newPassword: Secret
    ) async throws(APIError) -> [UInt8] {
        let dialect = try await requests.dialect
        _ = try dialect.route(call)
        guard dialect.passwordRule.allows(newPassword) else {
            throw .passwordTooWeak(dialect.passwordRule.words)
        }
        var refusal: [UInt8] = []
        do throws(APIError) {
            return try await answer(to: call, refused: { refusal = $0?.body ?? [] }) {
                requests, token throws(APIError) in
                try requests.request(call, values, token: token)
            }
        } catch .passwordRefused {
            throw .passwordRefused(FaultReport(refusal).policy(about: newPassword.reveal()))
        }
    }

    /// Makes a call whose body holds those of `values` that the dialect has fields for.
    private func answer(
        to call: APICall, with values: [BodyField: APIRequests.FieldValue]
    ) async throws(APIError) -> [UInt8] {
        try await answer(to: call) { requests, token throws(APIError) in
            try requests.request(call, values, token: token)
        }
    }
}

// MARK: - Login tokens

/// The tokens that a login returned, and the user whom they belong to.
struct Grant {
    var user: UserProfile
    var accessToken: Secret
    var refreshToken: Secret
    var tokens: SessionTokens
}

extension APIClient {
    /// Reads the answer to a login; finds the user by other means if the answer does not name one.
    func grant(by answer: HTTPResponse) async throws(APIError) -> Grant {
        let login = try AnswerReader(.login).read(answer.body, LoginAnswer.init)
        if login.tokens == nil, login.secondFactorToken != nil { throw .secondFactorRequired }
        guard let tokens = login.tokens else { throw .decoding("login: `tokens` is missing") }
        guard let refreshToken = tokens.refreshToken else {
            let prefix = login.isBare ? "" : "tokens."
            throw .decoding("login: `\(prefix)refresh_token` is missing")
        }
        let accessToken = Secret(tokens.accessToken)
        let user = try await owner(of: accessToken, named: login.user)
        return Grant(
            user: user, accessToken: accessToken, refreshToken: Secret(refreshToken),
            tokens: tokens)
    }

    /// Returns the user who logged in: from the answer, else from `/auth/me`, else from the token.
    private func owner(
        of token: Secret, named user: UserProfile?
    ) async throws(APIError) -> UserProfile {
        if let user, TokenSubject.isUsable(user.userID) { return user }
        var fault = APIError.decoding("login: it does not say who logged in")
        do throws(APIError) {
            let answer = try await exchange(requests.me(token: token))
            let user = try AnswerReader(.me).read(answer.body, UserProfile.init)
            if TokenSubject.isUsable(user.userID) { return user }
        } catch .cancelled {
            throw .cancelled
        } catch .unauthorized {
            // The backend has just issued this token: its refusal says nothing about the user.
            fault = .tokenUnclear
        } catch .decoding {
            // Keep the login's fault: its own answer should have named the user.
        } catch {
            fault = error
        }
        guard let subject = TokenSubject.read(token) else { throw fault }
        return UserProfile(userID: subject, email: nil)
    }
}

/// The data of a new account; each backend gets the fields that it has.
public struct Registration: PrivateValue {
    public var email: String
    public var password: Secret
    public var firstName: String?
    public var lastName: String?
    public var displayName: String?
    public var phoneNumber: String?
    /// Whether the user accepts the terms and the privacy policy.
    public var acceptsTerms = false

    /// Creates the data; an account needs an address and a password in any case.
    public init(
        email: String, password: Secret, firstName: String? = nil, lastName: String? = nil,
        displayName: String? = nil, phoneNumber: String? = nil, acceptsTerms: Bool = false
    ) {
        self.email = email
        self.password = password
        self.firstName = firstName
        self.lastName = lastName
        self.displayName = displayName
        self.phoneNumber = phoneNumber
        self.acceptsTerms = acceptsTerms
    }

    /// The fields that have a value.
    var values: [BodyField: APIRequests.FieldValue] {
        var values: [BodyField: APIRequests.FieldValue] = [
            .email: .text(email), .password: .secret(password),
            .termsAccepted: .flag(acceptsTerms), .privacyPolicyAccepted: .flag(acceptsTerms),
        ]
        for (field, text) in [
            (BodyField.firstName, firstName), (.lastName, lastName), (.displayName, displayName),
            (.phoneNumber, phoneNumber),
        ] {
            if let text { values[field] = .text(text) }
        }
        return values
    }
}

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
