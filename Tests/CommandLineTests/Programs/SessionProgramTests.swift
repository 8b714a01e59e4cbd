import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("auth status and logout", .timeLimit(.minutes(5)))
struct SessionProgramTests {
    private func login(_ playground: Playground) async throws -> ProgramResult {
        try await playground.run(
            "auth", "login", "--email", "demo@example.com", "--password-stdin",
            input: "Demo-Passw0rd!\n")
    }

    @Test(arguments: ["json", "ndjson"])
    func `auth status is also a JSON object`(form: String) async throws {
        let playground = try await Playground()
        let login = try await login(playground)

        let status = try await playground.run("auth", "status", "--output", form)

        #expect(login.status == 0)
        #expect(status.status == 0 && status.errors == "")
        let object = try JSONValue(status.output)
        #expect(object["email"] == .string("demo@example.com"))
        #expect(object["backend"] == .string(playground.url))
        #expect(isInstant(object["expires_at"].text) && isInstant(object["logged_in_at"].text))
        #expect(object["renewed_at"] == .null && object["last_refusal"] == .null)
        #expect(object["logins_left"] == .number(2) && object["next_login_at"] == .null)
    }

    @Test func `a logout ends the session and keeps the data`() async throws {
        let playground = try await Playground()
        _ = try await login(playground)

        let logout = try await playground.run("auth", "logout")
        let status = try await playground.run("auth", "status", "-o", "json")
        let again = try await playground.run("auth", "logout")
        let files = try playground.folder.contents().keys

        #expect(
            logout.status == 0 && logout.output == "logged out; the data stays on this machine\n"
                && logout.errors == "")
        for result in [status, again] {
            #expect(result.status == 77 && result.output == "")
            #expect(
                result.errors.hasSuffix("nobody is logged in; run `clarity-jobs auth login`\n"))
        }
        #expect(files.contains("state/health.db") && files.contains("state/keys/master.key"))
    }
}
