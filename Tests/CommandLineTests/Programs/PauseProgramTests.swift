import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("pause and resume", .timeLimit(.minutes(5)))
struct PauseProgramTests {
    @Test func `a paused job starts nothing until it is resumed`() async throws {
        let playground = try await Playground()
        try playground.writeExport(heartRates: 1)
        try await playground.logIn()

        let paused = try await playground.run(
            "pause", "refresh", "--until", "2099-01-01T00:00:00Z", "--reason", "holidays")
        let due = try await playground.run("run", "--due")
        let named = try await playground.run("run", "refresh")
        let list = try await playground.json("list").elements
        let resumed = try await playground.run("resume", "refresh")
        let after = try await playground.run("run", "refresh")

        #expect(paused.status == 0, "\(paused.errors)")
        #expect(paused.output == "refresh: paused until 2099-01-01T00:00:00Z: holidays\n")
        #expect(due.errors == "")
        #expect(named.status == 75)
        #expect(
            named.errors
                == "refresh: waits until 2099-01-01T00:00:00Z: it is paused (holidays)\n")
        #expect(list.first?["waiting_on"].elements.first?["reason"] == .string("paused"))
        #expect(list.first?["next"] == .string("2099-01-01T00:00:00Z"))
        #expect(resumed.output == "refresh: resumed\n")
        #expect(after.status == 0, "\(after.errors)")
        #expect(try await playground.run("audit").status == 0)
    }

    @Test(arguments: [
        (["pause"], "clarity-jobs: `pause` wants either jobs or --all\n"),
        (["resume", "refresh", "--all"], "clarity-jobs: `resume` wants either jobs or --all\n"),
        (
            ["pause", "refrsh"],
            "clarity-jobs: no job `refrsh` in the job file; did you mean `refresh`?\n"
        ),
        (
            ["pause", "refresh", "--for", "1d", "--until", "2099-01-01T00:00:00Z"],
            "clarity-jobs: `pause` wants --until or --for, got both\n"
        ),
        (
            ["pause", "refresh", "--until", "tomorrow"],
            "clarity-jobs: --until is an instant such as 2026-11-20T06:00:00Z, got `tomorrow`\n"
        ),
        (
            ["pause", "refresh", "--for", "7"],
            "clarity-jobs: --for is a span such as `90m` or `7d`, got `7`\n"
        ),
    ])
    func `an impossible pause is refused`(words: [String], line: String) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words).finish()

        #expect(result.status == 64)
        #expect(result.errors == line)
    }

    @Test func `a pause cannot end in the past`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.run("pause", "--all", "--until", "2001-01-01T00:00:00Z")

        #expect(result.status == 64)
        #expect(
            result.errors.hasPrefix("clarity-jobs: --until 2001-01-01T00:00:00Z is over, it is "))
    }

    @Test func `the JSON output has each job`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.json("pause", "--all", "--for", "1d").elements

        #expect(result.count == 5)
        #expect(
            result.allSatisfy {
                $0["paused"]["until"].text != nil && $0["paused"]["reason"] == .string("")
            })
    }
}
