public import BackendContract
public import HealthModel
public import ClarityScheduler

// The session is renewed before it expires, by one process at a time, and replaced by a new login
// if the store has credentials.
//
// The rule that a session ends after 15 minutes of inactivity is for people who use the app. Jobs
// run when nobody uses it, so the rule does not apply to them.

extension APIClient {
    /// Returns the session, renewed first if it expires within `renewalMargin`.
    ///
    /// If there is no session, or the backend has ended it, one login replaces it, provided that
    /// the store has credentials.
    ///
    /// - Throws: `APIError.notLoggedIn` if there is no session, `.sessionEnded`, or the error of
    ///   the renewal or login. An error of the backend (5xx) does not end a session: it may be an
    ///   outage.
    public func session() async throws(APIError) -> Session {
        if let session = try storedSession() {
            guard !isFresh(session) else { return session }
            if session.accessToken == unrenewed, session.expiresAt > clock.now { return session }
            do throws(APIError) {
                return try await renewed(insteadOf: session)
            } catch {
                // The session is usable until its access token expires. A session that the backend
                // has ended is no longer stored.
                guard error.leavesAccess, session.expiresAt > clock.now,
                    let stored = try storedSession(),
                    stored.accessToken == session.accessToken
                else { throw error }
                unrenewed = session.accessToken
                return session
            }
        }
        // Check first, so that without credentials nobody waits for the lock.
        guard try hasCredentials() else { throw .notLoggedIn }
        return try await renewed(insteadOf: nil)
    }

