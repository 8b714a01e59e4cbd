import ClarityTestSupport
@testable import ProgramTestSupport
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
            ("server's API: ", "clarity.example\n"), ("does not start with `https://`", ""),
            ("server's API: ", "\(playground.url)\n"),
            ("email address of your account: ", "demo@example.com\n"), ("[yes]: ", "\n"),
            ("[apple-health-export]: ", "\n"),
            ("[~/Health/export.zip]: ", "\(playground.folder.path)/export.xml\n"),
            ("[Europe/London]: ", "\n"), ("[idle]: ", "later\n"),
            ("write one of: idle, always", ""), ("[idle]: ", "always\n"),
            ("[none]: ", "none\n"), ("Password for demo@example.com: ", "wrong\n"),
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
        #expect(end.screen.contains("wrote \(playground.jobFilePath)"))
        #expect(end.screen.contains("What comes next:"))
        #expect(try await playground.sandbox?.sends().samples.count == 3)
        #expect(try await playground.run("validate").status == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: playground.jobFilePath)
        #expect(mode[.posixPermissions] as? Int == 0o600)
        #expect(!end.screen.contains(Self.password))
    }

    @Test func `Ctrl-C at any question leaves no job file and no state`() async throws {
        let playground = try await playground()
        for count in 0..<7 {
            let program = try TerminalProgram(
                "\(ChildProgram.folder)/clarity-jobs", ["init"],
                environment: environment(playground))
            let answers = [playground.url, "demo@example.com", "", "", "", "", ""]
            for (index, answer) in answers.prefix(count).enumerated() {
                _ = await program.read(until: ": ", count: index + 1)
                program.type("\(answer)\n")
            }
            _ = await program.read(until: ": ", count: count + 1)
            program.type("\u{3}")
            let end = await program.finish()
            #expect(end.status == 130 || end.status == 128 + SIGINT, "\(count): \(end.screen)")
        }

        #expect(access(playground.jobFilePath, F_OK) != 0)
        #expect(access(playground.statePath, F_OK) != 0)
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
