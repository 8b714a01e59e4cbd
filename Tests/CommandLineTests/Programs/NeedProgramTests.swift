import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

@Suite("What a run itself needs, as the programs show it", .timeLimit(.minutes(5)))
struct NeedProgramTests {
    /// Returns a playground with a run that waits for a need of its own, as if its worker had asked
    /// for an unmetered network.
    private func runBlocking() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "every: 1d } }",
                with: "every: 1d }, constraints: { storage_free: 900TiB } }")
        }
        _ = try await playground.run("run", "cleanup")
        let history = try FileConnection(
            path: "\(playground.statePath)/history.db", access: .readWrite)
        try history.execute("UPDATE runs SET needs = 'network_unmetered' WHERE id = 1")
        return playground
    }

    @Test func `explain shows a need among the constraints, and who asks for it`() async throws {
        let playground = try await runBlocking()

        let shown = try await playground.json("explain", "cleanup")["constraints"].elements
        let lines = try await playground.run("explain", "cleanup").outputLines

        let need = try #require(shown.first { $0["subject"] == .string("network_unmetered") })
        #expect(need["wanted"] == .string("unmetered"))
        #expect(need["source"].text?.hasSuffix("; the run itself asks for it") == true)
        #expect(lines.contains { $0.hasPrefix("network_unmetered ") })
    }

    @Test func `a dry run says that a need holds the run back`() async throws {
        let playground = try await runBlocking()

        let lines = try await playground.run("dry-run", "cleanup").errorLines
        let explained = try await playground.run("explain", "cleanup").outputLines
        // The need depends on the machine's network: by wire it is met.
        let isMet = explained.contains {
            $0.hasPrefix("network_unmetered ") && $0.contains(" met ")
        }

        #expect(lines.first == "cleanup: would not start now")
        #expect(
            lines.count {
                $0.hasPrefix("  waits for network_unmetered: wanted unmetered, is ")
                    && $0.hasSuffix("; the run itself asks for it)")
            } == (isMet ? 0 : 1))
        #expect(lines.count { $0.contains("storage_free") } == 1)
    }

    @Test func `the history shows a need until the run starts by force`() async throws {
        let playground = try await runBlocking()

        let before = try await playground.lastRun(of: "cleanup")
        let forced = try await playground.run("run", "cleanup", "--force")
        let after = try await playground.lastRun(of: "cleanup")

        #expect(before["needs"] == .string("network_unmetered"))
        #expect(forced.status == 0)
        #expect(after["needs"] == .null && after["state"] == .string("succeeded"))
    }
}
