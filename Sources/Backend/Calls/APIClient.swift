import HealthModel
public import ClarityScheduler

/// A client of one backend, for the user who is logged in.
///
/// Within a call, the client retries errors as `APIError.ruling` says. It retries once more after
/// it has renewed the session because the backend refused the access token. `APIError.outcome` says
/// what an error means for the run.
public actor APIClient {
    /// How long before its expiry a session is renewed: 60 s.
    public static var renewalMargin: Duration { .seconds(60) }

    /// The wait between two attempts to lock the session for renewal: 20 ms.
    static let lockWait = Duration.milliseconds(20)

    /// How long the client tries to lock the session for renewal: 5 min. A renewal with all its
    /// tries takes less, so a process that holds the lock for longer hangs.
    static let lockPatience = Duration.seconds(300)

    /// The largest answer body that the client accepts: 16 MiB.
    static let largestAnswer = 16 * 1024 * 1024

    let base: String
    let choice: DialectChoice
    let memory: any DialectMemory
    /// The dialect in use, once it is known from `memory` or from the backend.
    var detected: Dialect?
    /// Whether the client has detected the dialect again because a path was missing.
    var hasDetectedAgain = false
    let transport: any HTTPTransport
    let sessions: any SessionStore
    let clock: any WallClock
    let retryWait: Duration
    var renewal: Task<Result<Session, APIError>, Never>?
    /// The access token whose renewal failed while it was still valid: it is used to its end.
    var unrenewed: Secret?

    /// Creates a client of the backend at `base`, such as `https://host/api/v1`.
    ///
    /// - Parameters:
    ///   - dialect: with `auto`, the client asks the backend before the first call that depends on
    ///     the dialect, and stores the answer in `memory`.
    ///   - retryWait: the wait after the first failed try, 1 s by default; it doubles with each
    ///     further one.
    public init(
        base: String, dialect: DialectChoice, memory: any DialectMemory,
        transport: any HTTPTransport, sessions: any SessionStore, clock: any WallClock,
        retryWait: Duration = .seconds(1)
    ) {
        self.base = base.withoutSlashAtEnd
        choice = dialect
        self.memory = memory
        self.transport = transport
        self.sessions = sessions
        self.clock = clock
        self.retryWait = retryWait
    }

    /// Creates a client that speaks one dialect.
    public init(
        base: String, dialect: Dialect, transport: any HTTPTransport, sessions: any SessionStore,
        clock: any WallClock, retryWait: Duration = .seconds(1)
    ) {
        self.init(
            base: base, dialect: .fixed(dialect), memory: NoDialectMemory(), transport: transport,
            sessions: sessions, clock: clock, retryWait: retryWait)
    }
}
