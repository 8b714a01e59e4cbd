import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("A loop's job file", .timeLimit(.minutes(5)))
struct ReloadProgramTests {
    private func jobFile(_ url: String, _ jobs: String) -> String {
        """
        version: 1
        backend: { url: \(url), retry_wait: 1ms }
        sources: []
        jobs:
        \(jobs)

        """
    }

    private let cleanup = "- { id: cleanup, kind: cleanup, schedule: { every: 1d } }"
    private let second = "- { id: second, kind: cleanup, schedule: { every: 1d } }"

    /// Reads lines of a loop up to one that ends so.
    private func lines(
        of loop: ChildProgram, through end: String
    ) async throws -> [String] {
        var lines: [String] = []
        repeat {
            lines.append(try #require(await loop.readErrorLine(), "\(lines)"))
        } while lines.last?.hasSuffix(end) != true
        return lines
    }

    private let refusal = "clarity-jobs: job file not reloaded; still in force: 1 job"

    @Test func `a loop follows its job file, and keeps the old jobs while it has a fault`()
        async throws
    {
        let (cleanup, second) = (cleanup, second)
        let playground = try await Playground(sandboxOptions: nil) { url, _ in
            self.jobFile(url, cleanup)
        }
        let faulty = Array("version: 1\njobs: 7\n".utf8)
        let loop = try playground.start(["loop"])
        _ = try await lines(of: loop, through: "(run 1)")

        try playground.folder.write("jobs.yaml", faulty)
        let faults = try await lines(of: loop, through: refusal)
        // The same fault once more, then a whole file that takes the place of this one, as editors
        // save it.
        try playground.folder.write("jobs.yaml", faulty)
        let next = try playground.folder.write(
            "next.yaml", jobFile(playground.url, "\(cleanup)\n\(second)").utf8)
        try #require(rename(next, playground.jobFilePath) == 0)
        let reloaded = try await lines(of: loop, through: "(run 2)")
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(faults.contains { $0.contains("jobs.yaml:2:7: ") }, "\(faults)")
        #expect(
            reloaded.first == "clarity-jobs: reloaded (the job file changed), 2 jobs",
            "\(reloaded)")
        #expect(reloaded.last?.hasPrefix("second: succeeded: ") == true, "\(reloaded)")
        #expect(end.status == 143)
    }

    @Test func `SIGHUP reloads the job file, and says each time what is wrong with it`()
        async throws
    {
        let cleanup = cleanup
        let playground = try await Playground(sandboxOptions: nil) { url, _ in
            self.jobFile(url, cleanup)
        }
        let loop = try playground.start(["loop"])
        _ = try await lines(of: loop, through: "(run 1)")

        loop.signal(SIGHUP)
        let same = try await lines(of: loop, through: "1 job")
        try playground.folder.write("jobs.yaml", Array("version: 1\njobs: 7\n".utf8))
        _ = try await lines(of: loop, through: refusal)
        loop.signal(SIGHUP)
        let again = try await lines(of: loop, through: refusal)
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(same == ["clarity-jobs: reloaded (asked by SIGHUP), 1 job"])
        #expect(again.contains { $0.contains("jobs.yaml:2:7: ") }, "\(again)")
    }

    /// The signal is blocked in the program from its first instruction on and pending since, so the
    /// loop meets it whenever it unblocks it.
    @Test func `a SIGHUP that comes before the loop listens reloads the job file`() async throws {
        let cleanup = cleanup
        let playground = try await Playground(sandboxOptions: nil) { url, _ in
            self.jobFile(url, cleanup)
        }

        let loop = try playground.start(["loop"], blocked: [SIGHUP])
        loop.signal(SIGHUP)
        var lines: [String] = []
        while lines.count < 3, let line = await loop.readErrorLine() { lines.append(line) }
        let isAlive = ProcessTable.isAlive(loop.processID)
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(lines.first == "clarity-jobs: loop over 1 job")
        #expect(lines.contains("clarity-jobs: reloaded (asked by SIGHUP), 1 job"), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("cleanup: succeeded: ") }, "\(lines)")
        #expect(isAlive)
        #expect(end.status == 143)
    }

    /// The job file is a pipe: the loop waits for it before it listens for signals.
    @Test func `a SIGHUP while the loop reads its first job file reloads the job file`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        let path = playground.jobFilePath
        try #require(unlink(path) == 0 && mkfifo(path, 0o600) == 0)
        let loop = try playground.start(["loop"], blocked: [])
        let pipe = try await blocking { open(path, O_WRONLY) }
        let next = try playground.folder.write(
            "next.yaml", jobFile(playground.url, "\(cleanup)\n\(second)").utf8)
        try #require(rename(next, path) == 0)

        loop.signal(SIGHUP)
        let first = Array(jobFile(playground.url, cleanup).utf8)
        try #require(write(pipe, first, first.count) == first.count)
        close(pipe)
        let lines = try await lines(of: loop, through: "reloaded (asked by SIGHUP), 2 jobs")
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(lines.first == "clarity-jobs: loop over 1 job")
        #expect(end.status == 143)
    }

    @Test func `a loop takes up accounts that come and go`() async throws {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            accounts: accounts.d
            jobs:
              - { id: hello, kind: command, schedule: { every: 1h }, options: { command: ["true"] } }

            """
        }
        try #require(mkdir("\(playground.folder.path)/accounts.d", 0o755) == 0)
        let loop = try playground.start(["loop"])
        let greeting = try #require(await loop.readErrorLine())
        let added = try await playground.run("accounts", "add", "anna")
        try #require(added.status == 0, "\(added.errors)")
        var lines: [String] = []
        repeat {
            lines.append(try #require(await loop.readErrorLine()))
        } while lines.last?.hasSuffix("1 job of 1 account") != true
        let removed = try await playground.run("accounts", "remove", "anna")
        repeat {
            lines.append(try #require(await loop.readErrorLine()))
        } while lines.last?.hasSuffix("0 jobs of 0 accounts") != true
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(greeting == "clarity-jobs: loop over 0 jobs of 0 accounts")
        #expect(added.status == 0 && removed.status == 0)
        #expect(
            lines.contains("clarity-jobs: reloaded (the accounts changed), 1 job of 1 account"),
            "\(lines)")
    }
}
