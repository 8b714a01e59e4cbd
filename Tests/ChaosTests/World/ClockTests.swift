import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("A clock that is wrong", .serialized, .timeLimit(.minutes(40)))
struct ClockTests {
    @Test func `whatever the clock does between runs, each occurrence has one outcome`()
        async throws
    {
        var random = ChaosPlan.current.generator("world-clock")
        let scene = try await WorldScene()
        let clock = try WorldClock(in: scene.playground.folder)
        var line = ChaosLine("world-clock")
        var suspended: Int64 = 0
        for _ in 0..<ChaosPlan.current.size(slice: 2, whole: 40) {
            let wall = Int64.random(in: -72...72, using: &random) * WorldClock.hour
            if Bool.random(using: &random) {
                suspended += Int64.random(in: 1...48, using: &random) * WorldClock.hour
            }
            try clock.set(wall: wall, suspended: suspended)
            try scene.addSamples(4)
            let before = try await scene.runCount()

            let due = try await scene.run(
                ["run", "--due"], through: ["/usr/bin/timeout", "-s", "KILL", "90"],
                clock.environment)
            let again = try await scene.run(
                ["run", "--due"], through: ["/usr/bin/timeout", "-s", "KILL", "90"],
                clock.environment)
            let audit = try await scene.run(["audit"], through: [], clock.environment)

            let what = "\(wall / WorldClock.hour) h ahead, \(suspended / WorldClock.hour) h slept"
            line.rounds += 1
            line.faults["step", default: 0] += 1
            for result in [due, again] {
                // 78: because of this machine's clock, the backend has refused a run as often as it
                // may be refused.
                let isRefused = result.errors.contains("`client_timestamp`")
                line.judge(result, statuses: isRefused ? [0, 75, 78] : [0, 75], what)
            }
            #expect(audit.status == 0, "\(what): \(audit.output)")
            // At most one run of each of the six jobs, and the run that follows an upload.
            let runs = try await scene.runCount() - before
            #expect(runs <= 7, "\(what): \(runs)")
        }
        // The clock is right again and no run is due, so the proof asks for each run.
        let proof = try await scene.proof()
        line.add(proof)
        line.tell()
        #expect(proof.holds, "\(proof)")
    }

    @Test(arguments: ChaosPlan.current.isWhole ? [-26, -2, 2, 26] : [2])
    func `a step in the middle of an upload costs nothing`(hours: Int) async throws {
        let scene = try await WorldScene()
        let clock = try WorldClock(in: scene.playground.folder)
        try scene.addSamples(80)
        let taken = try await scene.sandbox.count("uploads")

        let upload = try scene.playground.start(["run", "upload"], environment: clock.environment)
        try await scene.sandbox.wait(for: taken + 2) { try await $0.count("uploads") }
        try clock.set(wall: Int64(hours) * WorldClock.hour, suspended: 0)
        let result = await upload.finish()
        try clock.set(wall: 0, suspended: 0)
        let proof = try await scene.proof()

        var line = ChaosLine("world-clock")
        line.rounds = 1
        line.faults["step-in-run"] = 1
        line.judge(result, statuses: [0, 75], "\(hours) h in the middle")
        line.add(proof)
        line.tell()
        #expect(proof.holds, "\(hours) h: \(proof)")
    }

    @Test func `no sample is refused for good because this machine's clock is ahead`()
        async throws
    {
        let scene = try await WorldScene()
        let clock = try WorldClock(in: scene.playground.folder)
        try scene.addSamples(24)

        try clock.set(wall: 2 * WorldClock.hour, suspended: 0)
        let ahead = try await scene.run(["run", "upload"], through: [], clock.environment)
        let kept = try StateAudit(statePath: scene.playground.statePath).samples
        try clock.set(wall: 0, suspended: 0)
        let proof = try await scene.proof()

        var line = ChaosLine("world-clock")
        line.rounds = 1
        line.faults["ahead"] = 1
        line.judge(ahead, statuses: [75], "two hours ahead")
        line.add(proof)
        line.tell()
        #expect(ahead.errors.contains("`client_timestamp`"), "\(ahead.errors)")
        #expect(kept["rejected"] == nil, "\(kept)")
        #expect(proof.holds, "\(proof)")
    }

