import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("auth", .timeLimit(.minutes(5)))
struct AuthProgramTests {
    private static let right = "Demo-Passw0rd!"
    private static let wrong = "Wr0ng-Passw0rd!"

    @Test func `a login is remembered, and the password is not`() async throws {
        let playground = try await Playground()

        let before = try await playground.run("auth", "status")
        let refused = try await login(playground, Self.wrong)
        let login = try await login(playground, Self.right)
        let status = try await playground.run("auth", "status")
        let run = try await playground.run("run", "refresh", "-v")
        let history = try await playground.run("history", "show", "1", "-o", "json")

        #expect(
            before.isRefusal(
                77, "clarity-jobs: nobody is logged in; run `clarity-jobs auth login`"))
        #expect(
            refused.isRefusal(
                77, "clarity-jobs: the backend refused the e-mail address or the password"))
        #expect(login.status == 0 && login.errors == "")
        #expect(
            login.output.wholeMatch(
                of: /logged in as demo@example.com \([0-9a-f-]{36}\) until [0-9T:.-]+Z\n/) != nil)
        #expect(status.status == 0 && status.output.hasPrefix(login.output))
        #expect(run.status == 0)
        for result in [before, refused, login, status, run, history] {
            expectNoPassword(Array((result.output + result.errors).utf8), "an output")
        }
        // The sandbox's own folder is beside the state directory.
        for (name, bytes) in try playground.folder.contents() where !name.hasPrefix("sandbox/") {
            expectNoPassword(bytes, name)
        }
    }

    private func login(_ playground: Playground, _ password: String) async throws -> ProgramResult {
        try await playground.run(
            "auth", "login", "--email", "demo@example.com", "--password-stdin",
            input: "\(password)\n")
    }

    private func expectNoPassword(_ bytes: [UInt8], _ place: String) {
        for password in [Self.right, Self.wrong] {
            #expect(bytes.firstRange(of: Array(password.utf8)) == nil, "a password in \(place)")
        }
    }

    @Test func `a login at an unreachable backend ends with 69`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await login(playground, Self.right)

        #expect(
            result.isRefusal(
                69,
                "clarity-jobs: cannot connect to the backend at `127.0.0.1:9`"
            ))
    }

    @Test func `a login without a password is refused before any request`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.run(
            "auth", "login", "--email", "demo@example.com", "--password-stdin")

        #expect(
            result.isRefusal(
                64, "clarity-jobs: no password on standard input; wanted one line with it"))
    }

    @Test(arguments: [
        (["auth", "login"], ["clarity-jobs: `auth login` wants --email EMAIL"]),
        (["auth"], ["clarity-jobs: `auth` wants a command", "help: clarity-jobs auth --help"]),
    ])
    func `a login names what it lacks`(words: [String], lines: [String]) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(words).finish()

        #expect(result.status == 64 && result.errorLines == lines)
    }
}
