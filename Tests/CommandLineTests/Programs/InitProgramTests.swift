import ClarityTestSupport
@testable import ProgramTestSupport
@testable import clarity_jobs
import Foundation
import Testing

@Suite("init", .timeLimit(.minutes(5)))
struct InitProgramTests {
    private static let password = "Demo-Passw0rd!"

    /// A home without a job file, with an export and a backend.
    private func playground() async throws -> Playground {
        let playground = try await Playground()
        try playground.writeExport(heartRates: 3)
        try FileManager.default.removeItem(atPath: playground.jobFilePath)
        return playground
    }

    private func environment(_ playground: Playground) -> [String: String] {
        var environment = playground.terminalEnvironment
        environment["TZ"] = "Europe/London"
        return environment
    }

    @Test func `a person answers, and has their samples at the backend`() async throws {
        let playground = try await playground()
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", ["init"], environment: environment(playground))
        let answers = [
            ("[keep]: ", "sned\n"), ("write one of: keep, send, jobs", ""), ("[keep]: ", "send\n"),
            ("[2/9] The address of the CLARITY server's API: ", "https://me@\n"),
            ("url holds a user name or password", ""),
            // Without the path of the API.
            (
                "[2/9] The address of the CLARITY server's API: ",
                playground.url.replacing("/api/v1", with: "\n")
            ),
            ("email address of your account: ", "demo@example.org\n"), ("[yes]: ", "\n"),
            ("[apple-health-export]: ", "\n"),
            ("[~/Health/export.zip]: ", "export.xml\n"), ("write the whole path", ""),
            ("[~/Health/export.zip]: ", "\(playground.jobFilePath).answers\n"),
            ("this is no export of the Health app", ""),
            ("[~/Health/export.zip]: ", "\(playground.folder.path)/export.xml\n"),
            ("[Europe/London]: ", "\n"), ("[idle]: ", "later\n"),
            ("write one of: idle, always", ""), ("[idle]: ", "always\n"),
            ("[none]: ", "cron\n"), ("there is no crontab(1) on this machine", ""),
            ("[none]: ", "none\n"), ("Password for demo@example.org: ", "\(Self.password)\n"),
            ("[demo@example.org]: ", "demo@example.com\n"),
            ("Password for demo@example.com: ", "wrong\n"),
            ("[demo@example.com]: ", "\n"),
            ("Password for demo@example.com: ", "\(Self.password)\n"),
        ]
        var seen: [String: Int] = [:]
        for (question, answer) in answers {
            seen[question, default: 0] += 1
            _ = await program.read(until: question, count: seen[question] ?? 1)
            program.type(answer)
        }
        let end = await program.finish()

        #expect(end.status == 0, "\(end.screen)")
        #expect(end.screen.contains("backend: \(playground.url) answers in"))
        #expect(end.screen.contains("2 of 4: wrote \(playground.jobFilePath)"))
        #expect(access("\(playground.jobFilePath).answers", F_OK) != 0)
        #expect(end.screen.contains("What comes next:"))
        #expect(try await playground.sandbox?.sends().samples.count == 3)
        #expect(try await playground.run("validate").status == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: playground.jobFilePath)
        #expect(mode[.posixPermissions] as? Int == 0o600)
        #expect(!end.screen.contains(Self.password))
    }

    @Test func `Ctrl-C at any question leaves the answers, and no job file and no state`()
        async throws
    {
        let playground = try await playground()
        let words = ["init"]
        let answers = [
            ("[keep]: ", "send"), ("server's API: ", playground.url),
            ("of your account: ", "demo@example.com"), ("[yes]: ", "yes"),
            ("[apple-health-export]: ", "apple-health-export"),
            ("[~/Health/export.zip]: ", "\(playground.folder.path)/export.xml"),
            ("[Europe/London]: ", "Europe/London"), ("[idle]: ", "always"), ("[none]: ", "none"),
        ]
        for (count, (question, answer)) in answers.enumerated() {
            let program = try TerminalProgram(
                "\(ChildProgram.folder)/clarity-jobs", words, environment: environment(playground))
            if count > 0 {
                let shown = await program.read(until: "Go on with them? [Y/n] ")
                #expect(shown.contains(": \(answers[count - 1].1)\n"), "\(shown)")
                program.type("\n")
            }
            // The question where the last `init` was interrupted is the first one.
            _ = await program.read(until: question)
            program.type("\(answer)\n")
            // The answer was taken.
            let next = answers.indices.contains(count + 1) ? answers[count + 1].0 : "Password for"
            _ = await program.read(until: next)
            program.type("\u{3}")
            let end = await program.finish()
            #expect(end.status == 130 || end.status == 128 + SIGINT, "\(count): \(end.screen)")
            #expect(access(playground.jobFilePath, F_OK) != 0)
            #expect(access("\(playground.statePath)/health.db", F_OK) != 0)
        }
        let kept = try String(contentsOfFile: "\(playground.jobFilePath).answers", encoding: .utf8)
        let mode = try FileManager.default.attributesOfItem(
            atPath: "\(playground.jobFilePath).answers")
        let last = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", words, environment: environment(playground))
        _ = await last.read(until: "Go on with them? [Y/n] ")
        last.type("\n")
        _ = await last.read(until: "Password for demo@example.com: ")
        last.type("\(Self.password)\n")
        let end = await last.finish()

        #expect(kept.contains("\nemail demo@example.com\n") && !kept.contains(Self.password))
        #expect(mode[.posixPermissions] as? Int == 0o600)
        #expect(end.status == 0, "\(end.screen)")
        #expect(try await playground.sandbox?.sends().samples.count == 3)
        #expect(access("\(playground.jobFilePath).answers", F_OK) != 0)
    }

