import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite("A scheduler that vanishes", .timeLimit(.minutes(5)))
struct TakeoverTests {
    @Test func `its worker dies with it, and the next run takes over without waiting`()
        async throws
    {
        let (playground, sandbox) = try await uploading()
        let scheduler = try playground.start(["run", "upload"])
        try await sandbox.wait(for: 1) { try await $0.answers("hang") }
        let worker = try #require(ProcessTable.children(of: scheduler.processID).first)

        // Another batch is on its way beside the one that hangs.
        let requests = 5
        try await sandbox.wait(for: requests) { try await $0.count("requests") }
        scheduler.signal(SIGKILL)
        // The worker holds the error stream too, so this returns when both have ended.
        let killed = await scheduler.finish()
        let later = try await sandbox.count("requests")
        let told = try await playground.history("upload").first
        let rescue = try await playground.run("run", "--due")

        #expect(killed.status == 137)
        #expect(!ProcessTable.isAlive(worker))
        #expect(later == requests, "it did not live to repeat the request that hung")
        #expect(told?.state == "running", "nobody has looked at it yet")
        #expect(rescue.status == 0, "\(rescue.errors)")
        let run = try #require(try await playground.history("upload").last)
        #expect(run.state == "succeeded")
        let attempts = try await playground.attempts(of: run.run)
        #expect(attempts.map(\.result) == ["interrupted", "succeeded"])
        #expect(attempts.map(\.stopReason) == ["leaseLost", nil])
        #expect(try await sandbox.count("metrics") == 250)
        #expect(try await sandbox.count("distinct_metric_ids") == 250)
    }

    @Test(arguments: ["scheduler", "worker"])
    func `a run says that the counts of a killed attempt are missing`(victim: String) async throws {
        let (playground, sandbox) = try await uploading()
        let scheduler = try playground.start(["run", "upload", "--output", "json"])
        try await sandbox.wait(for: 1) { try await $0.answers("hang") }
        let worker = try #require(ProcessTable.children(of: scheduler.processID).first)
        kill(victim == "worker" ? worker : scheduler.processID, SIGKILL)
        _ = await scheduler.finish()

        // Takes over from the scheduler, or is another run after the one whose worker was killed.
        let end = try await playground.run("run", "upload")

        let run = try #require(try await playground.json("history", "upload").elements.last)
        let received = try await sandbox.count("metrics")
        #expect(received == 250)
        let words = try #require(run["summary"].text)
        #expect(words.hasPrefix("at least "), "\(words)")
        #expect(words.hasSuffix(": 1 attempt ended before it reported all counts"), "\(words)")
        #expect(run["counts"]["attempts_unreported"] == .number(1))
        #expect(victim == "worker" || end.output.contains("upload: succeeded: at least "))
    }

