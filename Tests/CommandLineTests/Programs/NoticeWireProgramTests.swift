import ClarityHost
import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// What arrives at the servers of targets: addresses, secrets and sizes.
@Suite("Notices on the wire", .timeLimit(.minutes(5)))
struct NoticeWireProgramTests {
    /// A job file with commands that fail.
    private func playground(_ notify: String, jobs: [String] = ["nightly"]) async throws
        -> Playground
    {
        try await Playground(sandboxOptions: nil) { _, _ in
            "version: 1\nnotify: [\(notify)]\njobs:\n"
                + jobs.map {
                    "  - { id: \($0), kind: command, retry: { attempts: 1 }, "
                        + "options: { command: [\"false\"] } }\n"
                }.joined()
        }
    }

    @Test(arguments: [
        ("/ping/key/nightly?create=1", "/ping/key/nightly", "?create=1"),
        ("/ping/key/nightly/?create=1&rid=a/b", "/ping/key/nightly", "?create=1&rid=a/b"),
        ("/ping/id/", "/ping/id", ""), ("/ping/id//", "/ping/id", ""),
        ("/ping/id\r\n", "/ping/id", ""), (" /ping/id \n", "/ping/id", ""),
        ("/ping/id?create=1\n", "/ping/id", "?create=1"),
        ("/ping/id#checks", "/ping/id", ""), ("/ping/id?a=%23#b?c", "/ping/id", "?a=%23"),
        ("/ping/a%2Fb%20c", "/ping/a%2Fb%20c", ""),
    ])
    func `the signal of a ping is behind the path and before the query`(
        address: String, path: String, query: String
    ) async throws {
        let server = try ScriptedServer(Array(repeating: .answer(200, "OK"), count: 9))
        let playground = try await playground("{ kind: healthchecks, secret: PING }")
        let blanks = String(address.prefix { $0 == " " })
        let ping = ["PING": blanks + server.url + address.dropFirst(blanks.count)]

        _ = try await playground.run("run", "notify", environment: ping)
        _ = try await playground.run("run", "nightly", environment: ping)

        #expect(
            server.requests.map(\.target)
                == ["/start", "", "/start", "/log", "/fail"].map { path + $0 + query })
    }

    @Test(arguments: ["tk_invented\n", "tk_invented\r\n", "\r\n  tk_invented \t\r\nsecond\r\n"])
    func `a credential is its first line, without line end and blanks`(
        content: String
    ) async throws {
        let server = try ScriptedServer([.answer()])
        let playground = try await playground(
            "{ kind: ntfy, url: \"\(server.url)/topic\", secret: TOKEN }")
        try playground.folder.write("TOKEN", Array(content.utf8))

        _ = try await playground.run(
            "run", "nightly", environment: ["CREDENTIALS_DIRECTORY": playground.folder.path])

        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer tk_invented"])
    }

    @Test func `a message to ntfy has at most 4096 bytes, and says how many notices it lacks`()
        async throws
    {
        let server = try ScriptedServer(Array(repeating: .answer(), count: 9))
        let names = (10..<60).map { String(repeating: "n", count: 98) + "\($0)" }
        let playground = try await playground(
            "{ kind: ntfy, url: \"\(server.url)/topic\" }", jobs: names)

        _ = try await playground.start(["run"] + names).finish()
        _ = try await playground.run("run", "notify")

        #expect(server.requests.map { $0.body.utf8.count }.allSatisfy { $0 <= 4096 })
        let message = try #require(server.requests.first)
        let lines = message.body.split(separator: "\n")
        let words = try #require(lines.last).split(separator: " ")
        let more = try #require(words.count == 3 ? Int(words[1]) : nil)
        #expect(lines.last == "and \(more) more")
        // The last of the jobs may have failed a moment later.
        let title = "\(HostIdentity.name): \(lines.count - 1 + more) notices"
        #expect(message.headers["title"] == title)
        #expect(lines.dropLast().allSatisfy { $0.hasPrefix("job `nnn") && $0.contains("show ") })
        #expect(message.body.utf8.count > 3900)
        let list = try await playground.json("notices", "list", "--limit", "99")
        #expect(list.elements.count == 50)
        #expect(list.elements.allSatisfy { $0["messages_waiting"].number == 0 })
    }

    @Test(arguments: [
        (400, "refuses the message (status 400)"), (404, "refuses the message (status 404)"),
        (413, "refuses the message (status 413)"), (301, "refuses the message (status 301)"),
    ])
    func `status says which target refuses messages, and how many wait`(
        code: Int, words: String
    ) async throws {
        let server = try ScriptedServer(Array(repeating: .answer(code), count: 9))
        let playground = try await playground("{ kind: ntfy, url: \"\(server.url)/topic\" }")

        _ = try await playground.run("run", "nightly")
        let again = try await playground.run("run", "notify")
        let status = try await playground.run("status")

        #expect(again.status == 78)
        let line = "target `ntfy` \(words); 1 notice not sent"
        #expect(again.output.contains(line) || again.errors.contains(line), "\(again)")
        #expect(status.output.contains(line), "\(status.output)")
        // Refused for good: not tried again before the next run.
        #expect(server.requests.count == 2)
    }
}
