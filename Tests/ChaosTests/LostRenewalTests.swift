import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("A session renewal whose answer is lost", .timeLimit(.minutes(5)))
struct LostRenewalTests {
    @Test func `a renewal whose answer breaks off loses the session`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        let sandbox = try #require(playground.sandbox)
        try await sandbox.expireTokens()
        try await sandbox.addFault("POST /auth/refresh: drop")

        let results = [
            try await playground.run("run", "refresh"), try await playground.run("run", "refresh"),
        ]

        #expect(results.contains { $0.asksForLogin }, "\(results)")
        #expect(try await playground.hasLostRenewal())
    }

    @Test func `a session that ends after its renewal does not count as lost`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        let sandbox = try #require(playground.sandbox)
        try await sandbox.expireTokens()

        let renewed = try await playground.run("run", "refresh")
        let isLostThen = try await playground.hasLostRenewal()
        try await sandbox.expireAllTokens()
        let ended = try await playground.run("run", "refresh")

        #expect(renewed.status == 0 && ended.asksForLogin, "\(ended)")
        #expect(!isLostThen)
        #expect(try await !playground.hasLostRenewal())
    }
}

extension ProgramResult {
    /// Whether a run waits and says that it needs a login.
    fileprivate var asksForLogin: Bool {
        status == 75 && errors.contains("run `clarity-jobs auth login`")
    }
}
