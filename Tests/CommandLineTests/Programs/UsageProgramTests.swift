import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("The command line as a program", .timeLimit(.minutes(5)))
struct UsageProgramTests {
    @Test(arguments: [
        (["lst"], "unknown command `lst`; did you mean `list`?", ""),
        (["run", "--du"], "unknown option `--du`; did you mean `--due`?", "run "),
        (["explain", "--replay", "1"], "unknown option `--replay`", "explain "),
        (["list", "-o", "xml"], "`-o` is one of `table`, `json`, `ndjson`, got `xml`", "list "),
        (["validate", "it"], "`validate` takes no operand, got `it`", "validate "),
        (["loop", "--config"], "option `--config` wants a value", "loop "),
    ])
    func `an unknown word ends with 64 and a hint`(
        words: [String], message: String, command: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words).finish()

        #expect(
            result.isRefusal(
                64, "clarity-jobs: \(message)", "help: clarity-jobs \(command)--help"))
    }

    @Test(arguments: [[], ["history", "waits"]])
    func `help before a command is its help`(words: [String]) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(["help"] + words).finish()
        let same = try await playground.start(words + ["--help"]).finish()

        #expect(result.status == 0 && result.errors.isEmpty && !result.output.isEmpty)
        #expect(result.output == same.output)
    }

    @Test(.enabled(if: TinyDisk.isAllowed))
    func `the arguments are found where there is no proc file system`() async throws {
        let program = try ChildProgram(
            "/usr/bin/unshare",
            [
                "--mount", "/bin/sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" \"$@\"",
                "\(ChildProgram.folder)/clarity-jobs", "lst",
            ], environment: ["PATH": "/usr/bin:/bin"])

        let result = await program.finish()

        #expect(
            result.isRefusal(
                64, "clarity-jobs: unknown command `lst`; did you mean `list`?",
                "help: clarity-jobs --help"))
    }

    @Test(arguments: [
        (["run"], "`run` wants either jobs or --due"),
        (["run", "upload", "--due"], "`run` wants either jobs or --due"),
        (["run", "--due", "--force"], "--force goes with named jobs only"),
        (["run", "--due", "--ask"], "--ask goes with named jobs only, and not with --force"),
        (
            ["run", "upload", "--ask", "--force"],
            "--ask goes with named jobs only, and not with --force"
        ),
        (["dry-run"], "`dry-run` wants one job, got 0"),
        (["dry-run", "upload", "status"], "`dry-run` wants one job, got 2"),
        (["import"], "`import` wants one file, got 0"),
        (["import", "a", "b"], "`import` wants one file, got 2"),
        (
            ["import", "a", "--since", "yesterday"],
            "--since is a date such as `2026-01-31` or an instant, got `yesterday`"
        ),
        (["import", "a", "--prefer", ""], "--prefer wants the name of a device or an app"),
        (["dry-run", "upolad"], "no job `upolad` in the job file; did you mean `upload`?"),
    ])
    func `an incomplete command is reported in one line`(
        words: [String], message: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words).finish()

        #expect(result.isRefusal(64, "clarity-jobs: \(message)"))
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `the command line is checked before the job file`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in "version: 1\n" }

        let result = try await playground.run("run", "--due", "--force")

        #expect(result.isRefusal(64, "clarity-jobs: --force goes with named jobs only"))
    }

    @Test(arguments: [
        [], ["run"], ["loop"], ["dry-run"], ["list"], ["next"], ["explain"], ["simulate"],
        ["history"], ["history", "show"], ["validate"], ["trace"], ["trace", "record"], ["auth"],
        ["auth", "login"],
        ["auth", "status"], ["audit"], ["audit", "log"], ["key"], ["key", "rotate"],
        ["key", "status"], ["import"], ["sources"], ["summary"], ["metrics"], ["insights"],
        ["analyses"],
        ["profile"], ["archive"], ["archive", "list"], ["archive", "show"],
    ])
    func `every command has a help page`(words: [String]) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words + ["--help"]).finish()

        #expect(result.status == 0 && result.errors == "")
        let usage = (["Usage: clarity-jobs"] + words).joined(separator: " ")
        #expect(result.outputLines.contains { $0.hasPrefix(usage) })
        #expect(result.output.contains("\n  -c, --config FILE "))
        #expect(result.output.hasSuffix("\n") && !result.output.hasSuffix("\n\n"))
        #expect(result.outputLines.filter { $0.count > 80 } == [])
    }

    @Test func `without a command, the help page is printed and the exit status is an error`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start([]).finish()

        #expect(result.status == 64)
        #expect(result.output.contains("\nWhat happens:\n  status"))
    }

    /// A build of the tests has no commit; `scripts/release` gives it to a release.
    @Test func `the version names the libraries of each program`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.run("--version")

        let lines = result.outputLines
        #expect(result.status == 0)
        try #require(lines.count == 4, "\(lines)")
        #expect(lines[0] == "clarity-jobs 0.1.0")
        let own = /clarity-jobs: SQLite 3\.\S+, libsodium 1\.\S+, libyaml 0\.\S+, Zstandard 1\.\S+/
        #expect(lines[1].wholeMatch(of: own) != nil, "\(lines[1])")
        #expect(lines[2].contains(", libcurl 7."), "\(lines[2])")
        #expect(lines[2].contains(", libarchive 3."), "\(lines[2])")
        #expect(lines[3].contains(", libmicrohttpd "), "\(lines[3])")
    }

    @Test func `the sandbox starts from the main program and ends when its input ends`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)

        let sandbox = try playground.start([
            "sandbox", "--listen", "127.0.0.1:0", "--data", "\(playground.folder.path)/data",
            "--exit-with-stdin",
        ])
        let ready = try #require(await sandbox.readLine())
        let port = try #require(
            ready.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/api\/v1$/).flatMap {
                UInt16($0.output.1)
            })
        let summary = try JSONValue(
            try await LoopbackRequest.send("GET", "/_sandbox/summary", port: port))
        let end = await sandbox.finish()

        #expect(summary["metrics"] == .number(0))
        #expect(
            summary.keys.isSuperset(of: [
                "metrics", "distinct_metric_ids", "samples", "uploads", "requests", "by_status",
            ]))
        #expect(end.status == 0 && end.errors == "")
    }

    @Test func `the sandbox listens only on this machine`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.run(
            "sandbox", "--listen", "0.0.0.0:0", "--data", "\(playground.folder.path)/data")

        #expect(
            result.isRefusal(
                64,
                "clarity-jobs-sandbox: `--listen 0.0.0.0:0` is no loopback address; "
                    + "write `127.0.0.1:PORT`"))
    }
}
