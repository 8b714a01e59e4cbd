public import ClarityJobs
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

    /// The most bytes of an answer that are looked at: 16 MiB.
    static let largestAnswer = 16 * 1024 * 1024

    let requests: APIRequests
    let transport: any HTTPTransport
    let sessions: any SessionStore
    let clock: any WallClock
    let retryWait: Duration
    var renewal: Task<Result<Session, APIError>, Never>?

    /// Creates a client of the backend at `base`, such as `https://host/api/v1`.
    ///
    /// - Parameter retryWait: the wait after a first failed try, 1 s in standard; it doubles with
    ///   each further one.
    public init(
        base: String, dialect: Dialect, transport: any HTTPTransport, sessions: any SessionStore,
        clock: any WallClock, retryWait: Duration = .seconds(1)
    ) {
        requests = APIRequests(base: base, dialect: dialect)
        self.transport = transport
        self.sessions = sessions
        self.clock = clock
        self.retryWait = retryWait
    }

    /// Asks whose account it is.
    public func me() async throws(APIError) -> UserProfile {
        let session = try await session()
        let response = try await authorized(
            requests.me(token: session.accessToken), by: session)
        let user = try AnswerReader(call: "account").decode(UserWire.self, from: response.body)
        return UserProfile(userID: user.userID, email: user.email)
    }

    /// What an upload by `route` must keep to; without one by the dialect's standard route.
    ///
    /// - Throws: `APIError.notOffered` when the backend has no such route; what finding out the
    ///   dialect failed with.
    public func uploadRules(_ route: UploadRoute? = nil) async throws(APIError) -> UploadRules {
        try requests.uploadRules(route)
    }

    /// Uploads a batch by its route.
    ///
    /// A `POST`, and yet repeated like any call: each metric carries an id that the backend keeps
    /// once, so that a try whose answer was lost leaves nothing that a second one would double.
    ///
    /// - Throws: `APIError.validation` with the indices that the backend named, none when it named
    ///   none; `.requestTooLarge` when the batch should be halved.
    public func upload(_ batch: UploadBatch) async throws(APIError) -> UploadReceipt {
        let count = batch.metrics.count
        let session = try await session()
        let request = try requests.upload(batch, token: session.accessToken)
        do throws(APIError) {
            let response = try await authorized(request, by: session)
            return try AnswerReader(call: "upload").receipt(response.body, count: count)
        } catch .conflict(let named) {
            // A whole upload refused for what it repeats: of one metric it is clear which, of
            // several only what the backend names is known to be there.
            let duplicates = count == 1 ? [0] : named.filter { $0 < count }
            guard !duplicates.isEmpty else { throw .validation(indices: []) }
            return UploadReceipt(
                processingID: nil, accepted: 0, duplicates: duplicates,
                unexplained: count - duplicates.count)
        }
    }

    /// Asks how far the backend is with an upload that went by `route`.
    public func processing(
        _ id: String, route: UploadRoute = .metrics
    ) async throws(APIError) -> ProcessingStatus {
        let session = try await session()
        let response = try await authorized(
            requests.processing(id, token: session.accessToken), by: session)
        return try AnswerReader(call: "processing status").processing(response.body)
    }

    /// Reads a page of the health data that the backend has; the first without a `cursor`.
    public func healthDataPage(
        limit: Int, cursor: String? = nil
    ) async throws(APIError) -> HealthDataPage {
        let session = try await session()
        let request = requests.healthDataPage(
            limit: limit, cursor: cursor, token: session.accessToken)
        let response = try await authorized(request, by: session)
        return try AnswerReader(call: "health data").healthData(response.body, after: cursor)
    }

    /// Reads a page of a person's insights.
    public func insightsPage(
        user: String, limit: Int, offset: Int
    ) async throws(APIError) -> InsightsPage {
        let session = try await session()
        let request = requests.insightsPage(
            user: user, limit: limit, offset: offset, token: session.accessToken)
        let response = try await authorized(request, by: session)
        return try AnswerReader(call: "insights").insights(response.body)
    }
}
