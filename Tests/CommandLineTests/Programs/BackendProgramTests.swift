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
