public import Backend
public import BackendContract
public import HealthStore
public import ClarityScheduler
public import HealthModel

extension SectionValues {
    /// The backend of an order that needs one.
    public var neededBackend: BackendOptions {
        get throws(Failure) {
            if let backend = try backend { return backend }
            throw BackendOptions.missing
        }
    }
}

extension BackendOptions {
    static let missing = Failure(.configuration, "`backend.url` is missing")

    /// Returns the backend's dialect, or that it is to be detected.
    public func dialectChoice() throws(Failure) -> DialectChoice {
        guard dialect != "auto" else { return .auto }
        guard let dialect = Dialect.named(dialect) else {
            throw Failure(.configuration, "`backend.dialect` is not a known dialect")
        }
        return .fixed(dialect)
    }

    /// Returns a transport that keeps the limits of the backend, together with all others that have
    /// the same folder, or the same server of their state; `transport` itself if there are no limits.
    ///
    /// - Parameter deadline: the value of `clock.elapsed` until which a request may wait.
    public func limited(
        _ transport: any HTTPTransport, of store: HealthStore, in folder: String,
        clock: any WallClock, deadline: Duration? = nil
    ) -> any HTTPTransport {
        guard requestsPerSecond != nil || connections != nil else { return transport }
        return LimitedTransport(
            transport,
            SharedLimits(requestsPerSecond: requestsPerSecond, connections: connections),
            backend: url, folder: folder, clock: clock, deadline: deadline,
            common: store.serverLimits(of: LimitedTransport.key(of: url)).map { ServerPace($0) })
    }

    /// Returns a client of the backend that keeps its session in a store.
    ///
    /// - Parameter environment: as in `StoredSessions`.
    public func client(
        _ store: HealthStore, _ transport: any HTTPTransport, clock: any WallClock,
        environment: [String: String] = [:]
    ) throws(Failure) -> APIClient {
        let sessions = StoredSessions(store, backend: url, environment: environment)
        return APIClient(
            base: url, dialect: try dialectChoice(), memory: sessions, transport: transport,
            sessions: sessions, clock: clock, retryWait: retryWait)
    }

    /// Returns which servers to trust as the backend.
    ///
    /// - Throws: `TransportError.refused` for pins that are not at least two.
    public func trust() throws(TransportError) -> CurlTransport.Trust {
        try CurlTransport.Trust(authorities: authorities, pinLines: pins)
    }
}

/// Limits that the server of the state keeps.
private struct ServerPace: CommonLimits {
    let limits: ServerLimits

    init(_ limits: ServerLimits) { self.limits = limits }

    func turn(
        every interval: Duration, within patience: Duration
    ) throws(TransportError) -> (wait: Duration, isTaken: Bool) {
        let turn = try described { () throws(HealthStoreError) in
            try limits.turn(every: interval, within: patience)
        }
        return (turn.wait, turn.isTaken)
    }

    func connection(among count: Int) throws(TransportError) -> (any AnyObject & Sendable)? {
        try described { () throws(HealthStoreError) in try limits.connection(among: count) }
    }

    private func described<Result>(
        _ body: () throws(HealthStoreError) -> Result
    ) throws(TransportError) -> Result {
        do throws(HealthStoreError) {
            return try body()
        } catch {
            throw TransportError(ofLimits: error)
        }
    }
}

extension TransportError {
    /// The error for limits that cannot be asked. Rows that somebody keeps locked make a request late,
    /// and fail no run.
    init(ofLimits error: HealthStoreError) {
        self =
            error.isBusy
            ? .limited(after: LimitedTransport.busyWait) : .limitsUnusable(error.failure)
    }
}

/// Keeps the client's session with one backend, and the dialects of backends, in the encrypted store.
public struct StoredSessions: SessionStore, DialectMemory {
    private let store: HealthStore
    private let backend: String
    private let environment: [String: String]

    /// Creates a store for the session with the backend at `backend`.
    ///
    /// - Parameter environment: where to look for the password that replaces an ended session
    ///   (`SessionPassword`); empty if a person has to log in.
    public init(_ store: HealthStore, backend: String, environment: [String: String] = [:]) {
        self.store = store
        self.backend = backend.withoutSlashAtEnd
        self.environment = environment
    }

    /// Returns the stored session; `nil` if there is none.
    ///
    /// - Throws: `Failure` if it is a session with another backend. When the address in a job file
    ///   changes, neither one backend's tokens nor the samples in the outbox may go to another
    ///   backend.
    public func load() throws -> Session? {
        guard let session = try reported({ try store.sessions.load() }) else { return nil }
        guard session.backend == backend else {
            throw Failure(
                .credential,
                "the login is for another backend than `backend.url`; run `clarity-jobs auth login`"
            )
        }
        return session
    }

    public func save(_ session: Session, at now: Instant, isAgain: Bool = false) throws {
        try reported { try store.sessions.save(ours(session), at: now, isAgain: isAgain) }
    }

    public func replace(_ old: Session, with renewed: Session, at now: Instant) throws -> Bool {
        try reported { try store.sessions.replace(old, with: ours(renewed), at: now) }
    }

    public func remove(_ session: Session, because reason: String, at now: Instant) throws -> Bool {
        try reported { try store.sessions.remove(session, because: reason, at: now) }
    }

    public func clear() throws { try reported { try store.sessions.clear() } }

    public func lock() throws -> (any AnyObject & Sendable)? {
        try reported { try store.sessions.lock() }
    }

    public func noteRefusal(
        _ reason: String, isTrouble: Bool, at now: Instant
    ) throws -> SessionRecord.Trouble? {
        try reported { try store.sessions.noteRefusal(reason, isTrouble: isTrouble, at: now) }
    }

    public func reserveLogin(email: String, at now: Instant) throws -> LoginReservation {
        try reported { try store.sessions.reserveLogin(email: email, at: now) }
    }

    public func withdrawLogin(_ number: Int64) throws {
        try reported { try store.sessions.withdrawLogin(number) }
    }

    /// Returns the address of the last login, with the password that the service manager provides.
    /// `nil` if either is missing, after a logout, and if that login was with another backend: a
    /// password goes only to a backend that a person has sent it to before.
    public func credentials() throws -> LoginCredentials? {
        guard !environment.isEmpty, let record = try reported({ try store.sessions.record() }),
            record.backend == backend,
            let password = try reported({ try SessionPassword.load(environment) })
        else { return nil }
        return LoginCredentials(email: record.email, password: password)
    }

    public func dialect(of base: String) throws -> String? {
        try reported { try store.sessions.dialect(of: base) }
    }

    public func remember(_ dialect: String, of base: String) throws {
        try reported { try store.sessions.remember(dialect, of: base) }
    }

    private func ours(_ session: Session) -> Session {
        var session = session
        session.backend = backend
        return session
    }

    /// Turns the store's errors into failures, whose category the client passes on.
    private func reported<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as HealthStoreError {
            throw error.failure
        } catch let error as SessionPasswordError {
            throw Failure(.configuration, error.description)
        }
    }
}
