import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite("auth on a terminal", .timeLimit(.minutes(5)))
struct TerminalProgramTests {
    private static let password = "Demo-Passw0rd!"
    private static let question = "Password for demo@example.com: "

    private func login(_ playground: Playground) throws -> TerminalProgram {
        try playground.onTerminal("auth", "login", "--email", "demo@example.com")
    }

    @Test func `a typed password is not shown`() async throws {
        let playground = try await Playground()
        let program = try login(playground)
        _ = await program.read(until: Self.question)

        let isEchoing = program.isEchoing
        program.type("\(Self.password)\n")
        let end = await program.finish()

        #expect(!isEchoing && program.isEchoing)
        #expect(end.status == 0)
        #expect(
            end.screen.wholeMatch(
                of:
                    /Password for demo@example.com: \nlogged in as demo@example.com \([0-9a-f-]{36}\) until .*Z\n/
            ) != nil, "\(end.screen)")
        #expect(try await playground.run("auth", "status").status == 0)
    }

    @Test func `--password-stdin hides what is typed on a terminal`() async throws {
        let playground = try await Playground()
        let program = try playground.onTerminal(
            "auth", "login", "--email", "demo@example.com", "--password-stdin")
        _ = await program.read(until: Self.question)

        let isEchoing = program.isEchoing
        program.type("\(Self.password)\n")
        let end = await program.finish()

        #expect(!isEchoing && program.isEchoing)
        #expect(end.status == 0, "\(end.screen)")
        #expect(end.screen.hasPrefix("\(Self.question)\nlogged in as demo@example.com "))
    }

    @Test(arguments: [
        ("Ctrl-C", "\u{3}", SIGINT), ("Ctrl-\\", "\u{1C}", SIGQUIT), ("TERM", "", SIGTERM),
        ("HUP", "", SIGHUP),
    ])
    func `an interruption leaves the terminal as it was`(
        name: String, typed: String, number: Int32
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let program = try login(playground)
        _ = await program.read(until: Self.question)
        let isEchoing = program.isEchoing

        program.type("half of a pass")
        if typed.isEmpty { program.signal(number) } else { program.type(typed) }
        let end = await program.finish()

        #expect(!isEchoing && program.isEchoing, "\(name)")
        #expect(end.status == 128 + number, "\(name)")
        #expect(!end.screen.contains("half"), "\(name)")
        #expect(access(playground.statePath, F_OK) == -1, "\(name)")
    }

    /// A shell with job control starts the program. Nobody else could resume it, and the kernel
    /// does not stop a program that nobody can resume.
    @Test func `a suspended password prompt restores the echo, and asks again`() async throws {
        let playground = try await Playground()
        let script = """
            set -m
            '\(ChildProgram.folder)/clarity-jobs' auth login --email demo@example.com
            stty -a | grep -ow -e '-*echo'
            fg
            """
        let shell = try TerminalProgram(
            "/bin/sh", ["-c", script], environment: playground.terminalEnvironment)
        _ = await shell.read(until: Self.question)

        shell.type("half\u{1A}")
        let stopped = await shell.read(until: Self.question, count: 2)
        let isEchoing = shell.isEchoing
        shell.type("\(Self.password)\n")
        let end = await shell.finish()

        #expect(stopped.contains("\necho\n"), "\(stopped)")
        #expect(!isEchoing)
        #expect(end.status == 0 && end.screen.contains("logged in as demo@example.com"))
        #expect(!end.screen.contains("half") && !end.screen.contains(Self.password))
    }

    @Test(arguments: ["\u{4}", "\n"])
    func `an empty password is refused`(typed: String) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let program = try login(playground)
        _ = await program.read(until: Self.question)

        program.type(typed)
        let end = await program.finish()

        #expect(end.status == 64)
        #expect(end.screen == "\(Self.question)\nclarity-jobs: no password was typed\n")
        #expect(program.isEchoing)
    }

    @Test func `without a terminal, one line says what to do`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let program = try playground.onTerminal(
            "auth", "login", "--email", "demo@example.com", hasTerminal: false)
        let end = await program.finish()

        #expect(end.status == 64)
        #expect(
            end.screen
                == "clarity-jobs: there is no terminal to ask for the password on; use "
                + "--password-stdin, or the credential `clarity-jobs.password`\n")
        #expect(access(playground.statePath, F_OK) == -1)
    }

    // MARK: interruptions

    @Test(arguments: [
        (
            ["run", "slow"],
            "the next `loop` or `run --due` tries again what had begun; "
                + "`clarity-jobs cancel` gives it up"
        ),
        (["run", "upload", "slow"], "what was not sent stays in the outbox"),
        (["loop"], "what was not sent stays in the outbox"),
    ])
    func `Ctrl-C ends with a line that says what is kept`(
        words: [String], kept: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            """
            version: 1
            backend: { url: "\(url)" }
            sources: [{ kind: spool, path: \(folder)/spool }]
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h } }
              - id: slow
                kind: command
                schedule: { every: 1h }
                options: { command: [sh, -c, 'echo > ready; exec sleep 1000'], folder: \(folder) }

            """
        }
        let ready = "\(playground.folder.path)/ready"
        mkfifo(ready, 0o600)
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", words,
            environment: playground.terminalEnvironment)
        _ = try await blocking { try TemporaryFolder.read(ready) }

        program.type("\u{3}")
        let end = await program.finish()

        #expect(end.status == 130)
        // Whichever job ends first follows the echo of the key.
        let lines = end.screen.replacing("^C", with: "").split(separator: "\n")
        // A loop says when.
        let pattern =
            words == ["loop"]
            ? #/\d\d:\d\d:\d\d slow: stopped \(the scheduler ended\), goes on later \(run \d+\)/#
            : #/slow: stopped \(the scheduler ended\), goes on later \(run \d+\)/#
        #expect(lines.contains { $0.wholeMatch(of: pattern) != nil }, "\(end.screen)")
        #expect(end.screen.hasSuffix("\nclarity-jobs: interrupted; \(kept)\n"), "\(end.screen)")
    }

    // MARK: progress

    @Test func `run shows on a terminal how far it is, and removes that`() async throws {
        let playground = try await Playground()
        try playground.writeExport(heartRates: 300)
        try await playground.logIn()
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", ["run", "upload"],
            environment: playground.terminalEnvironment, columns: 90)

        let end = await program.finish()

        #expect(end.status == 0)
        // An upload may be over before it has shown more than its beginning.
        #expect(
            end.screen.contains(/\r\u{1B}\[K\[=+ *\] \w+  \d+ %  \d+ of 300/), "\(end.screen)")
        #expect(
            end.screen.contains(/\r\u{1B}\[Kupload: succeeded: read 300 records: [^)]*\(run 1\)\n/),
            "\(end.screen)")
    }

    @Test func `at a terminal, list and run say who starts the jobs`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - id: a
                kind: command
                schedule: { every: 1h }
                constraints: { storage_free: 900TiB }
                options: { command: ["true"] }

            """
        }
        func onTerminal(_ words: String...) async throws -> String {
            try await TerminalProgram(
                "\(ChildProgram.folder)/clarity-jobs", words,
                environment: playground.terminalEnvironment, columns: 100
            ).finish().screen
        }

        let first = try await onTerminal("list")
        let waits = try await onTerminal("run", "a")
        let loop = try playground.start(["loop"])
        _ = try #require(await loop.readErrorLine())
        let again = try await onTerminal("run", "a")
        let later = try await onTerminal("list")
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(first.contains("no scheduler has run yet: start `clarity-jobs loop`"), "\(first)")
        #expect(waits.contains("no loop runs, the next `run --due` starts it"), "\(waits)")
        #expect(again.contains("the loop starts it once it may"), "\(again)")
        #expect(!later.contains("no scheduler"), "\(later)")
    }

    @Test(arguments: [(["-q"], [:]), ([], ["TERM": "dumb"])] as [([String], [String: String])])
    func `run shows no progress to nobody`(
        words: [String], environment: [String: String]
    ) async throws {
        let playground = try await Playground()
        try playground.writeExport(heartRates: 300)
        try await playground.logIn()
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", ["run", "upload"] + words,
            environment: playground.terminalEnvironment.merging(environment) { $1 }, columns: 90)

        let end = await program.finish()

        #expect(end.status == 0)
        #expect(!end.screen.contains("\u{1B}") && !end.screen.contains("%"), "\(end.screen)")
    }

    // MARK: tables

    @Test(arguments: [[:], ["NO_COLOR": "1"], ["TERM": "dumb"]] as [[String: String]])
    func `tables fit the terminal, and states have a colour if that is wanted`(
        environment: [String: String]
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            Playground.standardJobFile(url: url, folder: folder) + "fresh: { insights: 1d }\n"
        }
        _ = try await playground.run("run", "upload", "cleanup")

        for command in ["history", "list", "status"] {
            let end = try await TerminalProgram(
                "\(ChildProgram.folder)/clarity-jobs", [command],
                environment: playground.terminalEnvironment.merging(["TERM": "xterm"]) { $1 }
                    .merging(environment) { $1 }, columns: 60
            ).finish()

            let lines = end.screen.replacing(/\u{1B}\[\d+m/, with: "").split(separator: "\n")
            #expect(lines.allSatisfy { $0.count <= 60 }, "\(lines)")
            #expect(lines.count > 3)
            #expect(end.screen.contains("\u{1B}[3") == environment.isEmpty, "\(end.screen)")
            #expect(!end.screen.contains(/T\d\d:\d\d:\d\dZ/))
        }
    }

    private static let readingCommands = [
        ["list"], ["status"], ["history"], ["history", "show", "1"], ["explain", "upload"],
        ["explain", "cleanup"], ["doctor"], ["next"], ["dry-run", "upload"],
        ["dry-run", "cleanup"], ["audit"], ["audit", "log"], ["audit", "log", "--verify"],
        ["outbox"], ["outbox", "list"], ["outbox", "show", "1"], ["notices", "list"],
        ["sources"], ["auth", "status"], ["key", "status"], ["backup", "list"],
        ["simulate", "--days", "1"], ["validate"],
    ]

    /// Returns the words of a text in some order, with `TIME` for each time, however it is written.
    private static func words(_ text: String) -> [Substring] {
        text.replacing(/\s+/, with: " ")
            .replacing(
                /(\bat )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|in \d+ (min|s)\b|\b\d+ min ago|(\bjust )?\bnow\b|(today|tomorrow|yesterday|\d{4}-\d\d-\d\d) \d\d:\d\d)/,
                with: "TIME"
            )
            // Times that pass between the two calls.
            .replacing(/\b\d+(d|h|m|s|ms)( \d+(h|m|s|ms))*\b/, with: "SPAN")
            .split(separator: " ").sorted()
    }

    @Test func `at 60 columns, every reading command fits and breaks no word`() async throws {
        let playground = try await Playground()
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()
        _ = try await playground.run("run", "upload", "cleanup")
        _ = try await playground.run("backup")

        for command in Self.readingCommands {
            let program = "\(ChildProgram.folder)/clarity-jobs"
            let piped = try await ChildProgram(
                program, command, environment: playground.terminalEnvironment
            ).finish()
            let end = try await TerminalProgram(
                program, command,
                environment: playground.terminalEnvironment.merging(["TERM": "dumb"]) { $1 },
                columns: 60
            ).finish()

            // A path or a hash that is wider than the terminal has a line of its own.
            let wide = end.screen.split(separator: "\n").filter {
                $0.count > 60 && $0.contains(" ")
            }
            #expect(wide.isEmpty, "\(command)")
            // What the machine measures, such as free space, may change from one to the other.
            let isMeasured = command.first == "doctor"
            func words(_ text: String) -> [Substring] {
                Self.words(text).filter { !isMeasured || Double($0) == nil }
            }
            #expect(words(end.screen) == words(piped.output + piped.errors), "\(command)")
            #expect(!end.screen.contains(/[^"`]\b\d{4}-\d\d-\d\dT[\d:.]+Z/), "\(end.screen)")
        }
    }

    // MARK: logging out

    private static let outQuestion =
        "Log out and remove all data of demo@example.com from this machine? [y/N] "

    @Test func `a confirmed logout prints a receipt and leaves nothing`() async throws {
        let playground = try await Playground()
        try playground.writeExport(heartRates: 3)
        try await playground.logIn()
        try await playground.sandbox?.addFault("POST /health-data/upload: 503 x*")
        _ = try await playground.run("run", "upload")
        let program = try playground.onTerminal("auth", "logout", "--forget-data")
        let asked = await program.read(until: "[y/N] ")

        program.type("y\n")
        let end = await program.finish()
        let status = try await playground.run("auth", "status")

        #expect(
            asked == "3 samples were never sent to the backend and would be lost.\n"
                + Self.outQuestion)
        #expect(end.status == 0)
        #expect(
            end.screen.contains(
                """
                y
                logged out; removed:
                  1 session
                  3 samples
                  1 upload

                """), "\(end.screen)")
        #expect(status.status == 77)
    }

    @Test func `a damaged login does not prevent a logout`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .execute("UPDATE session_record SET sealed = zeroblob(99)")
        let program = try playground.onTerminal("auth", "logout", "--forget-data")
        let asked = await program.read(until: "[y/N] ")

        program.type("y\n")
        let end = await program.finish()

        #expect(asked == "Log out and remove all data from this machine? [y/N] ")
        #expect(end.status == 0, "\(end.screen)")
        #expect(end.screen.contains("logged out; removed:"))
    }

    @Test(arguments: ["n\n", "\n", "\u{4}"])
    func `a declined logout changes nothing`(typed: String) async throws {
        let playground = try await Playground()
        try await playground.logIn()
        let program = try playground.onTerminal("auth", "logout", "--forget-data")
        _ = await program.read(until: "[y/N] ")

        program.type(typed)
        let end = await program.finish()

        #expect(end.status == 1)
        #expect(end.screen.hasSuffix("clarity-jobs: nothing was done\n"), "\(end.screen)")
        #expect(try await playground.run("auth", "status").status == 0)
    }

    @Test func `without a terminal, a removal of the data requires --yes`()
        async throws
    {
        let playground = try await Playground()
        try await playground.logIn()

        let program = try playground.onTerminal(
            "auth", "logout", "--forget-data", hasTerminal: false)
        let end = await program.finish()

        #expect(end.status == 64)
        #expect(
            end.screen
                == "clarity-jobs: there is no terminal to ask on whether to remove all data; use "
                + "--yes to remove it, or leave out --forget-data\n")
        #expect(try await playground.run("auth", "status").status == 0)
    }
}

extension Playground {
    /// Starts `clarity-jobs` on a terminal of its own.
    func onTerminal(_ arguments: String..., hasTerminal: Bool = true) throws -> TerminalProgram {
        try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", arguments,
            environment: terminalEnvironment, hasTerminal: hasTerminal)
    }

    /// The environment of a program on a terminal.
    var terminalEnvironment: [String: String] {
        [
            "CLARITY_JOBS_CONFIG": jobFilePath, "CLARITY_JOBS_STATE": statePath,
            "HOME": folder.path, "PATH": "/usr/bin:/bin",
        ]
    }
}
