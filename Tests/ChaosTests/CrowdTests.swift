import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("Many processes at once", .timeLimit(.minutes(5)))
struct CrowdTests {
    @Test func `those that make the history together run each job once`() async throws {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()

        let crowd = try (0..<12).map { _ in try playground.start(["run", "--due"]) }
        var results: [ProgramResult] = []
        for program in crowd { results.append(await program.finish()) }

        let words = results.filter { $0.status != 0 }.map { "\($0.status): \($0.errors)" }
        #expect(words == [])
        for job in ["refresh", "upload", "insights", "cleanup"] {
            #expect(try await playground.history(job).map(\.attempts) == [1], "\(job)")
        }
        #expect(try await sandbox.count("metrics") == 250)
        #expect(try await sandbox.count("uploads") == 3)
    }

    /// Four jobs are due at once, each finds its token refused, and a token to renew it with is good
    /// once: whoever comes second with it is refused, even before the first has its answer.
    @Test func `workers that find their session out of date together renew it once`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()
        try await sandbox.expireTokens()
        try await sandbox.addFault("POST /auth/refresh: latency=500ms")

        let result = try await playground.run("run", "--due")
        let session = try await playground.run("auth", "status")
        let again = try await playground.run("run", "refresh")

        #expect(result.status == 0, "\(result.errors)")
        #expect(session.status == 0, "\(session.errors)")
        #expect(again.status == 0, "\(again.errors)")
        #expect(try await sandbox.count("metrics") == 250)
    }

    /// Nobody but the backend knows the tokens that it gave out with an answer that never came: the
    /// session is lost, and the samples are not.
    @Test func `a kill between a renewal and its answer costs the login and nothing else`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()
        try await sandbox.expireTokens()
        try await sandbox.addFault("POST /auth/refresh: latency=600s")
        let before = try await sandbox.answers("200")
        let scheduler = try playground.start(["run", "upload"])
        try await sandbox.wait(for: before + 1) { try await $0.answers("200") }

        scheduler.signal(9)
        _ = await scheduler.finish()
        let rescue = try await playground.run("run", "--due")
        try await playground.logIn()
        let after = try await playground.run("run", "upload")

        #expect(rescue.status == 77)
        #expect(
            rescue.errors.contains("the session has ended; run `clarity-jobs auth login`"),
            "\(rescue.errors)")
        #expect(after.status == 0, "\(after.errors)")
        #expect(try await sandbox.count("metrics") == 250)
        #expect(try await sandbox.count("distinct_metric_ids") == 250)
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.unsent == 0)
    }
}
