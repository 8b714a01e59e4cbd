import ClarityJobs
public import ClarityScheduler

/// Talks to one backend, as the person who is logged in.
///
/// A call is repeated within itself as `APIError`'s table says, and once more after the session was
/// renewed because the backend refused its token. What an error means for the run is its `outcome`.
public actor APIClient {
    /// How long before its end a session is renewed: 60 s.
    public static var renewalMargin: Duration { .seconds(60) }

    /// How long to wait before asking again for the right to renew the session: 20 ms.
    static let lockWait = Duration.milliseconds(20)

    /// How long the right to renew the session is asked for: 5 min, longer than a renewal with all its
    /// tries takes. Who has it for longer hangs.
    static let lockPatience = Duration.seconds(300)

    /// The most bytes of an answer that are looked at: 16 MiB.
    static let largestAnswer = 16 * 1024 * 1024

    let base: String
    let choice: DialectChoice
    let memory: any DialectMemory
    /// The dialect that was found out, and whether it was asked for a second time.
    var spoken: Dialect?
    var hasAskedAnew = false
    let transport: any HTTPTransport
    let sessions: any SessionStore
    let clock: any WallClock
    let retryWait: Duration
    /// What the backend said with the last answer to an upload, when that was a refusal.
    var refusalWords: RefusalWords?
    var renewal: Task<Result<Session, APIError>, Never>?

    /// Creates a client of the backend at `base`, such as `https://host/api/v1`.
    ///
    /// - Parameters:
    ///   - dialect: with `auto` the backend is asked, before the first call that needs to know, and
    ///     `memory` keeps its answer.
    ///   - retryWait: the wait after a first failed try, 1 s in standard; it doubles with each
    ///     further one.
    public init(
        base: String, dialect: DialectChoice, memory: any DialectMemory,
        transport: any HTTPTransport, sessions: any SessionStore, clock: any WallClock,
        retryWait: Duration = .seconds(1)
    ) {
        self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
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
