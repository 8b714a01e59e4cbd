import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Backend
@testable import BackendContract

struct APIClientLoginTests {
    /// A token whose payload is `{"sub":"user-7"}`.
    private static let token = "e30.eyJzdWIiOiJ1c2VyLTcifQ.c2ln"
    private static let flat = """
        {"access_token":"\(token)","refresh_token":"r","token_type":"bearer","expires_in":3600}
        """

    private static let person = LoginCredentials(
        email: "ada@example.com", password: Secret("PASSWORD"))

    private func login(_ bench: ClientBench) async -> (session: Session?, error: APIError?) {
        do throws(APIError) {
            let session = try await bench.client.login(
                email: "ada@example.com", password: Secret("PASSWORD"))
            return (session, nil)
        } catch {
            return (nil, error)
        }
    }

    private func answer(user: String = "") -> FakeTransport.Answer {
        .status(200, #"{\#(user)"tokens":\#(APIClientLoginTests.flat)}"#)
    }

    // MARK: how often

    @Test func `a login that has to wait sends nothing and says until when`() async {
        let until = morning + .seconds(300)
        let bench = ClientBench(
            FakeTransport(.status(200)), sessions: MemorySessions(refusal: (0, until)))

        let met = await login(bench)

        #expect(met.error == .loginsUsedUp(until: until))
        #expect(bench.transport.requests.isEmpty)
        #expect(
            met.error?.classification.sentence
                == "a login was tried twice within 15 minutes; the next may be tried at "
                + "2026-11-20T06:05:00Z")
    }

    @Test func `a login is written down before it is sent`() async {
        let sessions = MemorySessions()
        let seen = LoginsSeen()
        let bench = ClientBench(
            FakeTransport { _, _ in
                await seen.add(sessions.notes.logins)
                return .status(401)
            }, sessions: sessions)

        _ = await login(bench)

        #expect(await seen.all == [["ada@example.com"]])
    }

    @Test(
        arguments: [
            (FakeTransport.Answer.status(401), APIError.unauthorized, 1),
            (.status(500), .server(status: 500, after: nil), 0),
            (.status(503), .server(status: 503, after: nil), 0),
            (.status(504), .server(status: 504, after: nil), 1),
            (.status(429), .rateLimited(after: nil), 0), (.status(404), nil, 0),
            (.status(403), .forbidden, 0), (.failure(.reset), .interrupted, 1),
            (.failure(.timeout), .timeout, 1), (.status(200, "no"), nil, 1),
            (.failure(.offline), .unreachable(.offline, host: "backend.example"), 0),
            (.failure(.couldNotConnect), nil, 0),
            (.failure(.tlsVersion), nil, 0), (.failure(.pinMismatch), nil, 0),
            (.failure(.connectTimeout), nil, 0),
        ] as [(FakeTransport.Answer, APIError?, Int)])
    func `a login is sent once and counts if the backend may count it`(
        answer: FakeTransport.Answer, error: APIError?, count: Int
    ) async {
        let bench = ClientBench(answer, session: nil)

        let met = await login(bench)

        #expect(met.error != nil && (error == nil || met.error == error))
        #expect(bench.transport.requests.count == 1)
        #expect(bench.sessions.notes.logins.count == count)
        #expect(bench.clock.sleeps.isEmpty)
    }

    // MARK: who it is

