import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Backend
@testable import BackendContract

/// Tests client and transport together, over real sockets.
struct APIClientLoopbackTests {
    @Test func `an upload outlives a broken answer, a lost connection and an old token`()
        async throws
    {
        let server = try ScriptedServer([
            .truncated(#"{"processing_id""#, announced: 300), .reset, .answer(401),
            .answer(200, newTokens), .answer(201, receiptBody(accepted: 1)),
        ])
        let clock = ManualClock(morning)
        let sessions = MemorySessions(testSession())
        let client = APIClient(
            base: server.url, dialect: .blueprint, transport: try CurlTransport(version: "1"),
            sessions: sessions,
            clock: clock)

        let receipt = try await client.upload(testBatch([testSample(.heartRate)]))

        #expect(receipt == UploadReceipt(processingID: "p-1", accepted: 1))
        let uploads = server.requests.filter { $0.target == "/health-data/upload" }
        #expect(uploads.count == 4)
        #expect(Set(uploads.map(\.body)).count == 1)
        #expect(clock.sleeps == [.seconds(1), .seconds(2)])
    }

    @Test func `a token goes nowhere that an answer points to`() async throws {
        let other = try ScriptedServer([.answer()])
        let server = try ScriptedServer([.answer(302, headers: ["Location: \(other.url)/auth/me"])])
        let client = APIClient(
            base: server.url, dialect: .blueprint, transport: try CurlTransport(version: "1"),
            sessions: MemorySessions(testSession()), clock: ManualClock(morning))

        let met = await failure { () throws(APIError) in try await client.me() }

        #expect(met == .redirected(status: 302))
        #expect(server.requests.count == 1)
        #expect(other.connections == 0)
    }
}
