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
        (0, ["first 1 succeeded "]),
        (65, ["first 1 failed exited with status 65 (faulty input): why"]),
    ])
    func `a job that another one starts knows how that one ended`(
        status: Int, told: [String]
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - id: first
                kind: command
                options: { command: [sh, -c, 'echo why; exit \(status)'] }
                then: { succeeded: [next], failed: [next] }
              - id: next
                kind: command
                options:
                  command: [sh, -c, 'echo "$CLARITY_AFTER_JOB $CLARITY_AFTER_RUN \
            $CLARITY_AFTER_STATE $CLARITY_AFTER_REASON"']

            """
        }

        _ = try await playground.run("run", "first")
        let chained = try await playground.run("logs", "next", "-q")
        _ = try await playground.run("run", "next")
        let alone = try await playground.run("logs", "next", "-q")

        #expect(chained.outputLines == told)
        #expect(alone.outputLines.map { $0.filter { $0 != " " } } == [""])
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
