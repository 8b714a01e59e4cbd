@testable import Backend
@testable import BackendContract
import HealthModel
import ClarityScheduler
import ClarityTestSupport

import Synchronization
import Testing

/// A dialect memory without a file.
private final class MemoryOfDialects: DialectMemory {
    private let names: Mutex<[String: String]>
    init(_ names: [String: String] = [:]) { self.names = Mutex(names) }
    var all: [String: String] { names.withLock { $0 } }
    func dialect(of base: String) -> String? { names.withLock { $0[base] } }
    func remember(_ dialect: String, of base: String) { names.withLock { $0[base] = dialect } }
}

struct DialectChoiceTests {
    private static let loop = FakeTransport.Answer.status(
        200, #"{"status":"healthy","service":"authentication","version":"1.0.0"}"#)
    private static let page = FakeTransport.Answer.status(
        200, #"{"data":[],"pagination":{"has_next":false}}"#)

    private func client(
        _ transport: FakeTransport, _ memory: MemoryOfDialects, session: Session? = testSession(),
        clock: ManualClock = ManualClock(morning)
    ) -> APIClient {
        APIClient(
            base: "\(testBase)/", dialect: .auto, memory: memory, transport: transport,
            sessions: MemorySessions(session), clock: clock)
    }

    @Test(arguments: [
        (loop, "loop", UploadRoute.samples),
        (FakeTransport.Answer.status(404, #"{"detail":"Not Found"}"#), "blueprint", .metrics),
    ])
    func `a backend shows its dialect once, without a token`(
        answer: FakeTransport.Answer, name: String, route: UploadRoute
    ) async throws {
        let (transport, memory) = (FakeTransport(answer), MemoryOfDialects())
        let client = client(transport, memory)

        let rules = try await [client.endpoint(), client.endpoint()]

        #expect(rules.map(\.route) == [route, route])
        #expect(transport.calls == ["GET /auth/health"])
        #expect(transport.bearers == [nil])
        #expect(memory.all == [testBase: name])
    }

    @Test func `a remembered dialect is not asked for`() async throws {
        let (transport, memory) = (
            FakeTransport(DialectChoiceTests.page), MemoryOfDialects([testBase: "loop"])
        )

        _ = try await client(transport, memory).healthDataPage(limit: 5)

        #expect(transport.calls == ["GET /health-data?limit=5&offset=0"])
    }

    @Test func `a remembered name that nobody speaks any more is asked for`() async throws {
        let (transport, memory) = (
            FakeTransport(DialectChoiceTests.loop), MemoryOfDialects([testBase: "v9"])
        )

        _ = try await client(transport, memory).endpoint()

        #expect(memory.all == [testBase: "loop"])
    }

    @Test(arguments: [
        (
            FakeTransport.Answer.failure(.couldNotConnect),
            APIError.unreachable(.couldNotConnect, host: "backend.example"), 4
        ),
        (
            .status(503, headers: ["retry-after": "60"]), .server(status: 503, after: .seconds(60)),
            1
        ),
        (.status(500), .server(status: 500, after: nil), 3),
        (.status(429), .rateLimited(after: nil), 1),
        (.status(200, "<html>It works!</html>"), .dialectUnknown, 1),
        (.status(200, #"{"status":"healthy","service":"something"}"#), .dialectUnknown, 1),
        (.status(403), .dialectUnknown, 1), (.status(301), .dialectUnknown, 1),
    ])
    func `what is no dialect's answer is remembered as none`(
        answer: FakeTransport.Answer, error: APIError, tries: Int
    ) async {
        let (transport, memory) = (FakeTransport(answer), MemoryOfDialects())
        let client = client(transport, memory)

        let met = await failure { () throws(APIError) in try await client.endpoint() }

        #expect(met == error)
        #expect(transport.requests.count == tries)
        #expect(memory.all.isEmpty)
    }

    @Test func `a login asks anew`() async throws {
        let transport = FakeTransport(
            DialectChoiceTests.loop, .status(200, newTokens),
            .status(200, #"{"user_id":"user-1","email":null}"#))
        let memory = MemoryOfDialects([testBase: "blueprint"])

        let session = try await client(transport, memory, session: nil).login(
            email: "ada@example.com", password: Secret("pw"))

        #expect(session == testSession("new"))
        #expect(transport.calls == ["GET /auth/health", "POST /auth/login", "GET /auth/me"])
        #expect(transport.bearers == [nil, nil, "Bearer new-access"])
        #expect(memory.all == [testBase: "loop"])
    }

    @Test(arguments: [404, 405])
    func `a path that is missing where it must be is a reason to ask anew`(
        status: Int
    ) async throws {
        let transport = FakeTransport(.status(status), DialectChoiceTests.loop)
        let memory = MemoryOfDialects([testBase: "blueprint"])
        let client = client(transport, memory)

        let met = await failure { () throws(APIError) in
            try await client.upload(testBatch([testSample(.steps)]))
        }

        #expect(met == .dialectChanged)
        #expect(transport.calls == ["POST /health-data/upload", "GET /auth/health"])
        #expect(memory.all == [testBase: "loop"])
        #expect(try await client.endpoint().route == .samples)
    }

    @Test func `a path that is missing in the dialect that is spoken stays an error`() async {
        let transport = FakeTransport { request, _ in
            request.url.hasSuffix("/auth/health") ? DialectChoiceTests.loop : .status(404)
        }
        let memory = MemoryOfDialects([testBase: "loop"])
        let client = client(transport, memory)

        let mets = [
            await failure { () throws(APIError) in try await client.me() },
            await failure { () throws(APIError) in try await client.me() },
        ]

        #expect(mets == [.noSuchCall(status: 404), .noSuchCall(status: 404)])
        #expect(transport.calls == ["GET /auth/me", "GET /auth/health", "GET /auth/me"])
    }

    @Test func `an unknown id is no reason to ask anew`() async {
        let transport = FakeTransport(.status(404))
        let client = client(transport, MemoryOfDialects([testBase: "loop"]))

        let met = await failure { () throws(APIError) in try await client.insight("i") }

        #expect(met == .notFound)
        #expect(transport.requests.count == 1)
    }

    @Test func `a dialect that the job file names is never asked for`() async {
        let bench = ClientBench(.status(404), dialect: .loop)

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == .noSuchCall(status: 404))
        #expect(bench.transport.calls == ["GET /auth/me"])
    }
}
