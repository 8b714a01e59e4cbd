import Testing

@testable import clarity_jobs

@Suite("Reading the command line")
struct ArgumentParserTests {
    @Test(arguments: [
        (["run", "a", "--force", "b"], ["run"], ["a", "b"], ["force"]),
        (["-q", "run", "--due", "-v"], ["run"], [], ["due", "quiet", "verbose"]),
        (["run", "-qv", "a"], ["run"], ["a"], ["quiet", "verbose"]),
        (["run", "--", "--force"], ["run"], ["--force"], []),
        (["history", "show", "42"], ["history", "show"], ["42"], []),
        (["history", "a"], ["history"], ["a"], []),
        (["auth", "login", "--password-stdin"], ["auth", "login"], [], ["password-stdin"]),
        (["sandbox", "--listen", "x", "--help"], ["sandbox"], ["--listen", "x", "--help"], []),
        (["run", "-"], ["run"], ["-"], []),
        (["help"], [], [], ["help"]),
        (["help", "auth", "login"], ["auth", "login"], [], ["help"]),
        (["run", "help"], ["run"], ["help"], []),
        (["logs", "-f", "a"], ["logs"], ["a"], ["follow"]),
    ])
    func `the parser separates commands, operands and flags`(
        words: [String], path: [String], operands: [String], flags: [String]
    ) throws {
        let (_, arguments) = try parser().parse(words)

        #expect(arguments.path == path)
        #expect(arguments.operands == operands)
        #expect(arguments.flags == Set(flags))
    }

    @Test(arguments: [
        ["list", "--config", "x.yaml"], ["list", "--config=x.yaml"], ["list", "-c", "x.yaml"],
        ["list", "-cx.yaml"], ["-c", "x.yaml", "list"], ["list", "-qc", "x.yaml"],
    ])
    func `an option takes its value after a space or an equals sign`(words: [String]) throws {
        let (_, arguments) = try parser().parse(words)

        #expect(arguments.path == ["list"])
        #expect(arguments["config"] == "x.yaml")
    }

    @Test(arguments: [
        (["lst"], "unknown command `lst`; did you mean `list`?"),
        (["frobnicate"], "unknown command `frobnicate`"),
        (["start"], "unknown command `start`"),
        (["stop"], "unknown command `stop`"),
        (["test"], "unknown command `test`"),
        (["jobs"], "unknown command `jobs`"),
        (["history", "--fail"], "unknown option `--fail`; did you mean `--failed`?"),
        (["run", "--forse"], "unknown option `--forse`; did you mean `--force`?"),
        (["run", "-z"], "unknown option `-z`"),
        (["list", "a"], "`list` takes no operand, got `a`"),
        (["list", "--config"], "option `--config` wants a value"),
        (["list", "-c"], "option `-c` wants a value"),
        (["list", "--quiet=yes"], "option `--quiet` takes no value"),
        (["list", "-o", "xml"], "`-o` is one of `table`, `json`, `ndjson`, got `xml`"),
        (["auth", "logn"], "unknown command `logn`; did you mean `login`?"),
        (["list", "--due"], "unknown option `--due`"),
        (["outbox", "list", "--all"], "unknown option `--all`"),
        (["outbox", "--all", "list"], "`outbox list` has no option `--all`"),
    ])
    func `a syntax error is one line`(words: [String], message: String) {
        let fault = #expect(throws: UsageFault.self) { try parser().parse(words) }

        #expect(fault?.message == message)
    }

    @Test(arguments: [
        (["lst"], []), (["run", "--forse"], ["run"]), (["auth", "logn"], ["auth"]),
        (["outbox", "--all", "list"], ["outbox", "list"]),
    ])
    func `a syntax error names the command whose help says more`(words: [String], path: [String]) {
        let fault = #expect(throws: UsageFault.self) { try parser().parse(words) }

        #expect(fault?.path == path)
    }

    @Test func `the environment supplies options that are not given`() throws {
        let environment = [
            "CLARITY_JOBS_CONFIG": "e.yaml", "CLARITY_JOBS_STATE": "/s", "CLARITY_JOBS_QUIET": "1",
            "CLARITY_JOBS_VERBOSE": "0", "CLARITY_JOBS_LIMIT": "",
        ]

        let (_, arguments) = try parser(environment).parse(["history", "-c", "g.yaml"])

        #expect(arguments["config"] == "g.yaml")
        #expect(arguments["state"] == "/s")
        #expect(arguments["limit"] == nil)
        #expect(arguments.flags == ["quiet"])
    }

    @Test func `a bad value in the environment names its variable`() {
        let fault = #expect(throws: UsageFault.self) {
            try parser(["CLARITY_JOBS_OUTPUT": "xml"]).parse(["list"])
        }

        #expect(
            fault?.message
                == "`CLARITY_JOBS_OUTPUT` is one of `table`, `json`, `ndjson`, got `xml`")
    }

    private func parser(_ environment: [String: String] = [:]) -> ArgumentParser {
        ArgumentParser(root: .program, environment: environment)
    }
}
