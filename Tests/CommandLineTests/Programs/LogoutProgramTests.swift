import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite("auth logout and its data", .timeLimit(.minutes(5)))
struct LogoutProgramTests {
    private static let tables = [
        "session", "session_record", "owner", "profile", "outbox", "batches", "metrics", "insights",
        "archive", "sources",
    ]

    /// Returns the number of rows in each table with a user's data, without empty tables.
    private func rows(_ playground: Playground) throws -> [String: Int] {
        let health = try FileConnection(
            path: "\(playground.statePath)/health.db", access: .readOnly)
        var counts: [String: Int] = [:]
        for table in Self.tables {
            let count = try health.first("SELECT count(*) FROM \(table)") { Int($0.integer(0)) }
            if let count, count > 0 { counts[table] = count }
        }
        return counts
    }

    private func register(_ email: String, _ sandbox: Sandbox) async throws {
        _ = try await LoopbackRequest.send(
            "POST", "/api/v1/auth/register",
            body: """
                {"email":"\(email)","password":"Other-Passw0rd!","first_name":"E","last_name":"V",\
                "terms_accepted":true,"privacy_policy_accepted":true}
                """, port: sandbox.port)
    }

    private func login(
        _ playground: Playground, _ email: String, _ password: String
    ) async throws -> ProgramResult {
        try await playground.run(
            "auth", "login", "--email", email, "--password-stdin", input: "\(password)\n")
    }

    @Test func `two accounts on one state directory never see each other's rows`() async throws {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        try await register("eve@example.com", sandbox)
        try playground.writeExport(heartRates: 40)
        try await playground.logIn()
        _ = try await playground.run("run", "refresh")
        try await sandbox.addFault("POST /health-data/upload: 503 x*")
        _ = try await playground.run("run", "upload")
        try await sandbox.clearFaults()
        let whileDemo = try rows(playground)

        let early = try await login(playground, "eve@example.com", "Other-Passw0rd!")
        let logout = try await playground.run(
            "auth", "logout", "--forget-data", "--yes", "--output", "json")
        let left = try rows(playground)
        try playground.folder.write("export.xml", Array("<HealthData></HealthData>\n".utf8))
        let late = try await login(playground, "eve@example.com", "Other-Passw0rd!")
        let upload = try await playground.run("run", "upload")
        let refresh = try await playground.run("run", "refresh")

        #expect(whileDemo["outbox"] == 40 && whileDemo["metrics"] == 12)
        #expect(
            early.isRefusal(
                78,
                "clarity-jobs: `\(playground.statePath)/health.db` belongs to another user; give "
                    + "this one a state directory of its own"))
        #expect(logout.status == 0, "\(logout.errors)")
        let removed = try JSONValue(logout.output)["removed"]
        #expect(removed["samples"] == .number(40) && removed["metrics"] == .number(12))
        #expect(left == [:])
        #expect(late.status == 0, "\(late.errors)")
        #expect(upload.status == 0, "\(upload.errors)")
        #expect(refresh.status == 0, "\(refresh.errors)")
        #expect(try await sandbox.count("metrics") == 0)
        #expect(
            try rows(playground).filter { ["outbox", "metrics", "insights"].contains($0.key) }
                == [:])
    }

    @Test func `a logout keeps the archive and what was fetched, and ends the session`()
        async throws
    {
        let playground = try await Playground.quick()
        try playground.writeExport(heartRates: 40)
        try await playground.logIn()
        for job in ["refresh", "upload"] { _ = try await playground.run("run", job) }
        let before = try rows(playground)

        let logout = try await playground.run("auth", "logout")
        let after = try rows(playground)
        let records = try await playground.json("records").elements
        let session = try await playground.run("auth", "status")

        #expect(logout.status == 0, "\(logout.errors)")
        #expect(logout.outputLines == ["logged out; the data stays on this machine"])
        #expect(before["session"] == 1 && after["session"] == nil)
        for table in ["metrics", "profile", "sources", "outbox"] {
            #expect(after[table] == before[table] && after[table] != nil, "\(table): \(after)")
        }
        #expect(records.first?["records"] == .number(40), "\(records)")
        #expect(session.status == 77, "\(session.output)")
    }

    @Test func `a running attempt restores nothing after a logout`() async throws {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 40)
        try await playground.logIn()
        try await sandbox.addFault("POST /health-data/upload: latency=8s")
        let attempt = try playground.start(["run", "upload"])
        try await sandbox.wait(for: 1) { try await $0.count("uploads") }
        // The worker is stopped, so that it sees the answer after the logout, however long that
        // takes.
        let worker = try #require(ProcessTable.children(of: attempt.processID).first)
        kill(worker, SIGSTOP)

        let logout = try await playground.run("auth", "logout", "--forget-data", "--yes")
        kill(worker, SIGCONT)
        let end = await attempt.finish()
        let next = try await playground.run("run", "upload")

        #expect(try await sandbox.count("uploads") == 1)
        #expect(logout.status == 0, "\(logout.errors)")
        #expect(end.status == 77)
        #expect(
            end.errors.contains("a logout has removed everything since this began"),
            "\(end.errors)")
        #expect(next.status == 75)
        #expect(next.errors.contains("waits for a login; run `clarity-jobs auth login`"))
        #expect(try rows(playground) == [:])
    }

    @Test func `a running renewal restores no session`() async throws {
        let playground = try await Playground()
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try await sandbox.expireTokens()
        try await sandbox.addFault("POST /auth/refresh: latency=1500ms")
        let before = try await sandbox.answers("200")
        let attempt = try playground.start(["run", "refresh"])
        try await sandbox.wait(for: before + 1) { try await $0.answers("200") }

        let logout = try await playground.run("auth", "logout", "--forget-data", "--yes")
        _ = await attempt.finish()

        #expect(logout.status == 0 || logout.status == 77, "\(logout.errors)")
        #expect(try rows(playground) == [:])
    }

    @Test func `a logout deletes everything even if the backend is down, and says so`() async throws
    {
        let playground = try await Playground()
        try await playground.logIn()
        _ = try await playground.run("run", "refresh")
        try await playground.sandbox?.addFault("POST /auth/logout: 503 x*")

        let logout = try await playground.run("auth", "logout", "--forget-data", "--yes")
        let again = try await playground.run("auth", "logout", "--forget-data", "--yes")

        #expect(logout.status == 69)
        #expect(logout.outputLines.first == "logged out; removed:")
        #expect(logout.errorLines == ["clarity-jobs: the backend is out of order (503)"])
        #expect(try rows(playground) == [:])
        #expect(
            again.isRefusal(
                77, "clarity-jobs: nobody is logged in; run `clarity-jobs auth login`"))
    }

    @Test func `data that an ended session left behind can be deleted`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        _ = try await playground.run("run", "refresh")
        _ = try await playground.run("auth", "logout")
        let kept = try rows(playground)

        let logout = try await playground.run("auth", "logout", "--forget-data", "--yes")

        #expect(kept["metrics"] == 12 && kept["session"] == nil)
        #expect(logout.status == 0 && logout.errors == "")
        #expect(try rows(playground) == [:])
    }
}
