public import ClarityJobs
import ClarityScheduler

// Logging in and out.

extension APIClient {
    /// Logs in and keeps the session in the place of any earlier one.
    ///
    /// The login is sent once, whatever becomes of it, and counted before: two in 15 minutes for one
    /// address and no more, by all processes together. Even a refusal of the password may be the
    /// backend's outage in one dialect, and counts towards its lock of the account all the same.
    ///
    /// Which dialect the backend speaks is asked anew before, unless the job file says it.
    ///
    /// - Throws: `APIError.loginsUsedUp` with no login sent; `.unauthorized` or `.loginUnclear` for
    ///   wrong credentials.
    public func login(email: String, password: Secret) async throws(APIError) -> Session {
        try await login(email, password, isAgain: false)
    }

    private func login(
        _ email: String, _ password: Secret, isAgain: Bool
    ) async throws(APIError) -> Session {
        try await askDialectAnew()
        let requests = try await requests
        let request = try requests.login(email: email, password: password)
        let start = clock.now
        let reservation = try store("keep") { try sessions.reserveLogin(email: email, at: start) }
        let number: Int64
        switch reservation {
        case .usedUp(let instant): throw .loginsUsedUp(until: instant)
        case .granted(let granted): number = granted
        }
        let response: HTTPResponse
        do throws(APIError) {
            response = try await sendOnce(request, in: requests.dialect)
        } catch {
            if error.wasNeverSent { try store("keep") { try sessions.withdrawLogin(number) } }
            throw error
        }
        let session = try await session(from: response, email: email)
        // The right password sets back what the backend counts towards its lock. A login that no
        // person asked for counts all the same: a session that never lasts must not log in for ever.
        if !isAgain { try store("keep") { try sessions.withdrawLogin(number) } }
        let now = clock.now
        try store("keep") { try sessions.save(session, at: now, isAgain: isAgain) }
        return session
    }

    /// Logs in again with the credentials that the store has.
    ///
    /// - Throws: `error` when it has none, what the login failed with otherwise.
    func logInAgain(orElse error: APIError) async throws(APIError) -> Session {
        let credentials = try store("read") { try sessions.credentials() }
        guard let credentials else { throw error }
        do throws(APIError) {
            return try await login(credentials.email, credentials.password, isAgain: true)
        } catch {
            try note(error.ruling.sentence, isTrouble: false)
            throw error
        }
    }

    func hasCredentials() throws(APIError) -> Bool {
        try store("read") { try sessions.credentials() } != nil
    }

    /// Ends the session at the backend, as far as it answers, and forgets it in any case.
    ///
    /// - Throws: `notLoggedIn` with nothing sent; what the backend's side failed with, with the
    ///   session forgotten all the same.
    public func logout() async throws(APIError) {
        var fault: APIError?
        do throws(APIError) {
            try await endSession()
        } catch .notLoggedIn {
            // Nothing is forgotten then.
            throw .notLoggedIn
        } catch {
            fault = error
        }
        try store("forget") { try sessions.clear() }
        if let fault { throw fault }
    }

    /// Tells the backend that the session is to end; what is kept here stays.
    ///
    /// An access token that has ended is renewed first: without it the backend would not hear that
    /// the refresh token is to end, and that one lives for long.
    public func endSession() async throws(APIError) {
        do throws(APIError) {
            try await revoke(try await session())
        } catch .sessionEnded {
            // The backend has ended it already, which is what was wanted.
        } catch  where error.isRenewalUnclear {
            // One backend answers so for a refresh token that has ended. The session cannot be used
            // again in any case.
        }
    }

    /// Tells the backend that `session` is to end, or the one that had to come in its place.
    private func revoke(_ session: Session) async throws(APIError) {
        let requests = try await requests
        func request(_ session: Session) throws(APIError) -> HTTPRequest {
            try requests.logout(session.refreshToken, token: session.accessToken)
        }
        do throws(APIError) {
            _ = try await exchange(request(session))
        } catch .unauthorized {
            let renewed = try await renewed(insteadOf: session)
            do throws(APIError) {
                _ = try await exchange(request(renewed))
            } catch .unauthorized {
                throw .sessionEnded
            }
        }
    }
}

// MARK: - A login's answer

extension APIClient {
    private func session(
        from response: HTTPResponse, email: String
    ) async throws(APIError) -> Session {
        let granted = try await grant(by: response)
        return Session(
            userID: granted.user.userID, email: granted.user.email ?? email,
            accessToken: granted.accessToken, refreshToken: granted.refreshToken,
            expiresAt: clock.now + life(of: granted.tokens))
    }

    /// Sends a login, which must not be repeated, however it ends.
    private func sendOnce(
        _ request: HTTPRequest, in dialect: Dialect
    ) async throws(APIError) -> HTTPResponse {
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await transport.send(request)
        } catch {
            throw APIError(error)
        }
        guard response.body.count <= APIClient.largestAnswer else { throw .tooLarge }
        if let fault = dialect.error(in: response, to: .login, now: clock.now) {
            throw await explained(fault)
        }
        return response
    }
}

extension APIError {
    /// Whether the backend did not renew a session and may mean that it has ended.
    fileprivate var isRenewalUnclear: Bool {
        switch self {
        case .renewalUnclear, .renewalRefused: true
        default: false
        }
    }

    /// Whether nothing of a request can have left this machine, or reached anybody but a proxy.
    fileprivate var wasNeverSent: Bool {
        switch self {
        case .offline, .tls, .refused: true
        case .transport(let error): !error.mayHaveSent
        default: false
        }
    }
}