    /// Returns a session other than `old`: one that this or another process has renewed in the
    /// meantime, or one that this call renews. Concurrent calls wait for the same renewal.
    func renewed(insteadOf old: Session?) async throws(APIError) -> Session {
        if let renewal { return try await renewal.value.get() }
        let current = try storedSession()
        if let current, current.accessToken != old?.accessToken, isFresh(current) { return current }
        if current == nil, old != nil, try !hasCredentials() { throw .notLoggedIn }
        // A task of its own: if one caller's cancellation interrupted the renewal, the session
        // could be lost, because the backend may already have replaced the refresh token.
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
            // Another process may have changed the session while this one waited.
            guard let session = try storedSession() else {
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
            let tokens = try reader.read(response.body, SessionTokens.init(renewed:))
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

    /// Returns the session to use after `session` could not be renewed.
    ///
    /// A refusal ends the session. An error of the backend does not, because it may be an outage;
    /// but one dialect also answers so for an expired refresh token. If the error lasts
    /// (`SessionRecord.Trouble`), the user is asked to log in, or the client tries one login if the
    /// store has credentials. The session stays until a login or a renewal succeeds.
    private func afterRefusal(
        of session: Session, _ error: APIError
    ) async throws(APIError) -> Session {
        let (now, reason) = (clock.now, error.classification.sentence)
        if error.endsSession {
            // The sentence of `error` is about a login.
            let end = "the backend refused to renew the session"
            guard try store("forget", { try sessions.remove(session, because: end, at: now) })
            else { return try other(than: session, orElse: .sessionEnded) }
            return try await logInAgain(orElse: .sessionEnded)
        }
        guard let status = error.troubleStatus else {
            if error.isRecorded { try note(reason, isTrouble: false) }
            throw error
        }
        guard let trouble = try note(reason, isTrouble: true), trouble.isLasting(at: now) else {
            throw error
        }
        let refused = APIError.renewalRefused(status: status, since: trouble.since)
        do throws(APIError) {
            return try await logInAgain(orElse: refused)
        } catch {
            throw refused
        }
    }

    /// Returns the session that has replaced `session`; throws `error` if there is none.
    private func other(
        than session: Session, orElse error: APIError
    ) throws(APIError) -> Session {
        guard let other = try storedSession(), other.accessToken != session.accessToken else {
            throw error
        }
        return other
    }

    /// Locks the session against renewal by other processes; waits up to `lockPatience`.
    ///
    /// A refresh token works once. If two processes sent the same one, the backend would refuse the
    /// second, maybe before the first has its answer, and the second process would have to conclude
    /// that the session has ended.
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

    // MARK: - The stored session

    private func isFresh(_ session: Session) -> Bool {
        session.expiresAt - clock.now > APIClient.renewalMargin
    }

    func life(of tokens: SessionTokens) -> Duration {
        // At most a year, so that a number that the server made up cannot overflow an instant.
        .milliseconds(Int64(min(max(tokens.expiresIn, 0), 365 * 86_400) * 1000))
    }

    func storedSession() throws(APIError) -> Session? { try store("read") { try sessions.load() } }

    @discardableResult
    func note(_ reason: String, isTrouble: Bool) throws(APIError) -> SessionRecord.Trouble? {
        let now = clock.now
        return try store("keep") {
            try sessions.noteRefusal(reason, isTrouble: isTrouble, at: now)
        }
    }

    /// Returns the result of `body`, which reads or changes what is stored of `part`.
    func store<Value>(
        _ verb: String, of part: String = "session", _ body: () throws -> Value
    ) throws(APIError) -> Value {
        do {
            return try body()
        } catch let failure as Failure {
            throw .store(failure)
        } catch {
            // The error's own text could contain anything.
            let type = type(of: error)
            throw .store(Failure(.disk, "cannot \(verb) the \(part): error of type `\(type)`"))
        }
    }
}

extension Session {
    /// Returns the session with new tokens. A backend that does not replace the refresh token may
    /// return the same one or none.
    fileprivate func renewed(by tokens: SessionTokens, life: Duration, at now: Instant) -> Session {
        var session = self
        session.accessToken = Secret(tokens.accessToken)
        if let token = tokens.refreshToken, !token.isEmpty { session.refreshToken = Secret(token) }
        session.expiresAt = now + life
        return session
    }
}

extension APIError {
    /// The status of an answer to a renewal that may mean an outage or an expired refresh token;
    /// `nil` for other errors. That is 500: a gateway's 502 and 504, and 503, are outages.
    fileprivate var troubleStatus: Int? {
        switch self {
        case .server(500, _), .renewalUnclear: 500
        default: nil
        }
    }

    /// Whether the session's record notes the error: not a cancellation, a wait for
    /// the own limits, or a fault of our store.
    fileprivate var isRecorded: Bool {
        switch self {
        case .cancelled, .store, .limitReached: false
        default: true
        }
    }

    /// Whether a renewal that failed so leaves the session as it is.
    fileprivate var leavesAccess: Bool {
        if case .renewalRefused = self { true } else { classification.isTransient }
    }

    /// Whether an answer to a renewal says that the refresh token is no longer valid.
    fileprivate var endsSession: Bool {
        switch self {
        case .unauthorized, .forbidden, .validation, .rejected(status: 400): true
        default: false
        }
    }
}

/// The e-mail address and password of a login.
public struct LoginCredentials: Hashable, Sendable, PrivateValue {
    public var email: String
    public var password: Secret

    /// Creates credentials.
    public init(email: String, password: Secret) {
        self.email = email
        self.password = password
    }
}

/// Stores the session for all processes, and counts their logins.
public protocol SessionStore: Sendable {
    /// Returns the stored session; `nil` if there is none.
    func load() throws -> Session?
    /// Stores the session of a login in place of any other; it is durable on return.
    ///
    /// `isAgain` marks a login that replaces a session that has ended. Such a login must not undo a
    /// logout: this throws if somebody has logged out in the meantime.
    func save(_ session: Session, at now: Instant, isAgain: Bool) throws
    /// Stores `renewed` in place of `old`. Returns `false`, with nothing changed, if `old` is no
    /// longer the stored session.
    func replace(_ old: Session, with renewed: Session, at now: Instant) throws -> Bool
    /// Removes a session that the backend has ended. Returns `false` if it is no longer stored.
    func remove(_ session: Session, because reason: String, at now: Instant) throws -> Bool
    /// Removes the session, if there is one, and the record of who logged in.
    func clear() throws
    /// Locks the session for renewal, as long as the returned object lives. Returns `nil` while
    /// another process holds the lock.
    func lock() throws -> (any AnyObject & Sendable)?
    /// Records a renewal or login that failed.
    ///
    /// `isTrouble` adds it to the consecutive renewals that met an error of the backend. Returns
    /// the state of that series.
    func noteRefusal(
        _ reason: String, isTrouble: Bool, at now: Instant
    ) throws -> SessionRecord.Trouble?
    /// Asks for permission to log in. A granted login is recorded before this returns.
    func reserveLogin(email: String, at now: Instant) throws -> LoginReservation
    /// Removes a login from the count.
    func withdrawLogin(_ number: Int64) throws
    /// Returns the credentials to log in with after the session has ended; `nil` if a person has
    /// to.
    func credentials() throws -> LoginCredentials?
}
