public import HealthModel

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
        _ = try await answer(
            to: .verifyEmail, with: [.email: .text(email), .code: .secret(code)])
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
