import ClarityTestSupport
import JSON
import Testing

@testable import ProgramTestSupport

/// `params:` of a command, and `run JOB --set NAME=VALUE`.
@Suite("Parameters of a job", .timeLimit(.minutes(5)))
struct ParameterProgramTests {
    /// A job whose program prints its parameters, and fails if `TAG` is `fail`.
    private func playground() async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in Self.jobFile(pattern: "[a-z$;]+") }
    }

    private static func jobFile(pattern: String) -> String {
        """
        version: 1
        defaults: { retry: { attempts: 1 } }
        jobs:
          - id: backup
            kind: command
            options:
              command: [sh, -c, 'echo "tag <$TAG> host <$HOST>"; test "$TAG" != fail']
              params:
                TAG: { default: nightly, pattern: "\(pattern)" }
                HOST: { default: "" }
          - id: restore
            kind: command
            options: { command: [sh, -c, 'echo "from <$SNAPSHOT>"'], params: { SNAPSHOT: } }

        """
    }

    private func output(_ playground: Playground, _ run: String) async throws -> String? {
        try await playground.json("history", "show", run)["attempt_list"].elements.last?["output"][
            "head"
        ].text
    }

    @Test func `a run has the values that it sets, and the defaults of the others`() async throws {
        let playground = try await playground()

        let plain = try await playground.run("run", "backup")
        let set = try await playground.run("run", "backup", "--set", "TAG=x;$y", "--set=HOST=a=b c")
        let history = try await playground.json("history").elements
        let shown = try await playground.run("history", "show", "2")

        #expect(plain.status == 0 && set.status == 0, "\(plain) \(set)")
        #expect(try await output(playground, "1") == "tag <nightly> host <>\n")
        // No shell reads it: what looks like a command is a part of the value.
        #expect(try await output(playground, "2") == "tag <x;$y> host <a=b c>\n")
        #expect(history.map { $0["parameters"]["TAG"].text } == ["x;$y", nil])
        #expect(history.map { $0["summary"].text } == ["HOST=a=b c, TAG=x;$y", ""])
        #expect(shown.output.contains("\nset: HOST=a=b c, TAG=x;$y\n"), "\(shown.output)")
    }

    @Test(arguments: [
        (
            ["backup", "--set", "TAGS=x"],
            "job `backup`: it has no parameter `TAGS`\nhelp: it has `TAG`, `HOST`"
        ),
        (
            ["backup", "--set", "TAG=A1"],
            "job `backup`: the value of its parameter `TAG` does not match `[a-z$;]+`"
        ),
        (
            ["backup", "--set", "HOST=a\nb"],
            "job `backup`: the value of its parameter `HOST` is not one line of at most 4096 bytes"
        ),
        (
            ["restore"],
            "job `restore`: its parameter `SNAPSHOT` has no value\nhelp: --set SNAPSHOT=VALUE"
        ),
        (
            ["backup", "TAG=x"], "no job `TAG=x` in the job file; did you mean `--set TAG=x`?"
        ),
        (["backup", "--set", "TAG"], "--set wants NAME=VALUE, got `TAG`"),
        (["backup", "--set", "TAG=a", "--set", "TAG=b"], "--set gives `TAG` two values"),
        (["--due", "--set", "TAG=a"], "--set goes with named jobs only"),
    ])
    func `values that do not fit start nothing`(words: [String], message: String) async throws {
        let playground = try await playground()

        let run = try await playground.start(["run"] + words).finish()

        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors == "clarity-jobs: \(message)\n")
        #expect(try await playground.json("history").elements.isEmpty)
    }

    @Test func `a loop starts what was asked for, and a repeated run keeps its values`()
        async throws
    {
        let playground = try await playground()

        let asked = try await playground.run("run", "backup", "--ask", "--set", "TAG=fail")
        let due = try await playground.run("run", "--due")
        let retried = try await playground.run("retry", "backup")
        _ = try await playground.run("run", "--due")
        let runs = try await playground.json("history").elements

        #expect(asked.status == 0 && due.status == 1 && retried.status == 0, "\(retried)")
        #expect(runs.map { $0["parameters"]["TAG"].text } == ["fail", "fail"])
        #expect(runs.map { $0["state"].text } == ["failed", "failed"])
        #expect(try await output(playground, "2") == "tag <fail> host <>\n")
    }

    @Test func `a value is checked again by the job file that holds when the run starts`()
        async throws
    {
        let playground = try await playground()
        _ = try await playground.run("run", "backup", "--ask", "--set", "TAG=abc")
        try playground.write { _, _ in Self.jobFile(pattern: "n[a-z]+") }

        let due = try await playground.run("run", "--due")

        #expect(due.status == 78)
        #expect(due.errors.contains("parameter `TAG` does not match `n[a-z]+`"), "\(due)")
    }

    @Test func `dry-run names the variables, and refuses what run refuses`() async throws {
        let playground = try await playground()

        let fits = try await playground.run("dry-run", "restore", "--set", "SNAPSHOT=1")
        let missing = try await playground.run("dry-run", "restore")

        #expect(fits.status == 0 && fits.output.contains("SNAPSHOT"), "\(fits)")
        #expect(missing.status == 64)
    }
}
