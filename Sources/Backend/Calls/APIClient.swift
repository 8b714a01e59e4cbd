public import BackendContract
import HealthModel
public import ClarityScheduler

/// A client of one backend, for the user who is logged in.
///
/// Within a call, the client retries errors as `APIError.classification` says. It retries once more
/// after it has renewed the session because the backend refused the access token.
/// `APIError.outcome` says what an error means for the run.
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

extension APIClient {
    /// The request builder for the dialect in use.
    ///
    /// With `auto`, asks the backend for its dialect if neither this client nor `memory` knows it.
    ///
    /// - Throws: the error that detection failed with. An outage says nothing about the dialect.
    var requests: APIRequests {
        get async throws(APIError) {
            APIRequests(base: base, dialect: try await dialect())
        }
    }

    /// Asks the backend for its dialect, whatever is known of it, and remembers nothing.
    public func greet() async throws(APIError) -> String {
        let greeting = try APIRequests(base: base, dialect: .blueprint).greeting
        return try Dialect.shown(by: try await answered(greeting)).name
    }

    private func dialect() async throws(APIError) -> Dialect {
        if case .fixed(let dialect) = choice { return dialect }
        if let detected { return detected }
        if let name = try remembered(), let dialect = Dialect.named(name) {
            detected = dialect
            return dialect
        }
        return try await detectDialect()
    }

    /// Asks the backend which dialect it speaks, whatever is remembered, and remembers the answer.
    ///
    /// Sends nothing if the job file names the dialect.
    @discardableResult
    func detectDialect() async throws(APIError) -> Dialect {
        if case .fixed(let dialect) = choice { return dialect }
        let greeting = try APIRequests(base: base, dialect: .blueprint).greeting
        let dialect = try Dialect.shown(by: try await answered(greeting))
        detected = dialect
        try remember(dialect.name)
        return dialect
    }

    /// Returns the answer to a greeting. A refusal is an answer too: a missing path identifies a
    /// dialect.
    private func answered(_ greeting: HTTPRequest) async throws(APIError) -> HTTPResponse {
        try await repeated(greeting, isRepeatable: true) { response, now in
            switch response.status {
            case 429, 500...: APIError(response, now: now)
            default: nil
            }
        }
    }

    /// Returns `dialectChanged` if the backend turns out to speak another dialect now, else
    /// `error`.
    ///
    /// Asks the backend only for `noSuchCall`, which says that a path is missing that the dialect
    /// must have, and at most once in the client's life.
    func explained(_ error: APIError) async -> APIError {
        guard case .noSuchCall = error, choice == .auto, let before = detected, !hasDetectedAgain
        else {
            return error
        }
        hasDetectedAgain = true
        do throws(APIError) {
            return try await detectDialect() == before ? error : .dialectChanged
        } catch {
            return error
        }
    }

    private func remembered() throws(APIError) -> String? {
        try store("read", of: "dialect") { try memory.dialect(of: base) }
    }

    private func remember(_ name: String) throws(APIError) {
        try store("keep", of: "dialect") { try memory.remember(name, of: base) }
    }
}

extension Dialect {
    /// Returns the dialect that an answer at `greetingPath` identifies.
    ///
    /// - Throws: `APIError.dialectUnknown` for an answer that fits no dialect. Outages and rate
    ///   limits do not get here: the caller has already turned them into errors.
    static func shown(by response: HTTPResponse) throws(APIError) -> Dialect {
        let greeting: Greeting? =
            switch response.status {
            case 200..<300: service(in: response.body).map { .service($0) }
            case 404: .nothing
            default: nil
            }
        guard let dialect = all.first(where: { $0.greeting == greeting }) else {
            throw .dialectUnknown
        }
        return dialect
    }

    /// Returns the name that a service gives itself in a greeting; `nil` if it gives none.
    private static func service(in body: [UInt8]) -> String? {
        do throws(APIError) {
            return try AnswerReader(.greeting).read(body, ServiceHealth.init).service
        } catch {
            return nil
        }
    }
}
