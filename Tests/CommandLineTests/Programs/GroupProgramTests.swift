import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("Jobs of one group", .timeLimit(.minutes(5)))
struct GroupProgramTests {
    /// Returns a playground whose jobs note their start and end; `slow` ends when a file is there.
    private func playground(_ groups: String) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, folder in
            func job(_ id: String, _ command: String) -> String {
                """
                  - id: \(id)
                    kind: command
                    group: shared
                    retry: { attempts: 1 }
                    options: { command: [sh, -c, '\(command)'] }

                """
            }
            return """
                version: 1
                groups: { shared: \(groups) }
                jobs:
                \(job("slow", "until test -e \(folder)/end; do sleep 0.02; done"))
                \(job("a", "echo a >> \(folder)/ran"))
                \(job("b", "echo b >> \(folder)/ran"))
                """
        }
    }

    @Test func `a second program waits for the job of the first one, and names its run`()
        async throws
    {
        let playground = try await playground("{ at_once: 1 }")
        let loop = try playground.start(["loop"])
        let first = try playground.start(["run", "slow"])
        while try await playground.json("list").elements.first?["state"].text != "running" {}

        let second = try await playground.run("run", "a")
        let listed = try await playground.run("list")
        let explained = try await playground.run("explain", "a")
        let ranBefore = access("\(playground.folder.path)/ran", F_OK) == 0
        try playground.folder.write("end", [])
        let end = await first.finish()
        while access("\(playground.folder.path)/ran", F_OK) != 0 {}
        loop.signal(SIGTERM)
        _ = await loop.finish()
        let waits = try await playground.json("history", "show", "2")

        let sentence = "until a job of group `shared` has ended: run 1 of slow"
        #expect(second.status == 75)
        #expect(second.errors.contains("a: waits \(sentence)"), "\(second)")
        #expect(listed.output.contains(sentence), "\(listed.output)")
        #expect(
            explained.output.contains("to start: a place in group `shared` has to become free"),
            "\(explained.output)")
        #expect(!ranBefore && end.status == 0)
        #expect(waits["deferrals"].elements.map { $0["subject"].text } == ["group shared"])
    }

    @Test func `starts are counted across programs, and the next one says when it may start`()
        async throws
    {
        let playground = try await playground("{ per: 1 per 1h }")

        let first = try await playground.run("run", "a")
        let second = try await playground.run("run", "b")
        let due = try await playground.run("run", "--due")
        let explained = try await playground.json("explain", "b")

        #expect(first.status == 0 && second.status == 75 && due.status == 75)
        #expect(
            second.errors.contains(
                /b: waits until [-0-9T:.]+Z: group `shared` has had 1 start within 1h/),
            "\(second)")
        #expect(explained["reasons"].elements.first?["reason"].text == "backoff")
        #expect(try TemporaryFolder.read("\(playground.folder.path)/ran") == Array("a\n".utf8))
    }
}