    @Test func `of many that come to the rescue at once, one takes over`() async throws {
        let (playground, sandbox) = try await uploading()
        let scheduler = try playground.start(["run", "upload"])
        try await sandbox.wait(for: 1) { try await $0.answers("hang") }

        scheduler.signal(SIGKILL)
        try await ProcessTable.waitForEnd(of: scheduler.processID)
        let rescuers = try (0..<6).map { _ in try playground.start(["run", "--due"]) }
        var statuses: [Int32] = []
        for rescuer in rescuers { statuses.append(await rescuer.finish().status) }
        _ = await scheduler.finish()

        #expect(statuses.allSatisfy { [0, 75].contains($0) }, "\(statuses)")
        #expect(statuses.contains(0), "\(statuses)")
        let run = try #require(try await playground.history("upload").last)
        let attempts = try await playground.attempts(of: run.run)
        #expect(attempts.map(\.result) == ["interrupted", "succeeded"])
        for job in ["refresh", "status", "insights", "cleanup"] {
            let runs = try await playground.history(job)
            #expect(runs.allSatisfy { $0.attempts == 1 && $0.state == "succeeded" }, "\(runs)")
        }
        #expect(try await sandbox.count("metrics") == 250)
        #expect(try await sandbox.count("distinct_metric_ids") == 250)
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.samples == ["confirmed": 250])
        #expect(audit.damage == [])
    }

    @Test func `a run is not taken from a scheduler that lives`() async throws {
        let (playground, sandbox) = try await uploading()
        let scheduler = try playground.start(["run", "upload"])
        try await sandbox.wait(for: 1) { try await $0.answers("hang") }

        let other = try await playground.run("run", "--due")
        let named = try await playground.run("run", "upload")

        let told = try await playground.history("upload")
        // The job's due occurrence gets no run while another run of the job is unfinished.
        #expect(other.status == 0, "\(other.errors)")
        #expect(told.map(\.attempts) == [1])
        #expect(named.status == 75)
        #expect(named.errors.contains("not started: run 1 is running"), "\(named.errors)")
        scheduler.signal(SIGKILL)
        _ = await scheduler.finish()
        let rescue = try await playground.run("run", "--due")
        #expect(rescue.status == 0, "\(rescue.errors)")
        #expect(try await sandbox.count("metrics") == 250)
    }

    @Test func `a scheduler that is stopped keeps its run, and goes on when it comes back`()
        async throws
    {
        let (playground, sandbox) = try await uploading()
        let slow = try playground.start(["run", "upload"])
        try await sandbox.wait(for: 1) { try await $0.answers("hang") }
        let worker = try #require(ProcessTable.children(of: slow.processID).first)
        slow.signal(SIGSTOP)

        let other = try await playground.run("run", "--due")
        kill(worker, SIGKILL)
        slow.signal(SIGCONT)
        let late = await slow.finish()

        #expect(other.status == 0, "\(other.errors)")
        #expect(late.status == 0, "\(late.errors)")
        let run = try #require(try await playground.history("upload").last)
        #expect(run.state == "succeeded")
        let attempts = try await playground.attempts(of: run.run)
        #expect(attempts.map(\.result) == ["interrupted", "succeeded"])
        #expect(try await sandbox.count("metrics") == 250)
        #expect(try await sandbox.count("distinct_metric_ids") == 250)
    }

    @Test func `three schedulers killed in a row with one run are still got over at once`()
        async throws
    {
        let (playground, sandbox) = try await uploading()
        // The first attempt has two batches under way, and each later one begins with one.
        try await sandbox.addFault("POST /health-data/upload: hang x3")
        for hangs in 2...4 {
            let scheduler = try playground.start(["run", "--due"])
            try await sandbox.wait(for: hangs) { try await $0.answers("hang") }
            scheduler.signal(SIGKILL)
            _ = await scheduler.finish()
        }

        let rescue = try await playground.run("run", "--due")

        #expect(rescue.status == 0, "\(rescue.errors)")
        let run = try #require(try await playground.history("upload").last)
        let attempts = try await playground.attempts(of: run.run)
        #expect(attempts.map(\.result).suffix(1) == ["succeeded"])
        #expect(attempts.dropLast().map(\.result) == ["interrupted", "interrupted", "interrupted"])
        #expect(try await sandbox.count("metrics") == 250)
        #expect(try await sandbox.count("distinct_metric_ids") == 250)
    }

    @Test func `a run is not taken over while a worker of its dead scheduler lives`() async throws {
        // This worker ignores the end of its order. The lock that it inherited shows that it is
        // alive.
        let worker = try await HostileWorker(
            """
            mkfifo "$FOLDER/never" || { report outcome success; exit 0; }
            read -r line <"$FOLDER/never"
            """)
        let scheduler = try worker.start("run hostile")
        let orphan = try #require(
            try await ProcessTable.firstChild(of: scheduler.processID))
        scheduler.signal(SIGKILL)
        try await ProcessTable.waitForEnd(of: scheduler.processID)

        let during = try await worker.run("run hostile")
        kill(orphan, SIGKILL)
        _ = await scheduler.finish()
        let after = try await worker.run("run hostile")

        #expect(during.status == 75)
        #expect(during.output.contains("hostile: not started: run "), "\(during.output)")
        #expect(after.status == 0, "\(after.output)")
        let run = try await worker.lastRun(of: "hostile")
        let attempts = try await worker.playground.attempts(of: run.run)
        #expect(attempts.map(\.result) == ["interrupted", "succeeded"])
    }

    /// Returns a playground with 250 samples in three upload requests, of which the second hangs.
    private func uploading() async throws -> (Playground, Sandbox) {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()
        try await sandbox.addFault("POST /health-data/upload: pass, hang")
        return (playground, sandbox)
    }
}
