import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("loop", .timeLimit(.minutes(5)))
struct LoopProgramTests {
    /// The jobs of the standard job file.
    private static let jobs: Set<String> = ["refresh", "upload", "status", "insights", "cleanup"]

    /// Starts the loop and waits until it has reported the end of a run of each of the jobs.
    ///
    /// A job may end more than once before another does: the status job runs again after an upload.
    private func loop(
        _ playground: Playground, ended jobs: Set<String> = Self.jobs
    ) async throws -> (loop: ChildProgram, lines: [String]) {
        let loop = try playground.start(["loop"])
        var lines: [String] = []
        var missing = jobs
        while !missing.isEmpty {
            let line = try #require(await loop.readErrorLine(), "the loop ended: \(lines)")
            lines.append(line)
            missing = missing.filter { !line.hasPrefix("\($0): succeeded: ") }
        }
        return (loop, lines)
    }

    @Test(arguments: [(SIGTERM, Int32(143)), (SIGINT, Int32(130))] as [(Int32, Int32)])
    func `a loop runs due jobs and drains at a signal`(signal: Int32, status: Int32) async throws {
        let playground = try await Playground.quick()
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()

        let (loop, lines) = try await loop(playground)
        let list = try await playground.json("list").elements
        loop.signal(signal)
        let end = await loop.finish()

        #expect(lines.first == "clarity-jobs: loop over 5 jobs")
        #expect(lines.dropFirst().allSatisfy { $0.contains(": succeeded: ") }, "\(lines)")
        #expect(list.count == 5)
        #expect(end.status == status)
        #expect(end.output == "")
        #expect(
            (end.errorLines.last
                == "clarity-jobs: interrupted; what was not sent stays in the outbox")
                == (signal == SIGINT), "\(end.errors)")
        let runs = try await playground.json("history").elements
        #expect(
            Set(runs.compactMap { $0["job"].text }) == Self.jobs)
        #expect(!runs.contains { $0["state"] == .string("running") })
        #expect(try await playground.sandbox?.count("metrics") == 5)
    }

    @Test func `run --due beside a loop finds nothing to do`() async throws {
        let playground = try await Playground.quick()
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()
        let (loop, _) = try await loop(playground)
        let before = try await playground.json("history").elements.filter {
            $0["trigger"] == .string("schedule")
        }

        let beside = try await playground.run("run", "--due")
        let named = try await playground.run("run", "cleanup")
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect([0, 75].contains(beside.status) && beside.output == "" && beside.errors == "")
        #expect(named.status == 0, "\(named.errors)")
        #expect(end.status == 143)
        let after = try await playground.json("history").elements.filter {
            $0["trigger"] == .string("schedule")
        }
        #expect(after.count == 5 && before.count == 5)
    }

    @Test func `a long run is visible to other processes, drained, and continued by the next loop`()
        async throws
    {
        let playground = try await Playground.quick { url, folder in
            Playground.standardJobFile(url: url, folder: folder).replacing(
                "kind: bulk-upload", with: "kind: bulk-upload\n    warning: 200ms")
        }
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()
        try await sandbox.addFault("POST /health-data/upload: hang x*")
        // All other runs end; the upload hangs.
        let (loop, _) = try await loop(playground, ended: Self.jobs.subtracting(["upload"]))

        let due = try await playground.run("run", "--due")
        let named = try await playground.run("run", "upload")
        let list = try await playground.json("list").elements
        loop.signal(SIGTERM)
        let end = await loop.finish()
        let drained = try await playground.lastRun(of: "upload")

        #expect(due.status == 0 && due.errors == "")
        #expect(named.status == 75 && named.output == "")
        #expect(
            named.errors.wholeMatch(
                of:
                    /upload: not started: run \d+ is running\n/
            ) != nil, "\(named.errors)")
        #expect(list.dropFirst().first?["state"] == .string("running"))
        #expect(end.status == 143)
        #expect(drained["state"] == .string("enqueued"))
        #expect(drained["stop_reason"] == .string("shutdown"))
        #expect(
            !(try await playground.json("history").elements.contains {
                $0["state"] == .string("running")
            }))
        try await expectCompletion(playground, sandbox)
    }

    @Test func `attempts that follow each other closely are forks of one process`() async throws {
        let playground = try await Playground.quick()
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 5)
        try await playground.logIn()
        let (loop, _) = try await loop(playground)

        try await sandbox.addFault("POST /health-data/upload: hang x*")
        try playground.writeExport(heartRates: 6)
        #expect(try await playground.run("run", "upload", "--ask").status == 0)
        try await sandbox.wait(for: 1) { try await $0.answers("hang") }
        let children = ProcessTable.children(of: loop.processID)
        let modes = children.compactMap {
            ProcessTable.text("/proc/\($0)/cmdline").split(separator: "\0").dropFirst().first
        }
        loop.signal(SIGKILL)
        _ = await loop.finish()

        #expect(modes.sorted() == ["attempt", "fork-server"])
        try await blocking {
            while children.contains(where: ProcessTable.isAlive) { sched_yield() }
        }
        try await expectCompletion(playground, sandbox, heartRates: 6)
    }

    private func expectCompletion(
        _ playground: Playground, _ sandbox: Sandbox, heartRates count: Int = 5
    ) async throws {
        try await sandbox.clearFaults()
        let next = try await playground.run("run", "upload")

        #expect(next.status == 0, "\(next.errors)")
        #expect(try await sandbox.count("metrics") == count)
        #expect(try await sandbox.count("distinct_metric_ids") == count)
    }
}
