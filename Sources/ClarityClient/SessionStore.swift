public import ClarityJobs
public import ClarityScheduler

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
