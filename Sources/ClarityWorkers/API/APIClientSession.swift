public import ClarityJobs
import ClarityScheduler

extension APIClient {
    /// Logs in and keeps the session in the place of any earlier one.
    ///
    /// - Throws: `APIError.unauthorized` for wrong credentials, which are sent once only.
    public func login(email: String, password: Secret) async throws(APIError) -> Session {
        try await askDialectAnew()
        let granted = try await grant(
            by: exchange(requests.login(email: email, password: password)))
        let session = Session(
            userID: granted.user.userID, email: granted.user.email ?? email,
            accessToken: granted.accessToken, refreshToken: granted.refreshToken,
            expiresAt: clock.now + life(of: granted.tokens))
        try keep(session)
        return session
    }

    /// Ends the session at the backend, as far as it answers, and forgets it in any case.
    ///
    /// An access token that has ended is renewed first: without it the backend would not hear that
    /// the refresh token is to end, and that one lives for long.
    ///
    /// - Throws: what the backend's side failed with; the session is forgotten all the same.
    public func logout() async throws(APIError) {
        // Before anything is sent: with nobody logged in nothing is forgotten.
        _ = try stored()
        var fault: APIError?
        do throws(APIError) {
            try await revoke(try await session())
        } catch .sessionEnded {
            // The backend has ended it already, which is what was wanted.
        } catch {
            fault = error
        }
        try forget()
        if let fault { throw fault }
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

    /// The session, renewed when it ends within `renewalMargin`.
    ///
    /// - Throws: `APIError.notLoggedIn` when there is none.
    public func session() async throws(APIError) -> Session {
        let session = try stored()
        return isFresh(session) ? session : try await renewed(insteadOf: session)
    }

    private func isFresh(_ session: Session) -> Bool {
        session.expiresAt - clock.now > APIClient.renewalMargin
    }

    /// A session other than `old`: one that was renewed meanwhile, here or by another process, or
    /// one that this call renews. Calls that come meanwhile wait for the same renewal.
    func renewed(insteadOf old: Session) async throws(APIError) -> Session {
        if let renewal { return try await renewal.value.get() }
        let current = try stored()
        if current.accessToken != old.accessToken, isFresh(current) { return current }
        // A task of its own: a renewal that one caller's cancellation broke off could cost the
        // session, when the backend has already replaced the refresh token.
        let renewal = Task { await self.renew(current) }
        self.renewal = renewal
        let result = await renewal.value
        self.renewal = nil
        return try result.get()
    }

    private func renew(_ old: Session) async -> Result<Session, APIError> {
        do throws(APIError) {
            let lock = try await lockSession()
            defer { withExtendedLifetime(lock) {} }
            // What another process made of it while this one waited.
            let session = try stored()
            if session.accessToken != old.accessToken, isFresh(session) { return .success(session) }
            return .success(try await renewed(session))
        } catch {
            return .failure(error)
        }
    }

    private func renewed(_ session: Session) async throws(APIError) -> Session {
        do throws(APIError) {
            let response = try await exchange(requests.refresh(session.refreshToken))
            let reader = AnswerReader(call: "session renewal")
            let tokens = try reader.decode(RefreshWire.self, from: response.body).tokens
            var renewed = session
            renewed.accessToken = Secret(tokens.accessToken)
            renewed.refreshToken = tokens.refreshToken.map(Secret.init) ?? session.refreshToken
            renewed.expiresAt = clock.now + life(of: tokens)
            try keep(renewed)
            return renewed
        } catch {
            guard error.endsSession else { throw error }
            return try replacement(for: session)
        }
    }

    /// Waits until no other process renews the session. A token to renew it with is good once: the
    /// second of two that send it is refused, maybe before the first has its answer, and could only
    /// take the session for ended.
    private func lockSession() async throws(APIError) -> any AnyObject & Sendable {
        while true {
            if let lock = try store("keep", { try sessions.lock() }) { return lock }
            await clock.sleep(for: APIClient.lockWait)
        }
    }

    /// What to use when the backend refused to renew `session`: what another process made of it,
    /// or else nothing, and then it is forgotten.
    private func replacement(for session: Session) throws(APIError) -> Session {
        do throws(APIError) {
            let current = try stored()
            if current.refreshToken != session.refreshToken { return current }
        } catch .notLoggedIn {
            throw .sessionEnded
        }
        try forget()
        throw .sessionEnded
    }

    private func life(of tokens: TokensWire) -> Duration {
        // At most a year: a number that a server made up must not overflow an instant.
        .milliseconds(Int64(min(max(tokens.expiresIn, 0), 365 * 86_400) * 1000))
    }

    private func stored() throws(APIError) -> Session {
        guard let session = try store("read", { try sessions.load() }) else { throw .notLoggedIn }
        return session
    }

    private func keep(_ session: Session) throws(APIError) {
        try store("keep") { try sessions.save(session) }
    }

    private func forget() throws(APIError) {
        try store("forget") { try sessions.clear() }
    }

    private func store<Value>(
        _ verb: String, _ body: () throws -> Value
    ) throws(APIError) -> Value {
        do {
            return try body()
        } catch let failure as Failure {
            throw .store(failure)
        } catch {
            // An error's own text could hold anything.
            let type = type(of: error)
            throw .store(Failure(.disk, "cannot \(verb) the session: error of type `\(type)`"))
        }
    }
}

extension APIError {
    /// Whether an answer to a renewal says that the refresh token is worth nothing any more.
    fileprivate var endsSession: Bool {
        switch self {
        case .unauthorized, .forbidden, .validation, .rejected(status: 400): true
        default: false
        }
    }
}
