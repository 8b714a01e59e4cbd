public import ClarityJobs
public import ClarityScheduler

/// What a login takes.
public struct LoginCredentials: Hashable, Sendable, PrivateValue {
    public var email: String
    public var password: Secret

    /// Creates credentials.
    public init(email: String, password: Secret) {
        self.email = email
        self.password = password
    }
}

/// Keeps the session between processes, and counts the logins of all of them.
public protocol SessionStore: Sendable {
    /// The session that is kept; `nil` when there is none.
    func load() throws -> Session?
    /// Keeps the session of a login in place of any other; it is durable when this returns.
    ///
    /// `isAgain` is that of a login in the place of a session that has ended: it throws when somebody
    /// has logged out meanwhile, which such a login must not undo.
    func save(_ session: Session, at now: Instant, isAgain: Bool) throws
    /// Keeps `renewed` in place of `old`; `false` when `old` is not kept any more, and what is kept
    /// instead stays.
    func replace(_ old: Session, with renewed: Session, at now: Instant) throws -> Bool
    /// Forgets a session that the backend has ended; `false` when it is not kept any more.
    func remove(_ session: Session, because reason: String, at now: Instant) throws -> Bool
    /// Forgets the session, if there is one, and who logged in.
    func clear() throws
    /// The right to renew the session, for as long as the object lives; `nil` while another process
    /// has it.
    func lock() throws -> (any AnyObject & Sendable)?
    /// Notes a renewal or login that failed. `isTrouble` counts it to the renewals in a row that met
    /// an error of the backend; what these are by then is returned.
    func noteRefusal(
        _ reason: String, isTrouble: Bool, at now: Instant
    ) throws -> SessionRecord.Trouble?
    /// Asks for a login, which is written down before this returns.
    func reserveLogin(email: String, at now: Instant) throws -> LoginReservation
    /// Strikes out a login that was certainly not sent.
    func withdrawLogin(_ number: Int64) throws
    /// What to log in with again when the session has ended; `nil` when a person has to.
    func credentials() throws -> LoginCredentials?
}