    @Test func `the user is the one whom the answer names`() async {
        let bench = ClientBench(
            answer(user: #""user":{"user_id":"user-1","email":"a@example.com"},"#), session: nil)

        let met = await login(bench)

        #expect(met.session?.userID == "user-1" && met.session?.email == "a@example.com")
        #expect(bench.transport.calls == ["POST /auth/login"])
    }

    @Test func `a user whom the answer does not name is asked for`() async {
        let bench = ClientBench(
            answer(), .status(200, #"{"user_id":"user-2","email":null}"#), session: nil)

        let met = await login(bench)

        #expect(met.session?.userID == "user-2" && met.session?.email == "ada@example.com")
        #expect(bench.transport.calls == ["POST /auth/login", "GET /auth/me"])
        #expect(bench.transport.bearers.last == "Bearer \(APIClientLoginTests.token)")
        #expect(bench.sessions.kept == met.session)
    }

    @Test(arguments: [
        FakeTransport.Answer.status(404), .status(401), .status(500), .failure(.offline),
        .status(200, #"{"user_id":""}"#), .status(200, "no"),
    ])
    func `if no answer names the user, the token does`(me: FakeTransport.Answer) async {
        let bench = ClientBench(answer(), me, session: nil)

        let met = await login(bench)

        #expect(met.session?.userID == "user-7" && met.session?.email == "ada@example.com")
    }

    @Test func `a login that names no user is refused`() async {
        let bench = ClientBench(
            .status(
                200,
                #"{"tokens":{"access_token":"opaque","refresh_token":"r","expires_in":1}}"#),
            .status(200, #"{"user_id":""}"#), session: nil)

        let met = await login(bench)

        #expect(met.error == .decoding("login: it does not say who logged in"))
        #expect(bench.sessions.kept == nil)
    }

    // MARK: again, with a credential

    @Test(arguments: [401, 403, 422])
    func `a session that has ended is replaced by one login`(status: Int) async throws {
        let sessions = MemorySessions(
            testSession(life: .zero), login: APIClientLoginTests.person)
        let bench = ClientBench(
            FakeTransport(
                .status(status), answer(user: #""user":{"user_id":"user-1"},"#), .status(200)),
            sessions: sessions)

        let session = try await bench.client.session()

        #expect(session.accessToken == Secret(APIClientLoginTests.token))
        #expect(sessions.kept == session)
        #expect(bench.transport.calls == ["POST /auth/refresh", "POST /auth/login"])
    }

    @Test func `nobody logged in is replaced too, where it is known who it was`() async throws {
        let bench = ClientBench(
            FakeTransport(answer(user: #""user":{"user_id":"user-1"},"#)),
            sessions: MemorySessions(login: APIClientLoginTests.person))

        let session = try await bench.client.session()

        #expect(session.userID == "user-1")
        #expect(bench.transport.calls == ["POST /auth/login"])
    }

    @Test func `a replacement that is refused ends the run and says why`() async {
        let sessions = MemorySessions(
            testSession(life: .zero), login: APIClientLoginTests.person)
        let bench = ClientBench(FakeTransport(.status(401)), sessions: sessions)

        let met = await failure { () throws(APIError) in try await bench.client.session() }

        #expect(met == .unauthorized)
        #expect(bench.transport.calls == ["POST /auth/refresh", "POST /auth/login"])
        #expect(
            sessions.notes.refusals.last
                == "the backend refused the e-mail address or the password")
    }

    @Test func `a replacement keeps to the rule as well`() async {
        let until = morning + .seconds(60)
        let bench = ClientBench(
            FakeTransport(.status(401)),
            sessions: MemorySessions(
                testSession(life: .zero), login: APIClientLoginTests.person, refusal: (0, until)))

        let met = await failure { () throws(APIError) in try await bench.client.session() }

        #expect(met == .loginsUsedUp(until: until))
        #expect(met?.outcome.isFailure(.credential) == true)
        #expect(bench.transport.calls == ["POST /auth/refresh"])
    }

    // MARK: a renewal that stays refused

    private static func bench(
        count: Int, since: Duration, login: LoginCredentials? = nil,
        _ script: FakeTransport.Answer...
    ) -> ClientBench {
        let trouble = SessionRecord.Trouble(since: morning - since, count: count)
        return ClientBench(
            FakeTransport { _, number in script[min(number, script.count - 1)] },
            sessions: MemorySessions(testSession(life: .zero), login: login, trouble: trouble))
    }

    @Test(arguments: [(3, 896, false), (2, 900, false), (3, 897, true)])
    func `a renewal that meets errors for long asks for a login and keeps the session`(
        count: Int, seconds: Int, isLasting: Bool
    ) async {
        let bench = APIClientLoginTests.bench(
            count: count, since: .seconds(seconds), .status(500))

        let met = await failure { () throws(APIError) in try await bench.client.session() }

        // The call's three tries take 3 s.
        #expect(
            met
                == (isLasting
                    ? .renewalRefused(status: 500, since: morning - .seconds(seconds))
                    : .server(status: 500, after: nil)))
        #expect(bench.sessions.kept != nil && bench.sessions.notes.troubles == 1)
        #expect(met?.classification.course == (isLasting ? .endSession : .retry))
    }

    @Test func `a renewal that stays refused is replaced by one login`() async throws {
        let bench = APIClientLoginTests.bench(
            count: 3, since: .seconds(1000), login: APIClientLoginTests.person, .status(500),
            .status(500), .status(500), answer(user: #""user":{"user_id":"user-1"},"#))

        let session = try await bench.client.session()

        #expect(session.accessToken == Secret(APIClientLoginTests.token))
        #expect(bench.transport.calls.last == "POST /auth/login")
        #expect(bench.sessions.notes.logins == ["ada@example.com"])
    }

    @Test func `a login that an outage refuses as well leaves the session and the run waiting`()
        async
    {
        let bench = APIClientLoginTests.bench(
            count: 3, since: .seconds(1000), login: APIClientLoginTests.person, .status(500),
            .status(500), .status(500), .status(401))

        let met = await failure { () throws(APIError) in try await bench.client.session() }

        #expect(met == .renewalRefused(status: 500, since: morning - .seconds(1000)))
        #expect(bench.sessions.kept == testSession(life: .zero))
    }

    // MARK: meanwhile

    @Test(arguments: [nil, testSession("other")])
    func `a renewal does not undo a logout or login that came meanwhile`(
        other: Session?
    ) async {
        let sessions = MemorySessions(testSession(life: .zero))
        let bench = ClientBench(
            FakeTransport { _, _ in
                sessions.letAnother(keep: other)
                return .status(200, newTokens)
            }, sessions: sessions)

        let met = await failure { () throws(APIError) in try await bench.client.session() }

        #expect(met == (other == nil ? .notLoggedIn : nil))
        #expect(sessions.kept == other)
    }

    @Test(arguments: ["", #""refresh_token":"old-refresh","#, #""refresh_token":"","#])
    func `the refresh token stays when none or the same comes`(field: String) async throws {
        let bench = ClientBench(
            .status(200, #"{\#(field)"access_token":"new-access","expires_in":3600}"#),
            session: testSession(life: .zero))

        let session = try await bench.client.session()

        #expect(session.accessToken == Secret("new-access"))
        #expect(session.refreshToken == Secret("old-refresh"))
        #expect(bench.sessions.notes.replacedAt == morning)
    }
}

private actor LoginsSeen {
    private(set) var all: [[String]] = []

    func add(_ logins: [String]) { all.append(logins) }
}

extension Outcome {
    fileprivate func isFailure(_ category: Failure.Category) -> Bool {
        if case .failure(let failure) = self { failure.category == category } else { false }
    }
}
