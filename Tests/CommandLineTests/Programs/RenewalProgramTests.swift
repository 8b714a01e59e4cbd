import HealthStore
import ClarityScheduler
import Platform
import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("the renewal of a session", .timeLimit(.minutes(5)))
struct RenewalProgramTests {
    /// A refresh token works once: two renewals with the same one would end the session.
    @Test func `two processes renew a session once`() async throws {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try await sandbox.expireTokens()
        try await sandbox.addFault("POST /auth/refresh: latency=6s")
        let before = try await sandbox.answers("200")
        let first = try playground.start(["run", "refresh"])
        try await sandbox.wait(for: before + 1) { try await $0.answers("200") }

        let second = try await playground.run("run", "insights")
        let end = await first.finish()

        #expect(end.status == 0, "\(end.errors)")
        #expect(second.status == 0, "\(second.errors)")
        // Each process met the expired token, and no renewal was refused.
        #expect(try await sandbox.answers("401") == 2)
        let status = try await playground.json("auth", "status")
        #expect(isInstant(status["renewed_at"].text))
        #expect(status["last_refusal"] == .null)
    }

    @Test(arguments: ["500", "503", "hang", "outage"])
    func `an outage does not end a session, and the run waits`(outage: String) async throws {
        let playground = try await Playground { url, folder in
            Playground.standardJobFile(url: url, folder: folder)
                .replacing(
                    "schedule: { every: 4h } }", with: "schedule: { every: 4h }, timeout: 4s }")
        }
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try await sandbox.expireTokens()
        try await sandbox.addFault("POST /auth/refresh: \(outage) x*")

        let during = try await playground.run("run", "refresh")
        let status = try await playground.run("auth", "status")
        try await sandbox.clearFaults()
        let after = try await playground.run("run", "insights")

        #expect(during.status == 75, "\(during.errors)")
        #expect(status.status == 0, "\(status.errors)")
        #expect(after.status == 0, "\(after.errors)")
    }

    @Test func `an ended refresh token lets the run wait if it may be an outage`()
        async throws
    {
        let playground = try await Playground(
            sandboxOptions: ["--dialect", "loop", "--quirks", "measured"])
        try await playground.logIn()
        try await playground.sandbox?.expireAllTokens()

        let run = try await playground.run("run", "refresh")
        let status = try await playground.run("auth", "status")

        #expect(run.status == 75)
        #expect(run.errors.contains("if this goes on, run `clarity-jobs auth login`"))
        #expect(status.status == 0)
        #expect(status.output.contains("demo@example.com"))
    }

    @Test func `a logout with an ended refresh token succeeds`() async throws {
        let playground = try await Playground(
            sandboxOptions: ["--dialect", "loop", "--quirks", "measured"])
        try await playground.logIn()
        try await playground.sandbox?.expireAllTokens()

        let logout = try await playground.run("auth", "logout")

        #expect(logout.status == 0 && logout.errors == "", "\(logout.errors)")
        #expect(logout.output == "logged out; the data stays on this machine\n")
    }

    @Test func `a failed renewal with a valid access token fails no run`() async throws {
        // A session is renewed within the minute before it expires.
        let playground = try await Playground(sandboxOptions: ["--token-life", "50s"])
        try await playground.logIn()
        try await playground.sandbox?.addFault("POST /auth/refresh: 500 x*")

        let run = try await playground.run("run", "insights")

        #expect(run.status == 0, "\(run.errors)")
    }

    @Test func `auth status shows the last refusal`() async throws {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try await sandbox.expireTokens()
        try await sandbox.addFault("POST /auth/refresh: 500 x*")
        _ = try await playground.run("run", "refresh")

        let status = try await playground.json("auth", "status")

        #expect(status["last_refusal"]["reason"] == .string("the backend is out of order (500)"))
        #expect(isInstant(status["last_refusal"]["at"].text))
        #expect(status["renewed_at"] == .null)
    }

    // MARK: a session that may have ended

    /// A home with the jobs that need nothing but a session: no other run waits at `run --due`.
    private func readersOnly() async throws -> Playground {
        try await Playground(
            sandboxOptions: ["--dialect", "loop", "--quirks", "measured"]
        ) { url, _ in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            jobs:
              - { id: refresh, kind: refresh, class: app-refresh, schedule: { every: 4h } }
              - { id: insights, kind: insight-history, schedule: { every: 12h } }

            """
        }
    }

    /// Records two renewals that the backend answered with an error 1,000 s ago, as jobs of that time
    /// did.
    private func refuseEarlier(_ playground: Playground) throws -> Instant {
        let store = try HealthStore(stateDirectory: playground.statePath, environment: [:])
        let since = SystemClock().now - .seconds(1000)
        for _ in 0..<2 {
            _ = try store.sessions.noteRefusal("out of order", isTrouble: true, at: since)
        }
        return since
    }

    @Test func `a session whose renewal is refused for long does not look alive`() async throws {
        let playground = try await readersOnly()
        try await playground.logIn()
        try await playground.sandbox?.expireAllTokens()
        let since = try refuseEarlier(playground)

        let run = try await playground.run("run", "refresh")
        let waiting = try await playground.lastRun(of: "refresh")
        let auth = try await playground.run("auth", "status")
        let object = try JSONValue(try await playground.run("auth", "status", "-o", "json").output)
        let status = try await playground.run("status")
        let session = try JSONValue(try await playground.run("status", "-o", "json").output)[
            "session"]

        #expect(run.status == 75, "\(run.errors)")
        #expect(
            run.errors.contains(
                "waits for a login: the backend has refused to renew the session since \(since) (500)"
            ),
            "\(run.errors)")
        #expect(waiting["needs"] == .string("login") && waiting["state"] == .string("enqueued"))
        #expect(auth.status == 77, "\(auth.output)")
        #expect(
            auth.outputLines.first?.hasPrefix(
                "the backend has refused to renew the session of demo@example.com (") == true
                && auth.outputLines.first?.hasSuffix(
                    ") since \(since): jobs wait for a login; run `clarity-jobs auth login`")
                    == true,
            "\(auth.output)")
        #expect(object["renewal_refused_since"] == .string("\(since)"))
        #expect(
            status.outputLines.contains(
                "session: the backend has refused to renew it since \(since); see `clarity-jobs auth login`"
            ), "\(status.output)")
        #expect(session["logged_in"] == .bool(false))
        #expect(session["renewal_refused_since"] == .string("\(since)"))
        try await playground.logIn()
        let after = try await playground.run("run", "--due")
        #expect(after.status == 0, "\(after.errors)")
        #expect(try await playground.lastRun(of: "refresh")["state"] == .string("succeeded"))
    }

    @Test func `an outage that looked like an ended session ends without a login`() async throws {
        let playground = try await readersOnly()
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try await sandbox.expireTokens()
        _ = try refuseEarlier(playground)
        try await sandbox.addFault("POST /auth/refresh: outage x*")
        let run = try await playground.run("run", "refresh")
        try await sandbox.clearFaults()

        let other = try await playground.run("run", "insights")
        let due = try await playground.run("run", "--due")

        #expect(run.status == 75)
        #expect(other.status == 0, "\(other.errors)")
        #expect(due.status == 0, "\(due.errors)")
        #expect(try await playground.lastRun(of: "refresh")["state"] == .string("succeeded"))
        #expect(try await playground.run("auth", "status").status == 0)
    }
}
