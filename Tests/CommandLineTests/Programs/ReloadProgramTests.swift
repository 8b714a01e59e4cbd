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

    @Test func `a loop reloads the job file on SIGHUP, but not one with an error`() async throws {
        let (cleanup, second) = (cleanup, second)
        let playground = try await Playground { url, _ in self.jobFile(url, cleanup) }
        try await playground.logIn()
        let loop = try playground.start(["loop"])
        let greeting = try #require(await loop.readErrorLine())
        let first = try #require(await loop.readErrorLine())

        try playground.folder.write("jobs.yaml", Array("version: 1\njobs: 7\n".utf8))
        loop.signal(SIGHUP)
        var faults: [String] = []
        repeat {
            faults.append(try #require(await loop.readErrorLine()))
        } while faults.last.map {
            !$0
                .hasPrefix("clarity-jobs: job file not")
        } ?? true
        try playground.folder.write(
            "jobs.yaml", Array(jobFile(playground.url, "\(cleanup)\n\(second)").utf8))
        loop.signal(SIGHUP)
        let reloaded = [
            try #require(await loop.readErrorLine()), try #require(await loop.readErrorLine()),
        ]
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(greeting == "clarity-jobs: loop over 1 job")
        #expect(first.hasPrefix("cleanup: succeeded: "))
        #expect(faults.contains { $0.contains("jobs.yaml:2:7: ") }, "\(faults)")
        #expect(
            faults.last == "clarity-jobs: job file not reloaded; still in force: 1 job", "\(faults)"
        )
        #expect(
            reloaded.sorted().first == "clarity-jobs: reloaded (asked by SIGHUP), 2 jobs",
            "\(reloaded)")
        #expect(reloaded.sorted().last?.hasPrefix("second: succeeded: ") == true, "\(reloaded)")
        #expect(end.status == 143)
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
        var lines: [String] = []
        while lines.count < 4, let line = await loop.readErrorLine() { lines.append(line) }
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(lines.first == "clarity-jobs: loop over 1 job")
        #expect(lines.contains("clarity-jobs: reloaded (asked by SIGHUP), 2 jobs"), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("second: succeeded: ") }, "\(lines)")
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
