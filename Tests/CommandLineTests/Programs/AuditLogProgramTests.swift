import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

@Suite("audit log", .timeLimit(.minutes(5)))
struct AuditLogProgramTests {
    @Test func `the audit log shows every action and can be verified`() async throws {
        let playground = try await Playground.quick()
        try await playground.logIn()
        try playground.writeExport(heartRates: 3)
        #expect(try await playground.run("run", "upload").status == 0)

        let log = try await playground.run("audit", "log")
        let json = try await playground.json("audit", "log", "--since", "7d").elements
        let lines = try await playground.run("audit", "log", "-o", "ndjson").outputLines
        let proof = try await playground.run("audit", "log", "--verify")
        let object = try await playground.json("audit", "log", "--verify")
        let audit = try await playground.run("audit")

        #expect(log.status == 0 && log.errors == "")
        #expect(
            log.outputLines.prefix(3).map { $0.replacing(/\d{4}-[0-9T:.-]+Z/, with: "TIME") } == [
                "1  TIME  logged in  clarity-jobs",
                "2  TIME  read  heart_rate 3  (from a source, all new)  upload run 1 attempt 1",
                "3  TIME  sent  heart_rate 3  (the backend took it)  upload run 1 attempt 1",
            ])
        #expect(json.count == log.outputLines.count && lines.count == json.count)
        #expect(json[2]["action"].text == "sent")
        #expect(json[2]["counts"]["heart_rate"].number == 3)
        #expect(json[2]["run"].number == 1)
        #expect(proof.status == 0)
        #expect(
            proof.output
                == "the log is sound: \(json.count) entries, head \(json.last?["hash"].text ?? "none")\n"
        )
        #expect(object["sound"] == .bool(true))
        #expect(audit.status == 0 && audit.output.hasPrefix("the history is sound"))
    }

    @Test func `a broken log names its first broken entry`() async throws {
        let playground = try await Playground()
        try await playground.logIn()
        #expect(try await playground.run("run", "refresh").status == 0)
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .execute("DELETE FROM audit WHERE number = 2")

        let proof = try await playground.run("audit", "log", "--verify")
        let object = try await playground.json(status: 1, "audit", "log", "--verify")

        #expect(proof.status == 1 && proof.errors == "")
        #expect(proof.output == "the log is broken at entry 2: it is missing\n")
        #expect(object["sound"] == .bool(false) && object["broken_at"].number == 2)
        #expect(object["reason"].text == "it is missing")
    }

    @Test func `a query creates nothing, and a wrong one is reported`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let log = try await playground.run("audit", "log")
        let json = try await playground.run("audit", "log", "-o", "json")
        let proof = try await playground.run("audit", "log", "--verify")
        let span = try await playground.run("audit", "log", "--since", "yesterday")
        let both = try await playground.run("audit", "log", "--verify", "--since", "7d")

        #expect(log.status == 0 && log.output == "" && log.errors == "")
        #expect(json.output == "[]\n")
        #expect(
            proof.isRefusal(
                78, "clarity-jobs: no health data is kept yet, so there is no audit log"))
        #expect(
            span.isRefusal(64, "clarity-jobs: --since is a span such as `7d`, got `yesterday`"))
        #expect(
            both.isRefusal(64, "clarity-jobs: --verify checks the whole log; it takes no --since"))
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    private static func jobFile(_ options: String) -> (String, String) -> String {
        { url, _ in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            jobs:
              - { id: refresh, kind: refresh, schedule: { every: 4h } }
              - { id: audit, kind: audit-upload, schedule: { every: 1d }\(options) }

            """
        }
    }

    @Test func `an upload of the log requires an address`() async throws {
        let playground = try await Playground(
            sandboxOptions: nil, jobFile: Self.jobFile(""))

        let result = try await playground.run("validate")

        #expect(
            result.isRefusal(
                65, "\(playground.jobFilePath):5:5: `options` of job `audit` has no `url`"))
    }

    @Test func `the log is uploaded to its own address`() async throws {
        let server = try ScriptedServer([.answer(200, ""), .answer(503, "")])
        let playground = try await Playground(
            jobFile: Self.jobFile(", options: { url: \"\(server.url)/audit\" }"))
        try await playground.logIn()
        #expect(try await playground.run("run", "refresh").status == 0)

        let first = try await playground.run("run", "audit", "-v")
        let second = try await playground.run("run", "audit", "-v")

        #expect(first.status == 0, "\(first.errors)")
        #expect(second.status == 0, "\(second.errors)")
        let request = try #require(server.requests.first)
        #expect(server.requests.count == 1)
        let text = request.body
        #expect(text.hasPrefix("{\"number\":1,\"hash\":\""))
        #expect(text.contains("\"action\":\"logged in\""))
        #expect(text.contains("\"action\":\"read\""))
        #expect(request.headers["authorization"] == nil)
    }

    @Test func `a dry run shows the request, sends nothing and changes nothing`() async throws {
        let server = try ScriptedServer([.answer(200, "")])
        let playground = try await Playground(
            jobFile: Self.jobFile(", options: { url: \"\(server.url)/audit\" }"))
        try await playground.logIn()
        let before = try playground.folder.contents()

        let dry = try await playground.run("dry-run", "audit")

        #expect(dry.status == 0, "\(dry.errors)")
        #expect(dry.outputLines.first == "POST \(server.url)/audit")
        #expect(dry.output.contains("  Content-Type: application/x-ndjson\n"))
        #expect(dry.output.contains(#/  body: [0-9]+ bytes, blake2b-256 [0-9a-f]{64}\n/#))
        #expect(dry.output.contains("would be: 1 entry sent"))
        #expect(server.requests.isEmpty)
        #expect(try playground.folder.contents() == before)
    }

    @Test func `after a lost answer, the same entries are sent again, then the new ones`()
        async throws
    {
        let server = try ScriptedServer([.close, .answer(200, ""), .answer(200, "")])
        let playground = try await Playground(
            jobFile: Self.jobFile(
                ", retry: { attempts: 1 }, options: { url: \"\(server.url)/audit\" }"))
        try await playground.logIn()

        let lost = try await playground.run("run", "audit")
        let again = try await playground.run("run", "audit")
        #expect(try await playground.run("run", "refresh").status == 0)
        let news = try await playground.run("run", "audit")

        #expect(lost.status == 69 && lost.errors.contains("gave no whole answer"))
        #expect(again.status == 0, "\(again.errors)")
        #expect(news.status == 0, "\(news.errors)")
        let bodies = server.requests.map(\.body)
        #expect(bodies.count == 3 && bodies[0] == bodies[1])
        #expect(bodies[0].hasPrefix("{\"number\":1,"))
        #expect(bodies[0].split(separator: "\n").count == 1)
        #expect(bodies[2].hasPrefix("{\"number\":2,"))
    }

    @Test func `a broken log is uploaded with a note about it`() async throws {
        let server = try ScriptedServer([.answer(200, "")])
        let playground = try await Playground(
            jobFile: Self.jobFile(", options: { url: \"\(server.url)/audit\" }"))
        try await playground.logIn()
        #expect(try await playground.run("run", "refresh").status == 0)
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .execute("DELETE FROM audit WHERE number = 2")

        let run = try await playground.run("run", "audit", "-v")
        let shown = try await playground.run("history", "show", "2")

        #expect(run.status == 0, "\(run.errors)")
        let lines = server.requests.first?.body.split(separator: "\n") ?? []
        #expect(lines.first?.hasPrefix("{\"number\":1,") == true)
        #expect(lines.dropFirst().first?.hasPrefix("{\"number\":3,") == true)
        #expect(shown.output.contains("the audit log is broken at entry 2: it is missing"))
    }
}