    @Test func `a person who does not go on is offered the answers`() async throws {
        let playground = try await playground()
        try playground.folder.write(
            "jobs.yaml.answers", Array("goal keep\nsource spool\npath /nowhere\n".utf8))
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", ["init"], environment: environment(playground))
        for (question, answer) in [
            ("Go on with them? [Y/n] ", "n\n"), ("[keep]: ", "\n"),
            ("[spool]: ", "apple-health-export\n"),
            ("[/nowhere]: ", "\(playground.folder.path)/export.zip\n"),
            ("is not there yet. Wait for it? [y/N] ", "\n"),
            ("[\(playground.folder.path)/export.zip]: ", "\(playground.folder.path)/export.xml\n"),
            ("[Europe/London]: ", "\n"), ("[none]: ", "\n"), ("Open the pages now? [Y/n] ", "n\n"),
        ] {
            _ = await program.read(until: question)
            program.type(answer)
        }
        let end = await program.finish()
        let records = try await playground.json("records").elements

        #expect(end.status == 0, "\(end.screen)")
        #expect(records.first?["records"] == .number(3), "\(records)")
        #expect(access("\(playground.jobFilePath).answers", F_OK) != 0)
    }

    @Test func `a person runs a program of their own`() async throws {
        let playground = try await playground()
        let program = try TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", ["init"], environment: environment(playground))
        for (question, answer) in [
            ("[keep]: ", "jobs\n"),
            ("as you type it in a shell: ", "/bin/echo 3 'new' files | wc -w\n"),
            ("15 2 * * *`: ", "now and then\n"), ("for the day of week", ""),
            ("15 2 * * *`: ", "1h\n"),
            ("[Europe/London]: ", "\n"), ("[none]: ", "\n"),
        ] {
            _ = await program.read(until: question, count: answer == "1h\n" ? 2 : 1)
            program.type(answer)
        }
        let end = await program.finish()
        let run = try await playground.run("run", "echo")
        let logs = try await playground.run("logs", "echo")

        #expect(end.status == 0, "\(end.screen)")
        #expect(run.status == 0, "\(run.errors)")
        #expect(logs.output.contains("3\n"), "\(logs.output)")
        #expect(try await playground.json("list").elements.map { $0["job"].text } == ["echo"])
    }

    @Test(arguments: [
        ("clarity.example", ["https://clarity.example/api/v1", "https://clarity.example"]),
        ("http://clarity.example/", ["https://clarity.example/api/v1", "https://clarity.example"]),
        ("https://a.example/api/v1/", ["https://a.example/api/v1"]),
        ("a.example/health", ["https://a.example/health", "https://a.example/health/api/v1"]),
        ("localhost:8787", ["http://localhost:8787/api/v1", "http://localhost:8787"]),
        ("https://127.0.0.1:1/api/v1", ["https://127.0.0.1:1/api/v1"]),
    ])
    func `what is typed stands for the addresses that it may mean`(
        typed: String, addresses: [String]
    ) {
        #expect(SetupAnswers.addresses(typed: typed) == addresses)
    }