    /// The times at which a machine without a clock of its own may start.
    @Test(
        arguments: ChaosPlan.current.isWhole ? [5, 2_147_483_645, 4_102_444_800] : [2_147_483_645])
    func `a machine that starts in another age is right once its clock is`(seconds: Int64)
        async throws
    {
        let scene = try await WorldScene(isFresh: true)
        let clock = try WorldClock(in: scene.playground.folder)
        try scene.addSamples(24)
        let now = Int64(time(nil))

        try clock.set(wall: (seconds - now) * 1000, suspended: 0)
        let early = try await scene.run(
            ["run", "--due"], through: ["/usr/bin/timeout", "-s", "KILL", "90"],
            clock.environment)
        let list = try await scene.run(["list"], through: [], clock.environment)
        let audit = try await scene.run(["audit"], through: [], clock.environment)
        try clock.set(wall: 0, suspended: 0)
        let due = try await scene.run(["run", "--due"], through: [], clock.environment)
        let proof = try await scene.proof()

        var line = ChaosLine("world-clock")
        line.rounds = 1
        line.faults["age"] = 1
        // 77: by a clock of another age the session has expired, or cannot be trusted.
        line.judge(early, statuses: [0, 1, 69, 75, 77], "at \(seconds)")
        line.judge(due, statuses: [0, 75], "after \(seconds)")
        line.add(proof)
        line.tell()
        #expect(list.status == 0, "\(list.errors)")
        #expect(audit.status == 0, "\(audit.output)")
        #expect(proof.holds, "\(seconds): \(proof)")
    }

    @Test func `a loop that was suspended gives up what ran, and catches up once`()
        async throws
    {
        // Every later request hangs too: a worker whose time limit for a request has passed by
        // these clocks may ask again, and would succeed before the loop gives it up.
        // The backend's clock is a day ahead, so that nothing is in its future.
        let scene = try await WorldScene(
            isFresh: true,
            sandboxClock: Instant(millisecondsSince1970: Int64(time(nil)) * 1000) + .seconds(86_400)
        )
        let clock = try WorldClock(in: scene.playground.folder)
        try scene.addSamples(40)
        try await scene.sandbox.addFault("POST /health-data/upload: pass, hang x*")

        // The request that hangs has to be one of `upload`.
        let pause = try await scene.playground.run("pause", "upload-too")
        let loop = try scene.playground.start(["loop"], environment: clock.environment)
        try await scene.sandbox.wait(for: 1) { try await $0.answers("hang") }
        let workers = ProcessTable.children(of: loop.processID)
        let family = [loop.processID] + workers
        family.forEach { kill($0, SIGSTOP) }
        // A night that the processes can notice only by the clocks.
        try clock.set(wall: 8 * WorldClock.hour, suspended: 8 * WorldClock.hour)
        family.forEach { kill($0, SIGCONT) }
        // The kernel would fire the timers that are due by now. The library's clocks cannot.
        loop.signal(SIGHUP)
        let run = try #require(try await scene.playground.history("upload").last).run
        var attempts = try await scene.playground.attempts(of: run)
        while attempts.first?.result == "running" {
            try await Task.sleep(for: .milliseconds(50))
            attempts = try await scene.playground.attempts(of: run)
        }
        _ = try await scene.sandbox.clearFaults()
        // A run by hand does not wait for the backoff, and continues the same run. On a busy
        // machine two other jobs may still take all places, or the loop itself continues it.
        var completed = try await scene.run(["run", "upload"], through: [], clock.environment)
        var upload = try await scene.playground.history("upload").first { $0.attempts > 1 }
        for _ in 0..<50 where upload?.state != "succeeded" {
            completed = try await scene.run(["run", "upload"], through: [], clock.environment)
            upload = try await scene.playground.history("upload").first { $0.attempts > 1 }
        }
        loop.signal(SIGTERM)
        let end = await loop.finish()
        let runs = try await scene.playground.history("upload")
        _ = try await scene.run(["resume", "upload-too"], through: [], clock.environment)
        let audit = try await scene.run(["audit"], through: [], clock.environment)
        let proof = try await scene.proof()

        var line = ChaosLine("world-clock")
        line.rounds = 1
        line.faults["suspend"] = 1
        line.judge(end, statuses: [143], "a night")
        line.add(proof)
        line.tell()
        #expect(pause.status == 0, "\(pause.errors)")
        #expect(attempts.first?.result != "succeeded", "\(attempts)")
        #expect(attempts.first?.stopReason == "timeout", "\(attempts)")
        // 75 if the job that follows still waits for its backoff.
        #expect([0, 75].contains(completed.status), "\(completed.errors)")
        #expect(upload?.state == "succeeded", "\(runs)")
        // The run that was interrupted, and one run that catches up the latest of the eight hours.
        #expect(runs.count <= 2, "\(runs)")
        #expect(audit.status == 0, "\(audit.output)")
        #expect(proof.holds, "\(proof)")
    }
}

extension WorldScene {
    /// Returns the number of runs in the history.
    fileprivate func runCount() async throws -> Int {
        try StateAudit(statePath: playground.statePath).runs.values.reduce(0, +)
    }
}
