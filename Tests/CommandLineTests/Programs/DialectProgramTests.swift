import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Runs the programs against the sandbox in each dialect, which they detect by themselves.
@Suite("dialects", .timeLimit(.minutes(5)))
struct DialectProgramTests {
    static let services = [
        ["--dialect", "blueprint"], ["--dialect", "loop"],
        ["--dialect", "loop", "--quirks", "measured"],
    ]

    @Test(arguments: services)
    func `a login works with every dialect, and jobs can fetch afterwards`(options: [String])
        async throws
    {
        let playground = try await Playground(sandboxOptions: options)

        try await playground.logIn()
        let status = try await playground.run("auth", "status")
        let refresh = try await playground.run("run", "refresh")
        let insights = try await playground.run("run", "insights")
        let dry = try await playground.run("dry-run", "insights")
        let logout = try await playground.run("auth", "logout", "--forget-data", "--yes")

        #expect(status.output.hasPrefix("logged in as demo@example.com ("))
        #expect(refresh.status == 0, "\(refresh.errors)")
        #expect(insights.status == 0, "\(insights.errors)")
        #expect(!dry.output.contains("/auth/health"))
        #expect(logout.status == 0, "\(logout.errors)")
    }
}
