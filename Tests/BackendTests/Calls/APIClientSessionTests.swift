@testable import Backend
@testable import BackendContract
import HealthModel
import ClarityScheduler
import ClarityTestSupport

import Synchronization
import Testing

struct APIClientSessionTests {
    private static let profile = #"{"user_id":"user-1","email":"ada@example.com"}"#
    private static let login = """
        {"user":{"user_id":"user-1","email":"ada@example.com","role":"patient"},\
        "tokens":\(newTokens),"mfa_session_token":null}
        """

    /// Returns a backend that accepts the token `new-access`, and answers renewals with
    /// `refreshed`.
    private static func backend(
        refreshed: FakeTransport.Answer = .status(200, newTokens)
    ) -> FakeTransport {
        FakeTransport { request, _ in
            if request.url.hasSuffix("/auth/refresh") { return refreshed }
            return request.headers.first?.text == "Bearer new-access"
                ? .status(200, profile) : .status(401, #"{"error":"invalid_token"}"#)
        }
    }

    @Test func `a login keeps its session`() async throws {
        let bench = ClientBench(.status(200, APIClientSessionTests.login), session: nil)

        let session = try await bench.client.login(
            email: "ada@example.com", password: Secret("pw"))

        #expect(session == testSession("new"))
        #expect(bench.sessions.kept == session)
        #expect(bench.transport.calls == ["POST /auth/login"])
        #expect(bench.transport.bearers == [nil])
    }

    @Test func `wrong credentials are sent once and keep nothing`() async {
        let bench = ClientBench(
            .status(401, #"{"error":{"code":"invalid_credentials"}}"#), session: nil)

        let met = await failure { () throws(APIError) in
            try await bench.client.login(email: "ada@example.com", password: Secret("pw"))
        }

        #expect(met == .unauthorized)
        #expect(bench.transport.requests.count == 1)
        #expect(bench.sessions.kept == nil)
    }

    @Test(arguments: [
        (#"{"mfa_session_token":"m","user":{"user_id":"u"}}"#, APIError.secondFactorRequired),
        (#"{"user":{"user_id":"u"}}"#, .decoding("login: `tokens` is missing")),
        (#"{"tokens":\#(newTokens)}"#, .decoding("login: it does not say who logged in")),
        (
            #"{"user":{"user_id":"u"},"tokens":{"access_token":"secret","expires_in":1}}"#,
            .decoding("login: `tokens.refresh_token` is missing")
        ),
        (
            #"{"user":{"user_id":"u"},"tokens":{"refresh_token":"secret","expires_in":1}}"#,
            .decoding("login: `tokens.access_token` is missing")
        ),
        (
            #"{"user":{"user_id":"u"},"tokens":{"access_token":7,"expires_in":1}}"#,
            .decoding("login: `tokens.access_token` has another type")
        ),
        ("<html>secret</html>", .decoding("login: it is no valid JSON")),
    ])
    func `a login answer without a session is refused by its faulty part`(
        body: String, error: APIError
    ) async {
        let bench = ClientBench(.status(200, body), session: nil)

        let met = await failure { () throws(APIError) in
            try await bench.client.login(email: "ada@example.com", password: Secret("pw"))
        }

        #expect(met == error)
        #expect(bench.sessions.kept == nil)
    }

    @Test func `without a session nothing is sent`() async {
        let bench = ClientBench(.status(200), session: nil)

        let met = await failure { () throws(APIError) in try await bench.client.session() }
        let call = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == .notLoggedIn)
        #expect(call == .notLoggedIn)
        #expect(bench.transport.requests.isEmpty)
    }

    @Test func `a session with more than a minute left is used as it is`() async throws {
        let bench = ClientBench(
            .status(200, newTokens), session: testSession(life: .milliseconds(60_001)))

        let session = try await bench.client.session()

        #expect(session == testSession(life: .milliseconds(60_001)))
        #expect(bench.transport.requests.isEmpty)
    }

    @Test(arguments: [Duration.seconds(60), .seconds(1), .seconds(-3600)])
    func `a session near or past its end is renewed before the call`(life: Duration) async throws {
        let bench = ClientBench(
            APIClientSessionTests.backend(), session: testSession(life: life))

        _ = try await bench.client.me()

        #expect(bench.transport.calls == ["POST /auth/refresh", "GET /auth/me"])
        #expect(bench.transport.bearers == [nil, "Bearer new-access"])
        #expect(bench.sessions.kept == testSession("new"))
    }

    @Test func `a renewal that fails in a token's last minute is not tried at each call`()
        async throws
    {
        let bench = ClientBench(
            FakeTransport { request, _ in
                request.url.hasSuffix("/auth/refresh")
                    ? .status(500, #"{"detail":{"type":"refresh_error"}}"#)
                    : .status(200, APIClientSessionTests.profile)
            }, dialect: .loop, session: testSession(life: .seconds(50)))

        for _ in 0..<3 { _ = try await bench.client.me() }
        bench.clock.advance(by: .seconds(50))
        let met = await failure { () throws(APIError) in try await bench.client.me() }

        let me = "GET /auth/me"
        #expect(bench.transport.calls == ["POST /auth/refresh", me, me, me, "POST /auth/refresh"])
        #expect(met == .renewalUnclear)
    }

    @Test func `a refused token is renewed once and the call repeated`() async throws {
        let bench = ClientBench(APIClientSessionTests.backend())

        let profile = try await bench.client.me()

        #expect(profile == UserProfile(userID: "user-1", email: "ada@example.com"))
        #expect(
            bench.transport.calls == ["GET /auth/me", "POST /auth/refresh", "GET /auth/me"])
        #expect(bench.transport.bearers == ["Bearer old-access", nil, "Bearer new-access"])
        #expect(bench.sessions.kept == testSession("new"))
        #expect(bench.clock.sleeps.isEmpty)
    }

    @Test func `a token that is refused after its renewal ends the call`() async {
        let bench = ClientBench(
            FakeTransport { request, _ in
                request.url.hasSuffix("/auth/refresh") ? .status(200, newTokens) : .status(401)
            })

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == .sessionEnded)
        #expect(
            bench.transport.calls == ["GET /auth/me", "POST /auth/refresh", "GET /auth/me"])
        #expect(bench.sessions.kept == testSession("new"))
    }

    @Test(arguments: [400, 401, 403, 422])
    func `a refused renewal ends the session and forgets it`(status: Int) async {
        let bench = ClientBench(APIClientSessionTests.backend(refreshed: .status(status)))

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == .sessionEnded)
        #expect(bench.transport.calls == ["GET /auth/me", "POST /auth/refresh"])
        #expect(bench.sessions.kept == nil)
    }

    @Test(arguments: [
        (FakeTransport.Answer.status(500), APIError.server(status: 500, after: nil)),
        (.failure(.reset), .interrupted), (.status(404), .noSuchCall(status: 404)),
        (.status(429), .rateLimited(after: nil)),
        (.status(200, "{}"), .decoding("session renewal: `access_token` is missing")),
    ])
    func `a renewal that fails otherwise keeps the session`(
        answer: FakeTransport.Answer, error: APIError
    ) async {
        let bench = ClientBench(APIClientSessionTests.backend(refreshed: answer))

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == error)
        #expect(bench.sessions.kept == testSession())
    }

    @Test func `a renewal may be nested and may lack a refresh token`() async throws {
        let answer = #"{"tokens":{"access_token":"new-access","expires_in":3600.0}}"#
        let bench = ClientBench(
            APIClientSessionTests.backend(refreshed: .status(200, answer)),
            session: testSession(life: .zero))

        let session = try await bench.client.session()

        #expect(session.accessToken == Secret("new-access"))
        #expect(session.refreshToken == Secret("old-refresh"))
        #expect(session.expiresAt == morning + .seconds(3600))
    }

    @Test func `a session that another process renewed is taken over`() async throws {
        let sessions = MemorySessions(testSession())
        let transport = FakeTransport { request, _ in
            if request.headers.first?.text == "Bearer new-access" {
                return .status(200, APIClientSessionTests.profile)
            }
            sessions.letAnother(keep: testSession("new"))
            return .status(401)
        }
        let client = APIClient(
            base: testBase, dialect: .blueprint, transport: transport, sessions: sessions,
            clock: ManualClock(morning))

        _ = try await client.me()

        #expect(transport.calls == ["GET /auth/me", "GET /auth/me"])
        #expect(transport.bearers == ["Bearer old-access", "Bearer new-access"])
    }

    @Test func `a renewal waits for that of another process and takes what it brought`()
        async throws
    {
        let bench = ClientBench(
            .status(200, APIClientSessionTests.profile), session: testSession(life: .zero))
        bench.sessions.letAnother(renewTo: testSession("new"), refusals: 3)

        _ = try await bench.client.me()

        #expect(bench.transport.calls == ["GET /auth/me"])
        #expect(bench.transport.bearers == ["Bearer new-access"])
        #expect(bench.clock.sleeps == Array(repeating: .milliseconds(20), count: 3))
    }

    @Test func `a process that hangs in a renewal is not waited for for ever`() async throws {
        let bench = ClientBench(session: testSession(life: .zero))
        bench.sessions.letAnother(renewTo: testSession("new"), refusals: 1_000_000)

        await #expect(
            throws: APIError.store(
                Failure(
                    .unreachable,
                    "another process has been renewing the session for 5m and may hang"))
        ) {
            _ = try await bench.client.me()
        }
        #expect(bench.transport.calls == [])
        #expect(bench.clock.sleeps.count == 15_000)
    }

