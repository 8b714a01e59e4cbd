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
                == """
                refresh: waits until 2099-01-01T00:00:00Z: it is paused (holidays)
                run 1 stays: no loop runs, the next `run --due` starts it once it may; \
                `clarity-jobs cancel 1` drops it

                """)
        #expect(list.first?["waiting_on"].elements.first?["reason"] == .string("paused"))
        #expect(list.first?["next"] == .string("2099-01-01T00:00:00Z"))
        #expect(resumed.output == "refresh: resumed\n")
        #expect(after.status == 0, "\(after.errors)")
        #expect(try await playground.run("audit").status == 0)
    }

    @Test func `a pause ends at a time as people write it, and a resume says what it did`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)

        let paused = try await playground.run("pause", "cleanup", "--until", "tomorrow 07:00")
        let tonight = try await playground.run("tonight")
        let why = try await playground.run("explain", "cleanup")
        let asked = try await playground.run("run", "cleanup", "--ask")
        let resumed = try await playground.run("resume", "cleanup", "refresh")

        #expect(paused.output.contains("T07:00:00Z"), "\(paused)")
        #expect(tonight.errors.contains("cleanup: paused until "), "\(tonight)")
        // A run by hand would wait for the pause too.
        #expect(!why.output.contains("or clarity-jobs run cleanup"), "\(why.output)")
        #expect(
            asked.output == "run 1 of cleanup, which is paused: no loop runs, the next "
                + "`run --due` starts it once it may\n")
        #expect(resumed.outputLines == ["cleanup: resumed", "refresh: was not paused"])
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
            ["pause", "refresh", "--until", "yesterday"],
            "clarity-jobs: --until is a time such as `1d`, `tomorrow`, `2026-11-20 06:00` or "
                + "`2026-11-20T06:00:00Z`, got `yesterday`\n"
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
