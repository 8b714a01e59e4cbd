@testable import Backend
@testable import BackendContract
import Database
import HealthStore
import ClarityScheduler
import Testing

@testable import ClarityJobs

@Suite struct BackendCheckTests {
    private func check(_ bench: WorkBench) async throws -> BackendCheck {
        try await BackendCheck(
            BackendOptions(["url": WorkBench.url, "dialect": "blueprint"]), try bench.store(),
            bench.backend, clock: bench.clock)
    }

    @Test func `limits whose rows somebody keeps locked make a request late and fail no run`() {
        func error(_ kind: DatabaseError.Kind) -> TransportError {
            TransportError(
                ofLimits: .database(
                    DatabaseError(kind: kind, message: "m", code: "c"), path: "server"))
        }

        #expect(error(.busy) == .limited(after: LimitedTransport.busyWait))
        if case .limitsUnusable = error(.access) {} else { Issue.record("\(error(.access))") }
    }

    /// A refresh token works once, and the check works on a copy of the store.
    @Test(arguments: [Duration.seconds(1), .seconds(3600)])
    func `no session is renewed, fresh or not, whatever the backend answers`(
        life: Duration
    ) async throws {
        let bench = WorkBench { request in
            request.call == .greeting ? .status(404) : .status(401, #"{"error":"invalid_token"}"#)
        }
        try bench.logIn(expiresIn: life)

        let result = try await check(bench)

        #expect(bench.backend.requests.contains { $0.call == .insightStatus })
        #expect(!bench.backend.requests.contains { [.refresh, .login].contains($0.call) })
        #expect(result.failure == nil)
        #expect(
            result.lines.contains(
                "insights: the session must be renewed first; the next job does that"))
        #expect(try bench.store().sessions.load() != nil)
    }
}