    @Test func `a renewal that another process won is no end of the session`() async throws {
        let sessions = MemorySessions(testSession(life: .zero))
        let transport = FakeTransport { request, _ in
            guard request.url.hasSuffix("/auth/refresh") else {
                return .status(200, APIClientSessionTests.profile)
            }
            sessions.letAnother(keep: testSession("new"))
            return .status(401)
        }
        let client = APIClient(
            base: testBase, dialect: .blueprint, transport: transport, sessions: sessions,
            clock: ManualClock(morning))

        _ = try await client.me()

        #expect(transport.bearers == [nil, "Bearer new-access"])
        #expect(sessions.kept == testSession("new"))
    }

    @Test func `calls at the same time share one renewal`() async throws {
        let (refusals, allRefused) = AsyncStream.makeStream(of: Void.self)
        let refused = Atomic(0)
        let bench = ClientBench(
            FakeTransport { request, _ in
                if request.url.hasSuffix("/auth/refresh") {
                    // Answers only after every call was refused with the old token.
                    for await _ in refusals {}
                    return .status(200, newTokens)
                }
                if request.headers.first?.text == "Bearer new-access" {
                    return .status(200, APIClientSessionTests.profile)
                }
                if refused.add(1, ordering: .relaxed).newValue == 10 { allRefused.finish() }
                return .status(401)
            })

        let users = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await bench.client.me().userID } }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        #expect(users == Array(repeating: "user-1", count: 10))
        #expect(bench.transport.calls.count { $0 == "POST /auth/refresh" } == 1)
        #expect(bench.transport.calls.count == 21)
    }

    @Test func `a logout tells the backend and forgets the session`() async throws {
        let bench = ClientBench(.status(200))

        try await bench.client.logout()

        #expect(bench.transport.calls == ["POST /auth/logout"])
        #expect(bench.transport.bearers == ["Bearer old-access"])
        #expect(bench.sessions.kept == nil)
    }

    @Test func `a logout with an access token that has ended renews it to be heard`() async throws {
        let bench = ClientBench(
            .status(200, newTokens), .status(200), session: testSession(life: .seconds(-1)))

        try await bench.client.logout()

        #expect(bench.transport.calls == ["POST /auth/refresh", "POST /auth/logout"])
        #expect(bench.transport.bodies.last == #"{"refresh_token":"new-refresh"}"#)
        #expect(bench.sessions.kept == nil)
    }

    @Test func `a logout that the backend refuses is said again with a renewed session`()
        async throws
    {
        let bench = ClientBench(.status(401), .status(200, newTokens), .status(200))

        try await bench.client.logout()

        #expect(
            bench.transport.calls == [
                "POST /auth/logout", "POST /auth/refresh", "POST /auth/logout",
            ])
        #expect(bench.transport.bodies.last == #"{"refresh_token":"new-refresh"}"#)
        #expect(bench.sessions.kept == nil)
    }

    @Test func `a logout from a session that the backend has ended is done`() async throws {
        let bench = ClientBench(.status(401))

        try await bench.client.logout()

        #expect(bench.transport.calls == ["POST /auth/logout", "POST /auth/refresh"])
        #expect(bench.sessions.kept == nil)
    }

    @Test func `a logout that the backend does not hear forgets the session all the same`() async {
        let bench = ClientBench(.failure(.tls))

        let met = await failure { () throws(APIError) in try await bench.client.logout() }

        #expect(met == .tls)
        #expect(bench.sessions.kept == nil)
    }

    @Test func `a failure of the session store is reported with its reason`() async {
        struct Torn: Error {}
        let faults: [(any Error, APIError)] = [
            (
                Failure(.configuration, "the key is missing"),
                .store(Failure(.configuration, "the key is missing"))
            ),
            (Torn(), .store(Failure(.disk, "cannot read the session: error of type `Torn`"))),
        ]

        for (fault, error) in faults {
            let transport = FakeTransport(.status(200))
            let client = APIClient(
                base: testBase, dialect: .blueprint, transport: transport,
                sessions: MemorySessions(failure: fault), clock: ManualClock(morning))
            let met = await failure { () throws(APIError) in try await client.session() }
            #expect(met == error)
        }
    }

    @Test(arguments: [("1e300", 365 * 86_400), ("-5", 0), ("90.5", 90)])
    func `an impossible token lifetime becomes 0 s to 365 days`(life: String, seconds: Int)
        async throws
    {
        let tokens = #"{"access_token":"a","refresh_token":"r","expires_in":\#(life)}"#
        let bench = ClientBench(
            .status(200, #"{"user":{"user_id":"u"},"tokens":\#(tokens)}"#), session: nil)

        let session = try await bench.client.login(email: "e", password: Secret("p"))

        #expect(
            session.expiresAt.secondsSince1970 == (morning + .seconds(seconds)).secondsSince1970)
    }
}
