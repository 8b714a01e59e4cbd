import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Jobs that another job starts through `then`, with the built programs.
@Suite("then", .timeLimit(.minutes(5)))
struct FollowersProgramTests {
    private func playground(status: Int, then: String) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            jobs:
              - id: first
                kind: command
                retry: { attempts: 1 }
                options: { command: [sh, -c, 'exit \(status)'] }
                then: \(then)
              - { id: good, kind: command, options: { command: [echo] } }
              - { id: bad, kind: command, options: { command: [echo] } }

            """
        }
    }

    @Test(arguments: [
        (0, "{ succeeded: [good], failed: [bad] }", ["good"]),
        (65, "{ succeeded: [good], failed: [bad] }", ["bad"]),
        (65, "{ failed: [good, bad] }", ["good", "bad"]), (0, "{ failed: [bad] }", []),
        (65, "{ succeeded: [good] }", []), (0, "[good, bad]", ["good", "bad"]), (65, "[good]", []),
        (75, "{ failed: [bad] }", ["bad"]),
    ])
    func `the end of a run starts the jobs named in then`(
        status: Int, then: String, followers: [String]
    ) async throws {
        let playground = try await playground(status: status, then: then)

        let run = try await playground.run("run", "first")

        let runs = try await playground.json("history").elements.dropLast()
        #expect(runs.reversed().compactMap { $0["job"].text } == followers)
        #expect(runs.allSatisfy { $0["trigger"] == .string("chain") })
        #expect(runs.allSatisfy { $0["state"] == .string("succeeded") })
        #expect((run.status == 0) == (status == 0), "\(run.errors)")
    }
}
