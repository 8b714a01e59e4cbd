import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Testing

/// One command from an export to the pages, for a person without a server.
@Suite("init --archive-only", .timeLimit(.minutes(5)))
struct ArchiveOnlyProgramTests {
    /// A home with an export, and nothing else of this program.
    struct Home {
        let playground: Playground
        var folder: String { playground.folder.path }
        var jobFile: String { "\(folder)/.config/clarity-jobs/jobs.yaml" }
        var state: String { "\(folder)/.local/state/clarity-jobs" }
        var environment: [String: String] {
            ["HOME": folder, "PATH": "/usr/bin:/bin", "TZ": "Europe/London"]
        }

        init() async throws {
            playground = try await Playground(sandboxOptions: nil)
            try FileManager.default.removeItem(atPath: playground.jobFilePath)
        }

        func run(_ words: String...) async throws -> ProgramResult {
            try await ChildProgram.run(
                "\(ChildProgram.folder)/clarity-jobs", words,
                // The tests run in a folder that has a job file.
                environment: environment.merging(["CLARITY_JOBS_CONFIG": jobFile]) { $1 })
        }

        func onTerminal(_ words: String...) throws -> TerminalProgram {
            try TerminalProgram(
                "\(ChildProgram.folder)/clarity-jobs", words, environment: environment)
        }

        func text(of path: String) throws -> String {
            String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        }
    }

    @Test func `one command at a terminal leads from an export to the days on the pages`()
        async throws
    {
        let home = try await Home()
        // A minute apart from 1 October on: a day of 1440 and one of 60.
        try home.playground.writeExport(heartRates: 1500)

        let program = try home.onTerminal(
            "init", "--archive-only", "\(home.folder)/export.xml", "--start", "none", "--serve",
            "--listen", "127.0.0.1:0")
        let screen = await program.read(until: "works once")
        let link = try #require(
            screen.firstMatch(of: /open http:\/\/127\.0\.0\.1:(\d+)(\/enter\?token=\S+)/),
            "\(screen)")
        let port = try #require(UInt16(link.1))
        func send(_ path: String, cookie: String? = nil) async throws -> PagesProgram.Answer {
            let text = try await LoopbackRequest.answer(
                "GET", path, host: "127.0.0.1:\(port)",
                headers: cookie.map { ["Cookie": $0] } ?? [:], body: "", port: port)
            return try #require(PagesProgram.Answer(text), "no answer: \(text)")
        }
        let cookie = try #require(try await send(String(link.2)).cookie)
        let days = try await send(
            "/api/v1/metrics/heart_rate?since=2026-10-01", cookie: cookie)
        program.type("\u{3}")
        let end = await program.finish()

        let shown = try days.json["measures"].elements.first?["days"].elements ?? []
        #expect(shown.map { $0["day"].text } == ["2026-10-01", "2026-10-02"], "\(days)")
        #expect(end.status == 130, "\(end.screen)")
        for line in [
            "1 of 3: reading \(home.folder)/export.xml", "2 of 3: writing \(home.jobFile)",
            "3 of 3: starting the jobs", "clarity-jobs loop",
            "The job file: \(home.jobFile)", "History and data: \(home.state)",
            "nobody can read it without this key: \(home.state)/keys/master.key",
            "A new export at \(home.folder)/export.xml is read by itself.",
        ] { #expect(end.screen.contains(line), "\(line): \(end.screen)") }
        #expect(!end.screen.contains("]: "), "it asks nothing")
        #expect(try await home.run("validate").status == 0)
    }

    @Test func `the job file names no server, and a new export is read by itself`() async throws {
        let home = try await Home()
        try home.playground.writeExport(heartRates: 3)

        let setUp = try await home.run(
            "init", "--archive-only", "\(home.folder)/export.xml", "--start", "none")
        let again = try await home.run("run", "--due")
        try home.playground.writeExport(heartRates: 7)
        let due = try await home.run("run", "--due")
        let history = try JSONValue(
            try await home.run("history", "com.clarity.import", "-o", "json").output
        ).elements
        let status = try await home.run("status")

        #expect(setUp.status == 0, "\(setUp.errors)")
        #expect(!(try home.text(of: home.jobFile)).contains("\nbackend:"))
        #expect(again.status == 0 && due.status == 0, "\(again.errors)\(due.errors)")
        #expect(history.first?["counts"]["samples_new"] == .number(4), "\(history)")
        #expect(status.status == 0, "\(status.output)")
    }

    @Test(arguments: [
        ("nothing.zip", nil, "no such file or directory"),
        ("empty.zip", "", "the file is empty"),
        ("photo.jpg", "JFIF", "this is no export of the Health app"),
        (".", nil, "there is no export.xml in this folder"),
    ])
    func `what is no export is refused before anything is written`(
        name: String, content: String?, problem: String
    ) async throws {
        let home = try await Home()
        if let content { try home.playground.folder.write(name, Array(content.utf8)) }

        let result = try await home.run("init", "--archive-only", "\(home.folder)/\(name)")

        #expect(
            result.isRefusal(
                66, "clarity-jobs: cannot read `\(home.folder)/\(name)`: \(problem)",
                "help: name the export.zip that the Health app made, or the folder in it"),
            "\(result.errors)")
        #expect(access("\(home.folder)/.config", F_OK) != 0)
        #expect(access("\(home.folder)/.local", F_OK) != 0)
    }

    @Test func `an export that breaks off leaves no job file, and the same command goes on`()
        async throws
    {
        let home = try await Home()
        let words = ["init", "--archive-only", "\(home.folder)/export.xml", "--start", "none"]
        func initialise() async throws -> ProgramResult {
            try await ChildProgram.run(
                "\(ChildProgram.folder)/clarity-jobs", words, environment: home.environment)
        }
        try home.playground.useExample("export.zip", bytes: 30_000)

        let broken = try await initialise()
        let isThere = access(home.jobFile, F_OK) == 0
        try home.playground.useExample("export.zip")
        let whole = try await initialise()
        let third = try await initialise()

        #expect(broken.status != 0 && !isThere, "\(broken.errors)")
        #expect(broken.errors.contains("so nothing was set up"), "\(broken.errors)")
        #expect(whole.status == 0, "\(whole.errors)")
        #expect(
            third.isRefusal(
                78, "clarity-jobs: there is a job file already: `\(home.jobFile)`",
                "help: edit it, or name another with --config FILE"), "\(third.errors)")
        #expect(try await home.run("audit").status == 0)
    }

    @Test func `a starter that fails is named, and the line that starts the jobs`() async throws {
        let home = try await Home()
        try home.playground.writeExport(heartRates: 3)

        let result = try await ChildProgram.run(
            "\(ChildProgram.folder)/clarity-jobs",
            ["init", "--archive-only", "\(home.folder)/export.xml", "--start", "cron"],
            environment: home.environment.merging(["PATH": home.folder]) { $1 })

        #expect(result.status == 78, "\(result.errors)")
        #expect(result.errors.contains("cannot add to the crontab"), "\(result.errors)")
        #expect(
            result.errors.contains(
                "\n  */5 * * * *  '\(ChildProgram.folder)/clarity-jobs' run --due --config "
                    + "'\(home.jobFile)'\n"), "\(result.errors)")
        #expect(try await home.run("validate").status == 0)
    }
}
