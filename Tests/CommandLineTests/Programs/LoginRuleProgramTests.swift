import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("the rule of logins", .timeLimit(.minutes(5)))
struct LoginRuleProgramTests {
    private func login(
        _ playground: Playground, _ password: String
    ) async throws -> ProgramResult {
        try await playground.run(
            "auth", "login", "--email", "demo@example.com", "--password-stdin",
            input: "\(password)\n")
    }

    @Test func `the third login within 15 minutes is not sent`() async throws {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        _ = try await login(playground, "Wr0ng-Passw0rd!")
        _ = try await login(playground, "Wr0ng-Passw0rd!")

        let third = try await login(playground, "Demo-Passw0rd!")

        #expect(third.status == 75 && third.output == "")
        #expect(
            third.errors.wholeMatch(
                of:
                    /clarity-jobs: a login was tried twice within 15 minutes; the next may be tried at [0-9T:.-]+Z\n/
            ) != nil, "\(third.errors)")
        #expect(try await sandbox.answers("401") == 2)
        #expect(try await sandbox.answers("200") == 0)
    }

    @Test func `a correct login does not count towards the limit`() async throws {
        let playground = try await Playground()

        var statuses: [Int32] = []
        for _ in 0..<4 { statuses.append(try await login(playground, "Demo-Passw0rd!").status) }

        #expect(statuses == [0, 0, 0, 0])
    }

    @Test func `a login that the backend limits says when to try again`() async throws {
        let playground = try await Playground(
            sandboxOptions: ["--dialect", "loop", "--quirks", "measured"])
        try await playground.sandbox?.addFault("POST /auth/login: 429 retry-after=0")

        let limited = try await login(playground, "Demo-Passw0rd!")

        #expect(limited.status == 75)
        #expect(
            limited.errors
                == "clarity-jobs: the backend takes no further login for now (429); try again in 1m\n"
        )
    }

    @Test func `of several logins at the same time, two are sent`() async throws {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        // Creates the store, so that no login waits for that.
        _ = try await login(playground, "Wr0ng-Passw0rd!")

        let statuses = try await withThrowingTaskGroup(of: Int32.self) { group in
            for _ in 0..<4 {
                group.addTask { try await login(playground, "Wr0ng-Passw0rd!").status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        #expect(statuses.sorted() == [75, 75, 75, 77])
        #expect(try await sandbox.answers("401") == 2)
    }

    @Test func `a login that reached no backend does not count`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let results = try await [0, 1, 2].asyncMap { _ in
            try await login(playground, "Demo-Passw0rd!").status
        }

        #expect(results == [69, 69, 69])
    }

    // MARK: with a credential

    /// Returns the environment of a service whose manager passes it the password.
    private func credential(
        _ playground: Playground, _ password: String
    ) throws -> [String: String] {
        try playground.folder.write("clarity-jobs.password", Array("\(password)\n".utf8))
        return ["CREDENTIALS_DIRECTORY": playground.folder.path]
    }

    @Test func `the credential replaces an ended session`() async throws {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        let environment = try credential(playground, "Demo-Passw0rd!")
        let login = try await playground.run(
            "auth", "login", "--email", "demo@example.com", environment: environment)
        try await sandbox.expireAllTokens()

        let run = try await playground.run("run", "refresh", environment: environment)
        let status = try await playground.json("auth", "status")
        try await sandbox.expireAllTokens()
        let second = try await playground.run("run", "refresh", environment: environment)
        try await sandbox.expireAllTokens()
        let usedUp = try await playground.run("run", "refresh", environment: environment)

        #expect(login.status == 0, "\(login.errors)")
        #expect(run.status == 0, "\(run.errors)")
        #expect(status["logins_left"] == .number(1))
        #expect(second.status == 0, "\(second.errors)")
        #expect(usedUp.status == 77)
        #expect(usedUp.errors.contains("a login was tried twice within 15 minutes"))
    }

    @Test func `without the credential, a person must log in`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        try await playground.sandbox?.expireAllTokens()

        let run = try await playground.run("run", "refresh")
        let status = try await playground.run("auth", "status")

        #expect(run.status == 75)
        #expect(run.errors.contains("the session has ended; run `clarity-jobs auth login`"))
        #expect(status.status == 77 && status.output == "")
        #expect(
            status.errors.wholeMatch(
                of:
                    /clarity-jobs: nobody is logged in; run `clarity-jobs auth login`\nlast refusal: [0-9T:.-]+Z: the backend refused to renew the session\nlogins left: 2 of 2\n/
            ) != nil, "\(status.errors)")
    }

    @Test func `after a logout, the credential does not log in again`() async throws {
        let playground = try await Playground()
        let environment = try credential(playground, "Demo-Passw0rd!")
        try await playground.logIn()
        _ = try await playground.run("auth", "logout")

        let run = try await playground.run("run", "refresh", environment: environment)

        #expect(run.status == 75)
        #expect(run.errors.contains("waits for a login; run `clarity-jobs auth login`"))
    }

    @Test func `a credential that others may read is refused`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let environment = try credential(playground, "Demo-Passw0rd!")
        let path = "\(playground.folder.path)/clarity-jobs.password"
        chmod(path, 0o644)

        let login = try await playground.run(
            "auth", "login", "--email", "demo@example.com", environment: environment)

        #expect(
            login.isRefusal(
                78,
                "clarity-jobs: the password `\(path)` is open to others (mode 0644); make it 0600"))
    }
}

extension Array {
    fileprivate func asyncMap<Result>(
        _ body: (Element) async throws -> Result
    ) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
