import ClarityTestSupport
import Glibc
import Platform
import Testing

@testable import ProgramTestSupport

/// What a person sees of a program while it runs.
@Suite("The output of a running program", .timeLimit(.minutes(5)))
struct LiveOutputProgramTests {
    /// A program that writes a line, waits until it may go on, and writes another one.
    private func playground(_ limit: String = "64KiB", first: String = "echo first") async throws
        -> Playground
    {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            jobs:
              - id: backup
                kind: command
                schedule: { every: 1d }
                options:
                  output_limit: \(limit)
                  command: [sh, -c, "\(first); cat \(folder)/gate; echo second"]

            """
        }
        try #require(mkfifo("\(playground.folder.path)/gate", 0o600) == 0)
        return playground
    }

    /// Lets the program go on, once it waits.
    private func open(_ playground: Playground) async throws {
        let path = "\(playground.folder.path)/gate"
        let gate = try await blocking { Glibc.open(path, O_WRONLY) }
        try #require(gate >= 0)
        close(gate)
    }

    /// Waits until the first line is there for others.
    private func waitForOutput(_ playground: Playground) async throws {
        let follower = try playground.start(["logs", "backup", "--follow"])
        _ = try #require(await follower.readLine())
        follower.signal(SIGKILL)
        _ = await follower.finish()
    }

    private func begin(_ playground: Playground) async throws -> ChildProgram {
        let loop = try playground.start(["loop"])
        _ = try #require(await loop.readErrorLine())
        while try await playground.json("list").elements.first?["state"] != .string("running") {}
        return loop
    }

    private func end(_ loop: ChildProgram) async {
        loop.signal(SIGTERM)
        _ = await loop.finish()
    }

    @Test func `logs and history show what it has written, and --follow what comes`() async throws {
        let playground = try await playground()
        let loop = try await begin(playground)
        try await waitForOutput(playground)

        let logs = try await playground.run("logs", "backup")
        let shown = try await playground.json("history", "show", "backup")
        let follower = try playground.start(["logs", "backup", "--follow"])
        let first = await follower.readLine()
        try await open(playground)
        let rest = await follower.finish()
        await end(loop)
        let left = try WholeFile.names(in: "\(playground.statePath)/attempts")

        #expect(logs.output == "first\n" && logs.status == 0)
        #expect(logs.errors.contains("backup, run 1: running"), "\(logs.errors)")
        #expect(shown["attempt_list"].elements.first?["output"]["head"] == .string("first\n"))
        #expect(first == "first" && rest.output == "second\n" && rest.status == 0)
        #expect(rest.errors.contains("backup, run 1: succeeded"), "\(rest.errors)")
        #expect(left == [])
    }

    @Test func `of a long output there is always the end`() async throws {
        let playground = try await playground(
            "1KiB", first: "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done")
        let loop = try await begin(playground)
        var logs = try await playground.run("logs", "backup")
        while !logs.output.contains("line 1999\n") {
            logs = try await playground.run("logs", "backup")
        }
        let name = try #require(
            try WholeFile.names(in: "\(playground.statePath)/attempts").first {
                $0.hasSuffix(".out")
            })
        var status = stat()
        stat("\(playground.statePath)/attempts/\(name)", &status)
        try await open(playground)
        await end(loop)

        #expect(logs.output.hasSuffix("line 1998\nline 1999\n"))
        #expect(logs.errors.contains(" bytes are left out ..."))
        #expect(status.st_size <= 2 * 1024 + 21 && status.st_mode & 0o777 == 0o600)
    }

    @Test func `what a program wrote until its scheduler was killed is kept`() async throws {
        let playground = try await playground()
        let loop = try await begin(playground)
        try await waitForOutput(playground)
        loop.signal(SIGKILL)
        _ = await loop.finish()

        let next = try playground.start(["run", "--due"])
        try await open(playground)
        _ = await next.finish()
        let attempts = try await playground.json("history", "show", "1")["attempt_list"].elements

        #expect(attempts.map { $0["result"].text } == ["interrupted", "succeeded"])
        #expect(attempts.first?["output"]["head"] == .string("first\n"))
        #expect(attempts.last?["output"]["head"] == .string("first\nsecond\n"))
    }

    @Test func `a program that ends with success after its scheduler was killed keeps its output`()
        async throws
    {
        let playground = try await playground(first: "trap 'exit 0' TERM; echo first")
        let loop = try await begin(playground)
        try await waitForOutput(playground)
        loop.signal(SIGKILL)
        _ = await loop.finish()
        // The program is asked to stop, and this shell does so once it has its line.
        try await open(playground)

        let next = try await playground.run("run", "--due")
        let run = try await playground.json("history", "show", "1")

        #expect(next.status == 0 && run["state"].text == "succeeded", "\(run)")
        let attempts = run["attempt_list"].elements
        #expect(attempts.map { $0["result"].text } == ["succeeded"], "\(attempts)")
        #expect(attempts.first?["output"]["head"].text?.hasPrefix("first\n") == true)
    }

    @Test func `run shows it at a terminal, and not in a pipe`() async throws {
        let playground = try await playground(first: "echo first; printf half")
        let program = "\(ChildProgram.folder)/clarity-jobs run backup --force"
        let terminal = try ChildProgram(
            "/usr/bin/script", ["-qefc", program, "/dev/null"],
            environment: [
                "CLARITY_JOBS_CONFIG": playground.jobFilePath,
                "CLARITY_JOBS_STATE": playground.statePath, "HOME": playground.folder.path,
                "PATH": "/usr/bin:/bin", "TERM": "dumb",
            ])
        let first = await terminal.readLine()
        try await open(playground)
        let rest = await terminal.finish()
        let piped = try playground.start(["run", "backup", "--force"])
        try await open(playground)
        let inPipe = await piped.finish()

        #expect(first?.contains("backup | first") == true, "\(first ?? "")")
        #expect(rest.output.contains("backup | halfsecond"), "\(rest.output)")
        #expect(inPipe.outputLines.count == 1 && !inPipe.output.contains("first"))
    }
}
