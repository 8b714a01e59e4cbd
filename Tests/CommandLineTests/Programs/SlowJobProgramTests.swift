import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

@Suite("A job that takes longer than usual", .timeLimit(.minutes(5)))
struct SlowJobProgramTests {
    /// Returns a playground whose job runs until the file `end` is there.
    private func playground(_ server: ScriptedServer, _ keys: String) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            notify: [{ kind: ntfy, url: "\(server.url)/topic" }]
            jobs:
              - id: nightly
                kind: command
                \(keys)
                options: { command: [sh, -c, 'until test -e \(folder)/end; do sleep 0.02; done'] }

            """
        }
    }

    @Test func `it is named with what is expected, and a notice says so once until it ends`()
        async throws
    {
        let server = try ScriptedServer([.answer(), .answer()])
        let playground = try await playground(server, "expect: 1s")
        let run = try playground.start(["run", "nightly"])
        var status = try await playground.run("status")
        while !status.output.contains("nightly: no success yet; is slow") {
            status = try await playground.run("status")
        }

        _ = try await playground.run("run", "notify")
        _ = try await playground.run("run", "notify")
        let listed = try await playground.run("list")
        let explained = try await playground.run("explain", "nightly")
        let whileSlow = try await playground.json("list").elements.first
        try playground.folder.write("end", [])
        let end = await run.finish()
        _ = try await playground.run("run", "notify")

        let length = /(\d+m )?\d+s, expected 1s/
        #expect(status.output.contains(/; is slow: running for .*s, expected 1s\n/))
        #expect(listed.output.contains(/running +running for/) && listed.output.contains(length))
        #expect(explained.output.contains(length), "\(explained.output)")
        #expect(whileSlow?["slow_at"].text != nil && whileSlow?["usual_ms"].number == nil)
        #expect(end.status == 0)
        let bodies = server.requests.map(\.body)
        #expect(bodies.count == 2, "\(bodies)")
        #expect(
            bodies.first?.contains(
                /^job `nightly` runs since [-0-9T:.]+Z, expected 1s; see `clarity-jobs history show 1`\n$/
            )
                == true, "\(bodies)")
        #expect(bodies.last?.hasPrefix("over: job `nightly` runs since ") == true, "\(bodies)")
    }

    @Test func `what is usual follows from its last successful attempts`() async throws {
        let server = try ScriptedServer([])
        let playground = try await playground(server, "timeout: 1h")
        try playground.folder.write("end", [])
        for _ in 0..<4 { _ = try await playground.run("run", "nightly") }
        try #require(unlink("\(playground.folder.path)/end") == 0)
        let fifth = try playground.start(["run", "nightly"])
        while try await playground.json("list").elements.first?["state"].text != "running" {}
        let known = try await playground.json("list").elements.first?["usual_ms"].number
        try playground.folder.write("end", [])
        _ = await fifth.finish()
        try #require(unlink("\(playground.folder.path)/end") == 0)
        let sixth = try playground.start(["run", "nightly"])
        while try await playground.json("list").elements.first?["state"].text != "running" {}

        let status = try await playground.run("status")
        let listed = try await playground.json("list").elements.first
        try playground.folder.write("end", [])
        _ = await sixth.finish()

        #expect(known == nil)
        #expect(status.output.contains(/has been running for \d+s, usually \d+s/), "\(status)")
        #expect(listed?["usual_ms"].number != nil && listed?["slow_at"].text != nil)
    }
}
