public import ClarityJobs

// Calls about the account. Those that a dialect lacks throw `APIError.notOffered`.

extension APIClient {
    /// Makes an account; nobody is logged in by it.
    ///
    /// - Throws: `APIError.passwordRefused`, before anything is sent where the backend's rule is
    ///   known; `.accountExists`; `.signupClosed`; `.refused` when the backend wants a field that
    ///   is not there.
    public func register(
        _ registration: Registration
    ) async throws(APIError) -> RegistrationResult {
        guard try await requests.dialect.passwordRule.allows(registration.password) else {
            throw .passwordRefused
        }
        let body = try await answer(to: .register) { requests, token throws(APIError) in
            try requests.request(.register, registration.values, token: token)
        }
        return try AnswerReader(.register).registration(body)
    }

    /// Asks whose account it is.
    public func me() async throws(APIError) -> UserProfile {
        let body = try await answer(to: .me) { requests, token throws(APIError) in
            try requests.me(token: token)
        }
        return try AnswerReader(.me).profile(body)
    }

    /// Changes the account's name or e-mail address; `nil` leaves one as it is.
    public func updateMe(
        displayName: String? = nil, email: String? = nil
    ) async throws(APIError) -> UserProfile {
        var values: [BodyField: APIRequests.FieldValue] = [:]
        if let displayName { values[.displayName] = .text(displayName) }
        if let email { values[.email] = .text(email) }
        let body = try await answer(to: .updateMe) { [values] requests, token throws(APIError) in
            try requests.request(.updateMe, values, token: token)
        }
        return try AnswerReader(.updateMe).profile(body)
    }

    /// Confirms the e-mail address with the code that was mailed to it.
    ///
    /// - Throws: `APIError.codeRefused`; `.notLoggedIn` where the backend wants to know who asks.
    public func verifyEmail(_ email: String, code: Secret) async throws(APIError) {
        try await settle(.verifyEmail, [.email: .text(email), .code: .secret(code)])
    }

    /// Has the code for `verifyEmail` mailed again.
    public func resendVerification(to email: String) async throws(APIError) {
        try await settle(.resendVerification, [.email: .text(email)])
    }

    /// Has a code for `resetPassword` mailed.
    public func forgotPassword(_ email: String) async throws(APIError) {
        try await settle(.forgotPassword, [.email: .text(email)])
    }

    /// Sets a new password with the code that was mailed.
    ///
    /// - Throws: `APIError.codeRefused`, `.passwordRefused`.
    public func resetPassword(
        _ email: String, code: Secret, newPassword: Secret
    ) async throws(APIError) {
        guard try await requests.dialect.passwordRule.allows(newPassword) else {
            throw .passwordRefused
        }
        try await settle(
            .resetPassword,
            [.email: .text(email), .code: .secret(code), .newPassword: .secret(newPassword)])
    }

    /// Makes a call whose answer says nothing beyond its success.
    private func settle(
        _ call: APICall, _ values: [BodyField: APIRequests.FieldValue]
    ) async throws(APIError) {
        _ = try await answer(to: call) { requests, token throws(APIError) in
            try requests.request(call, values, token: token)
        }
    }
}

// MARK: - What a login grants

/// The tokens of a login, with whose they are.
struct Grant {
    var user: UserProfile
    var accessToken: Secret
    var refreshToken: Secret
    var tokens: TokensWire
}

extension APIClient {
    /// Reads the answer to a login; asks whose the tokens are when it does not say.
    func grant(by answer: HTTPResponse) async throws(APIError) -> Grant {
        let wire = try AnswerReader(.login).decode(LoginWire.self, from: answer.body)
        if wire.tokens == nil, wire.secondFactorToken != nil { throw .secondFactorRequired }
        guard let tokens = wire.tokens else { throw .decoding("login: `tokens` is missing") }
        guard let refreshToken = tokens.refreshToken else {
            let place = wire.isBare ? "" : "tokens."
            throw .decoding("login: `\(place)refresh_token` is missing")
        }
        let accessToken = Secret(tokens.accessToken)
        let user = try await owner(of: accessToken, named: wire.user?.profile)
        return Grant(
            user: user, accessToken: accessToken, refreshToken: Secret(refreshToken),
            tokens: tokens)
    }

    /// Who logged in: whom the answer names, else whom `/auth/me` does, else the token itself.
    private func owner(
        of token: Secret, named user: UserProfile?
    ) async throws(APIError) -> UserProfile {
        if let user, TokenSubject.isUsable(user.userID) { return user }
        var fault = APIError.decoding("login: it does not say who logged in")
        do throws(APIError) {
            let answer = try await exchange(requests.me(token: token))
            let user = try AnswerReader(.me).profile(answer.body)
            if TokenSubject.isUsable(user.userID) { return user }
        } catch .cancelled {
            throw .cancelled
        } catch .unauthorized {
            // It has just been given out: what is refused here is not the person.
            fault = .tokenUnclear
        } catch .decoding {
            // The login is at fault, that asked for more than it said.
        } catch {
            fault = error
        }
        guard let subject = TokenSubject.read(token) else { throw fault }
        return UserProfile(userID: subject, email: nil)
    }
}
