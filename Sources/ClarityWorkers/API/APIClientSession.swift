public import ClarityJobs
import ClarityScheduler

// The session: renewed in time, by one at a time, and replaced where there is a password to.
//
// That a session ends after 15 minutes of idleness is a rule for people who sit before the app; jobs
// run when nobody does, and it does not apply to them.

extension APIClient {
    /// The session, renewed when it ends within `renewalMargin`.
    ///
    /// When there is none, or the backend has ended it, one login takes its place where the store has
    /// credentials for it.
    ///
    /// - Throws: `APIError.notLoggedIn` when there is none, `.sessionEnded`, or what the renewal or
    ///   the login failed with. An error of the backend (5xx) ends no session: it may be an outage.
    public func session() async throws(APIError) -> Session {
        if let session = try kept() {
            guard !isFresh(session) else { return session }
            do throws(APIError) {
                return try await renewed(insteadOf: session)
            } catch {
                // Until its access token ends the session is as good as before. A session that the
                // backend has ended is no longer kept.
                guard error.ruling.isTransient, session.expiresAt > clock.now,
                    let kept = try kept(),
                    kept.accessToken == session.accessToken
                else { throw error }
                return session
            }
        }
        // Asked first, so that without credentials nobody waits for a turn.
        guard try hasCredentials() else { throw .notLoggedIn }
        return try await renewed(insteadOf: nil)
    }

    /// A session other than `old`: one that was renewed meanwhile, here or by another process, or
    /// one that this call renews. Calls that come meanwhile wait for the same renewal.
    func renewed(insteadOf old: Session?) async throws(APIError) -> Session {
        if let renewal { return try await renewal.value.get() }
        let current = try kept()
        if let current, current.accessToken != old?.accessToken, isFresh(current) { return current }
        if current == nil, old != nil, try !hasCredentials() { throw .notLoggedIn }
        // A task of its own: a renewal that one caller's cancellation broke off could cost the
        // session, when the backend has already replaced the refresh token.
        let renewal = Task { await self.renew(current) }
        self.renewal = renewal
        let result = await renewal.value
        self.renewal = nil
        return try result.get()
    }

    private func renew(_ old: Session?) async -> Result<Session, APIError> {
        do throws(APIError) {
            let lock = try await lockSession()
            defer { withExtendedLifetime(lock) {} }
            // What another process made of it while this one waited.
            guard let session = try kept() else {
                return .success(try await logInAgain(orElse: .notLoggedIn))
            }
            if session.accessToken != old?.accessToken, isFresh(session) {
                return .success(session)
            }
            return .success(try await renewed(session))
        } catch {
            return .failure(error)
        }
    }

    private func renewed(_ session: Session) async throws(APIError) -> Session {
        let renewed: Session
        do throws(APIError) {
            let response = try await exchange(requests.refresh(session.refreshToken))
            let reader = AnswerReader(call: "session renewal")
            let tokens = try reader.decode(RefreshWire.self, from: response.body).tokens
            renewed = session.renewed(by: tokens, life: life(of: tokens), at: clock.now)
        } catch {
            return try await afterRefusal(of: session, error)
        }
        let now = clock.now
        if try store("keep", { try sessions.replace(session, with: renewed, at: now) }) {
            return renewed
        }
        return try other(than: session, orElse: .notLoggedIn)
    }

    /// What to use when `session` could not be renewed.
    ///
    /// A refusal ends it. An error of the backend does not, for it may be an outage; but one dialect
    /// gives it for a refresh token that has ended too. So when it lasts the person is asked to log
    /// in, or one login is tried where there is a password, and the session stays until that works.
    private func afterRefusal(
        of session: Session, _ error: APIError
    ) async throws(APIError) -> Session {
        let (now, reason) = (clock.now, error.ruling.sentence)
        if error.endsSession {
            // The error's own words are about a login.
            let end = "the backend refused to renew the session"
            guard try store("forget", { try sessions.remove(session, because: end, at: now) })
            else { return try other(than: session, orElse: .sessionEnded) }
            return try await logInAgain(orElse: .sessionEnded)
        }
        guard let status = error.troubleStatus else {
            if error.isTold { try note(reason, isTrouble: false) }
            throw error
        }
        guard try note(reason, isTrouble: true)?.isLasting(at: now) == true else { throw error }
        do throws(APIError) {
            return try await logInAgain(orElse: .renewalRefused(status: status))
        } catch {
            throw .renewalRefused(status: status)
        }
    }

    /// The session that took the place of `session` meanwhile.
    private func other(
        than session: Session, orElse error: APIError
    ) throws(APIError) -> Session {
        guard let other = try kept(), other.accessToken != session.accessToken else { throw error }
        return other
    }

    /// Waits until no other process renews the session. A token to renew it with is good once: the
    /// second of two that send it is refused, maybe before the first has its answer, and could only
    /// take the session for ended.
    private func lockSession() async throws(APIError) -> any AnyObject & Sendable {
        let end = clock.elapsed + APIClient.lockPatience
        while true {
            if let lock = try store("keep", { try sessions.lock() }) { return lock }
            guard clock.elapsed < end else {
                throw .store(
                    Failure(
                        .unreachable,
                        "another process has been renewing the session for "
                            + APIClient.lockPatience.text + " and may hang"))
            }
            await clock.sleep(for: APIClient.lockWait)
        }
    }
}

// MARK: - What is kept

extension APIClient {
    private func isFresh(_ session: Session) -> Bool {
        session.expiresAt - clock.now > APIClient.renewalMargin
    }

    func life(of tokens: TokensWire) -> Duration {
        // At most a year: a number that a server made up must not overflow an instant.
        .milliseconds(Int64(min(max(tokens.expiresIn, 0), 365 * 86_400) * 1000))
    }

    func kept() throws(APIError) -> Session? { try store("read") { try sessions.load() } }

    @discardableResult
    func note(_ reason: String, isTrouble: Bool) throws(APIError) -> SessionRecord.Trouble? {
        let now = clock.now
        return try store("keep") {
            try sessions.noteRefusal(reason, isTrouble: isTrouble, at: now)
        }
    }

    func store<Value>(_ verb: String, _ body: () throws -> Value) throws(APIError) -> Value {
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

extension Session {
    /// The session with new tokens. A backend that keeps the refresh token as it is may give the same
    /// or none.
    fileprivate func renewed(
        by tokens: TokensWire, life: Duration, at now: Instant
    ) -> Session {
        var session = self
        session.accessToken = Secret(tokens.accessToken)
        if let token = tokens.refreshToken, !token.isEmpty { session.refreshToken = Secret(token) }
        session.expiresAt = now + life
        return session
    }
}

extension APIError {
    /// The status of an answer to a renewal that may be an outage, and may be what a refresh token
    /// that has ended gets; `nil` for other errors.
    fileprivate var troubleStatus: Int? {
        switch self {
        case .server(let status, _), .unavailable(let status): status
        case .renewalUnclear: 500
        default: nil
        }
    }

    /// Whether it is worth telling of the session: nothing of ours was in the way.
    fileprivate var isTold: Bool {
        switch self {
        case .cancelled, .store: false
        default: true
        }
    }

    /// Whether an answer to a renewal says that the refresh token is worth nothing any more.
    fileprivate var endsSession: Bool {
        switch self {
        case .unauthorized, .forbidden, .validation, .rejected(status: 400): true
        default: false
        }
    }
}
