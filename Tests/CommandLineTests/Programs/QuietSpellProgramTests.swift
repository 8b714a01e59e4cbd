import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// What `run --due` over many accounts remembers of a look that found nothing, through the built
/// program.
@Suite("A quiet spell", .timeLimit(.minutes(3)))
struct QuietSpellProgramTests {
    private static let accounts = 120

    /// Accounts whose jobs were all planned, and have nothing to do for a while.
    private func playground(_ more: String = "") async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            backend: { url: "http://127.0.0.1:9/" }
            accounts: accounts.d
            jobs:
              - id: note
                kind: command
                schedule: { every: 30d }
                options: { command: [touch, "\(folder)/{account}.ran"] }
            \(more)
            """
        }
        let folder = "\(playground.folder.path)/accounts.d"
        try #require(mkdir(folder, 0o755) == 0)
        for number in 0..<Self.accounts {
            try playground.folder.write("accounts.d/w\(number).yaml", Array("enabled: true\n".utf8))
        }
        let first = try await playground.run("run", "--due")
        try #require(first.status == 0, "\(first.errors)")
        return playground
    }

    /// Runs what is due until a spell is left, which is not while a file has only just changed;
    /// returns how many files the last of these programs opened.
    private func leaveSpell(_ playground: Playground) async throws -> Int {
        unlink("\(playground.statePath)/quiet")
        var opened = 0
        repeat {
            opened = try await opens(playground)
        } while access("\(playground.statePath)/quiet", F_OK) != 0
        return opened
    }

    /// Runs what is due, and returns how many files the program opened.
    private func opens(_ playground: Playground) async throws -> Int {
        let counts = Faultline(counts: "\(playground.folder.path)/counts")
        counts.reset()
        let end = try await playground.start(["run", "--due"], environment: counts.environment())
            .finish()
        #expect(end.status == 0 && end.errors == "", "\(end.errors)")
        return try counts.count(of: .open, program: .scheduler)
    }

    @Test func `after a look that found nothing, the accounts' files are not read`() async throws {
        let playground = try await playground()

        let first = try await leaveSpell(playground)
        let second = try await opens(playground)
        let third = try await opens(playground)

        #expect(first > Self.accounts)
        #expect(second < 30 && third < 30, "\(second) and \(third) files, \(first) before")
    }

    @Test func `a change of an account or a request for a run ends a quiet spell`() async throws {
        let playground = try await playground()
        _ = try await leaveSpell(playground)
        #expect(try await opens(playground) < 30)

        // Another account, a changed one, and one that is gone.
        try playground.folder.write("accounts.d/new.yaml", Array("enabled: true\n".utf8))
        let added = try await playground.run("run", "--due")
        let listed = try await playground.run("list", "-o", "json")
        let jobs = try JSONValue(listed.output).elements
        let new = try #require(jobs.first { $0["job"].text == "new/note" })
        #expect(added.status == 0 && jobs.count == 121)
        #expect(new["next"].text != nil)
        try playground.folder.write("accounts.d/w7.yaml", Array("enabled: perhaps\n".utf8))
        let faulty = try await playground.run("run", "--due")
        #expect(faulty.status == 65 && faulty.errors.contains("w7.yaml:1:10"), "\(faulty.errors)")
        try #require(unlink("\(playground.folder.path)/accounts.d/w7.yaml") == 0)
        #expect(try await leaveSpell(playground) > Self.accounts)
        #expect(try await opens(playground) < 30)

        // A run that somebody asks for.
        let asked = try await playground.run("run", "w9/note", "--ask")
        let done = try await playground.run("run", "--due")
        let history = try await playground.history("w9/note")
        #expect(asked.status == 0 && done.status == 0, "\(done.errors)")
        #expect(history.map(\.state) == ["succeeded"], "\(history)")
    }

    @Test func `jobs that start on events, or early, are looked at each time`() async throws {
        for more in [
            "  - { id: eager, kind: cleanup, schedule: { every: 30d, flex: 1d } }",
            "  - { id: told, kind: cleanup, on: [clock-changed] }",
        ] {
            let playground = try await playground(more)
            // Files that have only just changed leave no spell, whatever the jobs are.
            for _ in 0..<5 {
                #expect(try await opens(playground) > Self.accounts, "\(more)")
            }
            #expect(access("\(playground.statePath)/quiet", F_OK) != 0, "\(more)")
        }
    }
}