    @Test func `a script registers, and nobody is registered without the terms`() async throws {
        let playground = try await Playground(sandboxOptions: ["--dialect", "blueprint"])
        try playground.writeExport(heartRates: 3)
        try FileManager.default.removeItem(atPath: playground.jobFilePath)
        let words = [
            "init", "--yes", "--backend", playground.url, "--email", "new@example.com",
            "--path", "\(playground.folder.path)/export.xml", "--hours", "always", "--start",
            "none",
            "--password-stdin", "--account", "no", "--first-name", "New", "--last-name", "Person",
        ]

        let refused = try await playground.start(words).finish(input: "Invented-Passw0rd!\n")
        let result = try await playground.start(words + ["--accept-terms"]).finish(
            input: "Invented-Passw0rd!\n")

        #expect(refused.status == 64)
        #expect(refused.errors.contains("an account wants its terms accepted"))
        #expect(result.status == 0, "\(result.errors)")
        #expect(try await playground.sandbox?.sends().samples.count == 3)
    }

    @Test func `a script gives the answers as options`() async throws {
        let playground = try await playground()
        let words = [
            "init", "--yes", "--backend", playground.url, "--email", "demo@example.com",
            "--path", "\(playground.folder.path)/export.xml", "--time-zone", "Europe/London",
            "--hours", "always", "--start", "none", "--password-stdin",
        ]

        let result = try await playground.start(words).finish(input: "\(Self.password)\n")
        let status = try await playground.run("status", environment: ["CLARITY_JOBS_STATE": ""])
        let again = try await playground.start(words).finish(input: "\(Self.password)\n")

        #expect(result.status == 0, "\(result.errors)")
        #expect(try await playground.sandbox?.sends().samples.count == 3)
        // Whatever starts the jobs later finds the state that was named now.
        #expect(status.outputLines.contains("state directory: \(playground.statePath)"))
        #expect(
            again.isRefusal(
                78, "clarity-jobs: there is a job file already: `\(playground.jobFilePath)`",
                "help: edit it, or name another with --config FILE"))
    }

    @Test(arguments: [
        ([], 64, "`init --yes` wants --backend"),
        (
            ["--backend", "http://clarity.example"], 64,
            "--backend `http://clarity.example`: url leads to `clarity.example` over http, where anybody on the way can read it"
        ),
        (
            ["--backend", "https://a.example", "--email", "me"], 64,
            "--email `me`: an email address has an `@`"
        ),
        (
            ["--backend", "https://a.example", "--email", "a@b.c", "--path", "export.zip"], 64,
            "--path `export.zip`: write the whole path, or `~/...`"
        ),
        (
            ["--backend", "http://127.0.0.1:9/api", "--email", "a@b.c"], 69,
            "the backend does not answer as it should"
        ),
    ])
    func `a wrong option is refused, and nothing is written`(
        options: [String], status: Int32, message: String
    ) async throws {
        let playground = try await playground()

        let result = try await playground.start(["init", "--yes"] + options).finish()

        #expect(result.status == status)
        #expect(result.errorLines.last == "clarity-jobs: \(message)", "\(result.errors)")
        #expect(access(playground.jobFilePath, F_OK) != 0)
        #expect(access(playground.statePath, F_OK) != 0)
    }

    /// crontab(1) as a script, so that no test changes the crontab of whoever runs it.
    @Test(arguments: [
        ("", "no crontab for you", Int32(0), "started by cron"),
        ("MAILTO=me\n7 * * * *  true\n", nil, 0, "started by cron"),
        ("7 * * * *  true\n", "you may not use this program", 78, "cannot add to the crontab"),
    ])
    func `cron gets one line more, and keeps the others`(
        lines: String, refusal: String?, status: Int32, message: String
    ) async throws {
        let playground = try await playground()
        let folder = playground.folder.path
        try playground.folder.write("crontab.txt", Array(lines.utf8))
        let read = refusal.map { "echo '\($0)' >&2; exit 1" } ?? "cat \(folder)/crontab.txt"
        try playground.folder.write(
            "crontab",
            Array("#!/bin/sh\n[ $1 = - ] && exec cat > \(folder)/crontab.txt\n\(read)\n".utf8))
        chmod("\(folder)/crontab", 0o700)
        let words = [
            "init", "--yes", "--backend", playground.url, "--email", "demo@example.com",
            "--path", "\(folder)/export.xml", "--start", "cron", "--no-sync", "--password-stdin",
        ]

        let result = try await playground.start(
            words, environment: ["PATH": "\(folder):/usr/bin:/bin"]
        ).finish(input: "\(Self.password)\n")

        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains(message))
        let line =
            "*/5 * * * *  '\(ChildProgram.folder)/clarity-jobs' run --due --config "
            + "'\(playground.jobFilePath)'\n"
        let crontab = try String(contentsOfFile: "\(folder)/crontab.txt", encoding: .utf8)
        #expect(crontab == lines + (status == 0 ? line : ""))
    }
}
