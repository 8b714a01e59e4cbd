import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("Many processes at once", .timeLimit(.minutes(25)))
struct CrowdTests {
    /// Runs for four minutes per policy in `make chaos`, and otherwise for a few seconds.
    @Test(.serialized, arguments: DeliveryJudge.Policy.drawn("crowd"))
    func `a crowd meets no lock, runs nothing twice and leaves nothing behind`(
        policy: DeliveryJudge.Policy
    ) async throws {
        try await prove(
            try await CrowdScene(policy),
            for: ChaosPlan.current.span(slice: 3, whole: 240))
    }

    @Test(
        .serialized, .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"),
        arguments: DeliveryJudge.Policy.drawn("crowd-server"))
    func `a crowd on one database runs nothing twice and leaves nothing behind`(
        policy: DeliveryJudge.Policy
    ) async throws {
        try await prove(
            try await CrowdScene(policy, on: try await StateDatabase()),
            for: ChaosPlan.current.span(slice: 3, whole: 90))
    }

    private func prove(_ scene: CrowdScene, for length: Duration) async throws {
        let policy = scene.policy
        let round = CrowdRound(scene, .current, length: length)

        try await round.run()
        let leftovers = try await round.settle()

        let evidence = try CrowdEvidence(scene.playground, lines: scene.lines)
        let audit = try StateAudit(statePath: try scene.playground.readableState())
        let kept = audit.samples.values.reduce(0, +)
        var cutShort = await round.tally.cutShort
        cutShort.attempts = evidence.killedUploads
        cutShort.killed = evidence.interruptedUploads
        let delivery = try await scene.delivery(cutShort: cutShort)
        let (kills, crashes) = (await round.tally.kills, await round.tally.crashes)
        let complaints = await round.tally.complaints
        let (longest, deadHolders) = (await round.watch.longest, await round.watch.deadHolders)
        var line = ChaosLine(scene.playground.database == nil ? "crowd" : "crowd-server")
        line.rounds = await round.tally.count
        line.faults = kills
        line.faults["dead-holders"] = deadHolders
        line.lost = delivery.lost
        line.doubled = delivery.doubled + evidence.overlaps.count + evidence.twice.count
        let held = policy == .hold ? audit.samples["setAside", default: 0] : 0
        line.stuck = delivery.stuck + evidence.open.count + kept - audit.delivered - held
        line.crashes = crashes + evidence.broken.count
        line.tell()

        #expect(complaints == [])
        #expect(leftovers == [])
        #expect(evidence.overlaps == [])
        #expect(evidence.twice == [])
        #expect(evidence.unfenced == [])
        #expect(evidence.failures == [])
        #expect(evidence.broken == [])
        #expect(evidence.open == [])
        // A lease lasts for 60 s, and some process checks all the time.
        #expect(longest < .seconds(65), "a lease was held by the dead for \(longest)")
        #expect(kept == scene.samples)
        #expect(delivery.findings == [])
        #expect(audit.delivered + held == scene.samples, "\(audit.samples)")
        if policy == .deduplicates { #expect(audit.samples == ["confirmed": scene.samples]) }
        #expect(audit.damage == [])
        // Checks that everyone took part: loops ran, some were killed, and the witnesses worked. In
        // a few seconds on a busy machine, not everyone may get a turn.
        if ChaosPlan.current.isWhole {
            #expect(await round.tally.visits.keys.contains("loop"))
            // A `run` ends so soon that a kill may never hit one.
            #expect(kills["loop", default: 0] > 0 && kills["worker", default: 0] > 0, "\(kills)")
        }
        #expect(evidence.witnessed > 0 && evidence.attempts >= evidence.runs / 2)
    }

    @Test func `the uploads of a killed worker are known by its port`() async throws {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 10)
        try await playground.logIn()
        try await sandbox.addFault("POST /health-data/upload: latency=600s")
        let scheduler = try playground.start(["run", "upload"])
        try await sandbox.wait(for: 1) { try await $0.count("uploads") }
        let tally = CrowdTally()

        try await tally.kill(scheduler)
        let end = await scheduler.finish()

        let sends = try await sandbox.sends().sends
        #expect(end.status == 137 && sends.count == 1)
        #expect(await tally.cutShort.ports.isSuperset(of: sends.map(\.peerPort)))
        #expect(await tally.cutShort.ports.count <= 2)
    }

    @Test func `processes that create the history together wait for each other`() async throws {
        for _ in 0..<ChaosPlan.current.size(slice: 2, whole: 40) {
            let playground = try await Playground(sandboxOptions: nil) { _, folder in
                """
                version: 1
                backend: { url: http://127.0.0.1:9 }
                sources: []
                jobs:
                  - id: once
                    kind: command
                    schedule: { every: 30d }
                    options: { command: [sh, -c, "echo ran >>ran"], folder: \(folder) }

                """
            }

            let crowd = try (0..<30).map { _ in try playground.start(["run", "--due"]) }
            var results: [ProgramResult] = []
            for program in crowd { results.append(await program.finish()) }

            let words = results.filter { $0.status != 0 || $0.errors != "" }
                .map { "\($0.status): \($0.errors)" }
            #expect(words == [])
            #expect(try await playground.history("once").map(\.attempts) == [1])
            let ran = try TemporaryFolder.read("\(playground.folder.path)/ran")
            #expect(String(decoding: ran, as: UTF8.self) == "ran\n")
        }
    }

    /// Four jobs are due at once, and each finds its token refused. A refresh token works once: the
    /// backend refuses its second use, even before the first one has an answer.
    @Test func `workers that find their session out of date together renew it once`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()
        try await sandbox.expireTokens()
        try await sandbox.addFault("POST /auth/refresh: latency=500ms")

        let result = try await playground.run("run", "--due")
        let session = try await playground.run("auth", "status")
        let again = try await playground.run("run", "refresh")

        #expect(result.status == 0, "\(result.errors)")
        #expect(session.status == 0, "\(session.errors)")
        #expect(again.status == 0, "\(again.errors)")
        #expect(try await sandbox.count("metrics") == 250)
    }

    /// Only the backend knows the tokens of an answer that never arrived. The session is lost, and
    /// the samples are not.
    @Test func `a kill between a renewal and its answer costs the login and nothing else`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"])
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()
        try await sandbox.expireTokens()
        try await sandbox.addFault("POST /auth/refresh: latency=600s")
        let before = try await sandbox.answers("200")
        let scheduler = try playground.start(["run", "upload"])
        try await sandbox.wait(for: before + 1) { try await $0.answers("200") }

        scheduler.signal(9)
        _ = await scheduler.finish()
        let rescue = try await playground.run("run", "--due")
        try await playground.logIn()
        let after = try await playground.run("run", "upload")

        #expect(rescue.status == 75)
        #expect(
            rescue.errors.contains("waits for a login")
                && rescue.errors.contains("run `clarity-jobs auth login`"), "\(rescue.errors)")
        #expect(after.status == 0, "\(after.errors)")
        #expect(try await sandbox.count("metrics") == 250)
        #expect(try await sandbox.count("distinct_metric_ids") == 250)
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.unsent == 0)
    }
}
