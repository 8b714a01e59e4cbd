import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("Sources that change while no scheduler runs", .timeLimit(.minutes(5)))
struct MissedSourceProgramTests {
    /// Returns a playground with a file and a folder as sources, and a job that counts how often
    /// one of them changed.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            """
            version: 1
            backend: { url: "\(url)" }
            sources:
              - { kind: apple-health-export, path: \(folder)/export.zip }
              - { kind: spool, path: \(folder)/spool }
            jobs:
              - id: told
                kind: command
                on: [source-changed]
                options: { command: [sh, -c, 'echo . >> \(folder)/told'] }
              - { id: ticker, kind: command, schedule: { every: 1s }, options: { command: [echo] } }

            """
        }
        try #require(mkdir("\(playground.folder.path)/spool", 0o700) == 0)
        return playground
    }

    private func told(_ playground: Playground) throws -> Int {
        let path = "\(playground.folder.path)/told"
        guard access(path, F_OK) == 0 else { return 0 }
        return try TemporaryFolder.read(path).count { $0 == UInt8(ascii: ".") }
    }

    /// Returns how often the job has run after each change and a `run --due`.
    private func counts(_ changes: [(Playground) throws -> Void]) async throws -> [Int] {
        let playground = try await playground()
        var counts: [Int] = []
        for change in changes {
            try change(playground)
            let due = try await playground.run("run", "--due")
            #expect(due.status == 0 && due.errors == "", "\(due.errors)")
            counts.append(try told(playground))
        }
        return counts
    }

    private func put(_ name: String, _ text: String) -> (Playground) throws -> Void {
        { playground in try playground.folder.write(name, Array(text.utf8)) }
    }

    @Test func `a file that is written or replaced between two runs starts the job once`()
        async throws
    {
        let counts = try await counts([
            { _ in }, put("export.zip", "one"), { _ in }, put("export.zip", "two"), { _ in },
            { playground in
                try playground.folder.write("new", Array("six".utf8))
                let folder = playground.folder.path
                try #require(rename("\(folder)/new", "\(folder)/export.zip") == 0)
            }, { _ in },
        ])

        #expect(counts == [0, 1, 1, 2, 2, 3, 3])
    }

    @Test func `a new file in a folder counts, a removed or unfinished one does not`()
        async throws
    {
        let counts = try await counts([
            put("spool/a.json", "1"), put("spool/b.part", "2"), put("spool/b.json", "2"),
            { playground in unlink("\(playground.folder.path)/spool/a.json") },
            { _ in },
        ])

        #expect(counts == [1, 1, 2, 2, 2])
    }

    @Test func `a loop notices changes from before its start, and later ones at once`()
        async throws
    {
        let playground = try await playground()
        _ = try await playground.run("run", "--due")
        try playground.folder.write("export.zip", Array("one".utf8))

        let loop = try playground.start(["loop"])
        var lines: [String] = []
        func wait(for count: Int) async throws {
            while lines.count(where: { $0.hasPrefix("told: succeeded") }) < count {
                lines.append(try #require(await loop.readErrorLine(), "\(lines)"))
            }
        }
        try await wait(for: 1)
        try playground.folder.write("export.zip", Array("two".utf8))
        try await wait(for: 2)
        loop.signal(SIGTERM)
        _ = await loop.finish()
        let after = try await playground.run("run", "--due")

        #expect(after.status == 0)
        #expect(try told(playground) == 2)
    }

    @Test func `a run by hand leaves the change for a scheduler`() async throws {
        let playground = try await playground()
        try playground.folder.write("export.zip", Array("one".utf8))

        let byHand = try await playground.run("run", "ticker")
        let before = try told(playground)
        let due = try await playground.run("run", "--due")

        #expect([byHand.status, due.status] == [0, 0])
        #expect(before == 0)
        #expect(try told(playground) == 1)
    }
}
