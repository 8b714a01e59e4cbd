import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// `simulate --accounts` through the built program.
@Suite("simulate --accounts", .timeLimit(.minutes(3)))
struct SimulateAccountsProgramTests {
    private func playground(_ accounts: String = "accounts: []") async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: "http://127.0.0.1:9/" }
            \(accounts)
            defaults: { max_parallel: 4 }
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h } }
              - { id: cleanup, kind: cleanup, schedule: { every: 24h } }

            """
        }
    }

    @Test func `the runs of invented accounts are counted, and nothing is left behind`()
        async throws
    {
        let playground = try await playground()
        let scratch = "\(playground.folder.path)/scratch"
        try #require(mkdir(scratch, 0o700) == 0)

        let simulated = try await playground.start(
            [
                "simulate", "--accounts", "200", "--days", "1", "--attempt", "2s", "--from",
                "2026-11-01T00:00:00Z", "-o", "json",
            ], environment: ["TMPDIR": scratch]
        ).finish()

        let totals = try JSONValue(simulated.output)
        let runs = try #require(totals["runs"].number)
        #expect(simulated.status == 0, "\(simulated.errors)")
        #expect(totals["accounts"].number == 200 && totals["jobs"].number == 400)
        // Each account's 24 uploads and its cleanup, but for those that the spread moves out of the
        // day.
        #expect((4600...5000).contains(runs), "\(simulated.output)")
        #expect(totals["succeeded"].number == runs && totals["missed"].number == 0)
        #expect(try #require(totals["late_p99_ms"].number) < 10_000)
        #expect(try #require(totals["history_bytes"].number) > 100_000)
        #expect(try playground.folder.contents().keys.filter { $0.hasPrefix("scratch/") } == [])
        #expect(access(playground.statePath, F_OK) != 0)
    }

    @Test(arguments: [
        (["0"], "--accounts is a number from 1 to 100000, got `0`"),
        (["many"], "--accounts is a number from 1 to 100000, got `many`"),
        (["5", "upload"], "--accounts goes with no JOB, no --trace and no --account"),
    ])
    func `other words are refused`(words: [String], message: String) async throws {
        let playground = try await playground()

        let end = try await playground.start(["simulate", "--accounts"] + words).finish()

        #expect(end.isRefusal(64, "clarity-jobs: \(message)"), "\(end.errors)")
    }

    @Test func `a job file without accounts is refused`() async throws {
        let playground = try await playground("")

        let end = try await playground.run("simulate", "--accounts", "5")

        #expect(
            end.isRefusal(64, "clarity-jobs: --accounts needs a job file with `accounts`"),
            "\(end.errors)")
    }
}
