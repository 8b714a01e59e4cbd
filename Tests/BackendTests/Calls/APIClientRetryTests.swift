import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Backend
@testable import BackendContract

struct APIClientRetryTests {
    private static let profile = FakeTransport.Answer.status(200, #"{"user_id":"user-1"}"#)

    @Test(arguments: [
        (TransportError.offline, APIError.unreachable(.offline, host: "backend.example")),
        (.nameNotResolved, .unreachable(.nameNotResolved, host: "backend.example")),
        (.couldNotConnect, .unreachable(.couldNotConnect, host: "backend.example")),
        (.timeout, .timeout), (.reset, .interrupted),
        (.truncated, .interrupted),
    ])
    func `a network error is tried four times`(fault: TransportError, error: APIError) async {
        let bench = ClientBench(.failure(fault))

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == error)
        #expect(bench.transport.requests.count == 4)
        #expect(bench.clock.sleeps == [.seconds(1), .seconds(2), .seconds(4)])
    }

    @Test(arguments: [500, 502, 503, 504])
    func `a fault of the server is tried three times`(status: Int) async {
        let bench = ClientBench(.status(status))

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == .server(status: status, after: nil))
        #expect(bench.transport.requests.count == 3)
        #expect(bench.clock.sleeps == [.seconds(1), .seconds(2)])
    }

    @Test(arguments: [400, 403, 404, 405, 408, 410, 413, 422, 429, 301])
    func `any other refusal is not tried again`(status: Int) async {
        let bench = ClientBench(.status(status))

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met != nil)
        #expect(bench.transport.requests.count == 1)
        #expect(bench.clock.sleeps.isEmpty)
    }

    @Test(arguments: [TransportError.tls, .malformed, .tooLarge(limit: 1), .refused("why")])
    func `a fault that stays is not tried again`(fault: TransportError) async {
        let bench = ClientBench(.failure(fault))

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == APIError(fault, host: "backend.example"))
        #expect(bench.transport.requests.count == 1)
    }

    @Test func `a request is not sent again after a logout`() async {
        let sessions = MemorySessions(testSession())
        let transport = FakeTransport { _, _ in
            sessions.letAnother(keep: nil)
            return .status(503)
        }
        let bench = ClientBench(transport, sessions: sessions)

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == .server(status: 503, after: nil))
        #expect(bench.transport.requests.count == 1)
    }

    @Test func `the last try may succeed`() async throws {
        let bench = ClientBench(
            .failure(.reset), .failure(.timeout), .failure(.truncated), APIClientRetryTests.profile)

        let profile = try await bench.client.me()

        #expect(profile == UserProfile(userID: "user-1", email: nil))
        #expect(bench.transport.requests.count == 4)
    }

    @Test func `tries count together, whatever went wrong`() async {
        let bench = ClientBench(.failure(.reset), .status(500), .status(502))

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == .server(status: 502, after: nil))
        #expect(bench.clock.sleeps == [.seconds(1), .seconds(2)])
    }

    @Test(arguments: [429, 503])
    func `a short wait that the server asks for is kept within the call`(status: Int) async throws {
        let bench = ClientBench(
            .status(status, headers: ["retry-after": "10"]),
            .status(status, headers: ["retry-after": "2"]), APIClientRetryTests.profile)

        _ = try await bench.client.me()

        #expect(bench.clock.sleeps == [.seconds(10), .seconds(2)])
    }

    @Test(arguments: [
        (429, APIError.rateLimited(after: .seconds(11))),
        (503, .server(status: 503, after: .seconds(11))),
    ])
    func `a long wait is handed to the run`(status: Int, error: APIError) async {
        let bench = ClientBench(.status(status, headers: ["retry-after": "11"]))

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == error)
        #expect(bench.transport.requests.count == 1)
        #expect(bench.clock.sleeps.isEmpty)
    }

    @Test func `the unit of the waits can be set`() async {
        let bench = ClientBench(
            FakeTransport(.failure(.reset)), retryWait: .milliseconds(10))

        _ = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(
            bench.clock.sleeps == [.milliseconds(10), .milliseconds(20), .milliseconds(40)])
    }

    @Test func `a call that is cancelled is not tried again`() async {
        let bench = ClientBench(
            FakeTransport { _, _ in
                withUnsafeCurrentTask { $0?.cancel() }
                return .failure(.reset)
            })

        let met = await Task {
            await failure { () throws(APIError) in try await bench.client.me() }
        }.value

        #expect(met == .cancelled)
        #expect(bench.transport.requests.count == 1)
        #expect(bench.clock.sleeps.isEmpty)
    }

    @Test func `a repeated upload sends the same bytes`() async throws {
        let bench = ClientBench(
            .failure(.truncated), .status(500), .status(201, receiptBody(accepted: 1)))

        let receipt = try await bench.client.upload(testBatch([testSample(.steps)]))

        #expect(receipt == UploadReceipt(processingID: "p-1", accepted: 1))
        #expect(bench.transport.requests.count == 3)
        #expect(Set(bench.transport.requests).count == 1)
    }

    @Test func `an answer beyond the limit is not read`() async {
        let bench = ClientBench(
            .success(
                HTTPResponse(
                    status: 200, body: Array(repeating: 0x20, count: 16 * 1024 * 1024 + 1))))

        let met = await failure { () throws(APIError) in try await bench.client.me() }

        #expect(met == .tooLarge)
    }

    @Test(arguments: UploadRoute.allCases)
    func `an upload that an outage may have stored is not sent again within the call`(
        route: UploadRoute
    ) async {
        let outage = #"{"detail":"Failed to reach the store"}"#
        let bench = ClientBench(.status(400, outage), dialect: .loop)
        var batch = testBatch([testSample(.heartRate, .single(60))])
        batch.route = route

        let error = await failure { () throws(APIError) in try await bench.client.upload(batch) }

        #expect(error == .unavailable(status: 400))
        #expect(bench.transport.requests.count == 1)
    }
}
