import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("doctor --backend, auth register and auth verify", .timeLimit(.minutes(5)))
struct BackendProgramTests {
    @Test(arguments: ["blueprint", "loop"])
    func `the backend's answer, dialect, limits, clock and session are shown`(
        dialect: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: ["--dialect", dialect])

        let before = try await playground.run("doctor", "--backend")
        try await playground.logIn()
        let after = try await playground.run("doctor", "--backend")
        let json = try await playground.json("doctor", "--backend")

        let lines = after.outputLines
        #expect(before.status == 0 && after.status == 0, "\(before.errors)")
        #expect(before.outputLines.contains("session: nobody is logged in"))
        #expect(lines.first?.hasPrefix("backend: \(playground.url) answers in") == true)
        #expect(lines.contains("dialect: \(dialect)"))
        #expect(lines.contains("clock: agrees with the backend's to the second"))
        #expect(lines.contains { $0.hasPrefix("session: logged in until ") })
        #expect(lines.contains { $0.hasPrefix("service: says it is healthy") })
        #expect(lines.contains { $0.hasPrefix("insights: ") })
        #expect(json["ok"] == .bool(true) && json["findings"].elements.count == lines.count)
    }

    /// The deployed backend with all its faults; the blueprint has none of them.
    @Test func `doctor names the known faults of the backend as its own, and what works`()
        async throws
    {
        let deployed = try await Playground(sandboxOptions: [
            "--dialect", "loop", "--quirks", "measured",
        ])
        try await deployed.logIn()
        let other = try await Playground(sandboxOptions: ["--dialect", "blueprint"])
        try await other.logIn()

        let text = try await deployed.run("doctor", "--backend")
        let json = try await deployed.json("doctor", "--backend")
        let none = try await other.run("doctor", "--backend")

        let fault = "a known fault of the backend, nothing for you to mend: "
        #expect(text.status == 0, "\(text.errors)")
        #expect(
            text.outputLines.filter { $0.contains("known fault") } == [
                "route `metrics`: \(fault)as measured, it answers 500 to every upload of metrics; "
                    + "uploads of samples, the default, work",
                "list of metrics: \(fault)as measured, it is always empty; uploads, insights and "
                    + "the profile work",
                "insights: \(fault)it shows neither their state nor a single one (404); their "
                    + "history works",
            ])
        #expect(json["findings"].elements.allSatisfy { $0["good"] == .bool(true) }, "\(json)")
        #expect(none.status == 0 && !none.output.contains("known fault"), "\(none.output)")
    }

    @Test func `a run, its history and the status name a known fault of the backend`() async throws
    {
        let playground = try await Playground(
            sandboxOptions: ["--dialect", "loop", "--quirks", "measured"]
        ) { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "kind: bulk-upload", with: "kind: bulk-upload\n    options: { route: metrics }")
        }
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 3)
        try await playground.logIn()

        let run = try await playground.run("run", "upload")
        let history = try #require(try await playground.history("upload").first)
        let status = try await playground.run("status")

        let words =
            "a known fault of the backend, nothing for you to mend: as measured, it "
            + "answers 500 to every upload of metrics; uploads of samples, the default, work"
        #expect(try await sandbox.answers("500") > 0)
        #expect(try await sandbox.count("metrics") == 0)
        #expect(run.errors.contains(words), "\(run.errors)")
        #expect(history.failure == words)
        #expect(status.output.contains(words), "\(status.output)")
        #expect(!status.output.contains("out of order"))
    }

    @Test func `a backend that is not there is said so, and nothing is created`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.run("doctor", "--backend")

        #expect(result.status == 69)
        #expect(result.output.hasPrefix("backend: "))
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `somebody registers and logs in`() async throws {
        let playground = try await Playground(sandboxOptions: ["--dialect", "blueprint"])

        let result = try await playground.run(
            "auth", "register", "--email", "new@example.com", "--first-name", "New",
            "--last-name", "Person", "--accept-terms", "--password-stdin",
            input: "Invented-Passw0rd!\n")
        let login = try await playground.run(
            "auth", "login", "--email", "new@example.com", "--password-stdin",
            input: "Invented-Passw0rd!\n")
        let twice = try await playground.run(
            "auth", "register", "--email", "new@example.com", "--first-name", "New",
            "--last-name", "Person", "--accept-terms", "--password-stdin",
            input: "Invented-Passw0rd!\n")

        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.hasPrefix("registered new@example.com\n"))
        #expect(login.status == 0, "\(login.errors)")
        #expect(twice.status == 77, "\(twice.errors)")
    }

    @Test func `a backend that takes no registrations is believed`() async throws {
        let playground = try await Playground(sandboxOptions: [
            "--dialect", "loop", "--quirks", "no-signup",
        ])

        let result = try await playground.run(
            "auth", "register", "--email", "new@example.com", "--password-stdin",
            input: "Invented-Passw0rd!\n")
        let code = try await playground.run(
            "auth", "verify", "--email", "demo@example.com", "--code", "000000")

        #expect(result.isRefusal(77, "clarity-jobs: the backend takes no registrations"))
        #expect(code.status == 77 || code.status == 1, "\(code)")
        #expect(!code.errors.contains("000000"))
    }
}
