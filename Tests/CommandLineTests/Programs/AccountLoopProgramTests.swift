import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// A loop over accounts, through the built programs.
@Suite("A loop over accounts", .timeLimit(.minutes(5)))
struct AccountLoopProgramTests {
    private let family = AccountsProgramTests()

    /// Reads lines of a loop up to one with this end.
    private func lines(
        of loop: ChildProgram, upTo end: String
    ) async throws -> [String] {
        var lines: [String] = []
        repeat {
            lines.append(try #require(await loop.readErrorLine()))
        } while lines.last?.contains(end) != true
        return lines
    }

    @Test func `a run that waits for a login starts after it, also when accounts came meanwhile`()
        async throws
    {
        let playground = try await family.playground()
        try await family.logIn(["anna"], playground)
        let path = playground.folder.path
        try playground.writeExport(heartRates: 2)
        try #require(rename("\(path)/export.xml", "\(path)/anna.xml") == 0)
        _ = try await family.run(
            playground, "--account", "anna", "auth", "logout", "--forget-data", "--yes")
        let loop = try playground.start(["loop"], environment: ["CLARITY_JOBS_KEY": family.key])
        _ = try await lines(of: loop, upTo: "loop over")

        let asked = try await family.run(playground, "run", "anna/upload", "--ask")
        let failed = try await lines(of: loop, upTo: "login")
        let added = try await family.run(playground, "accounts", "add", "ben")
        _ = try await lines(of: loop, upTo: "reloaded")
        let login = try await family.run(
            playground, "auth", "login", "--accounts-from", "\(path)/wearers.csv",
            "--password-stdin", input: "anna \(family.password(of: "anna"))\n")
        let last = try await lines(of: loop, upTo: "anna/upload: succeeded")
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(asked.status == 0 && added.status == 0 && login.status == 0, "\(login.errors)")
        #expect(failed.last?.contains("run `clarity-jobs --account anna auth login`") == true)
        #expect(!last.contains { $0.contains("failed") }, "\(last)")
        #expect(try await playground.sandbox?.count("distinct_metric_ids") == 2)
    }
}
