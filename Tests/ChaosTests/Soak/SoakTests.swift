import ClarityScheduler
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Database
import Testing

@Suite("A loop under load for a long time", .timeLimit(.minutes(45)))
struct SoakTests {
    /// Faults of the backend that come and go. `hang` ends at the job's timeout.
    private static let faults = [
        "POST /health-data/upload: 503 retry-after=1", "POST /health-data/upload: drop, reset",
        "POST /health-data/upload: truncate", "GET /health-data: 500, garbage",
        "GET /health-data: hang", "GET /insights/history/*: 429 retry-after=1", "* /*: expire",
    ]

    /// Runs for half an hour in `make chaos`, and otherwise for some seconds.
    @Test func `a loop does not grow, whatever happens to its backend and sources`()
        async throws
    {
        let plan = ChaosPlan.current
        var random = plan.generator("soak")
        let scene = try await CrowdScene(keptRuns: 40, timeout: "5s")
        let loop = try WatchedLoop(scene.playground, every: plan.size(slice: 10, whole: 100))
        let deadline = ContinuousClock.now + plan.span(slice: 4, whole: 1800)
        var (events, readers): ([String: Int], [Connection]) = ([:], [])
        var isReadUntil = 0

        while ContinuousClock.now < deadline {
            try #require(try await loop.next(), "the loop ended")
            // Logs in when asked to, as a person would, if a kill may be the reason. Two tokens
            // that end at once cause the same message, and need no login.
            if loop.lastLine.contains("auth login"),
                loop.faults.contains(where: { $0.contains("did not end within its time") }),
                try await scene.playground.hasLostRenewal()
            {
                events["session-lost", default: 0] += 1
                try await scene.playground.logIn()
            }
            switch Int.random(in: 0..<60, using: &random) {
            case 0:
                try await scene.sandbox.addFault(
                    Self.faults.randomElement(using: &random) ?? Self.faults[0])
            case 1, 2:
                try scene.growSource(by: Int.random(in: 1...5, using: &random))
                events["source", default: 0] += 1
            case 4:
                loop.program.signal(SIGHUP)
                events["reload", default: 0] += 1
            case 5 where readers.isEmpty:
                readers = try ["history.db", "health.db"].map { name in
                    let path = "\(scene.playground.statePath)/\(name)"
                    let reader = try FileConnection(path: path, access: .readOnly)
                    // From here on the log has to keep everything that is newer than this.
                    try reader.execute("BEGIN; SELECT count(*) FROM sqlite_schema")
                    return reader
                }
                events["reader", default: 0] += 1
                isReadUntil = loop.runs + 100
            case 6: readers = []
            default: break
            }
            // The log grows for as long as a reader holds it, which is not the loop's fault.
            if loop.runs >= isReadUntil { readers = [] }
        }
        readers = []
        try loop.look()
        let end = await loop.end()

        events["fault"] = try await scene.sandbox.clearFaults()
        let leftovers = try await CrowdRound(scene, plan, length: .zero).settle()
        let evidence = try CrowdEvidence(scene.playground, lines: scene.lines)
        let audit = try StateAudit(statePath: scene.playground.statePath)
        var cutShort = DeliveryJudge.CutShort()
        cutShort.attempts = loop.faults.count {
            $0.hasPrefix("upload") && $0.contains("did not end within its time")
        }
        let delivery = try await scene.delivery(cutShort: cutShort)
        var line = ChaosLine("soak")
        line.rounds = loop.runs
        line.faults = events
        line.lost = delivery.lost
        line.doubled = delivery.doubled
        line.stuck = evidence.open.count
        let broken = loop.faults.filter(OwnFault.isTold)
        line.crashes = (end.status == 143 ? 0 : 1) + broken.count
        line.tell()
        print(loop.curve)

        #expect(end.status == 143, "\(end.errors)")
        #expect(broken == [])
        #expect(leftovers == [], "the last words of the loop: \(loop.faults.suffix(20))")
        #expect(evidence.open == [])
        #expect(evidence.overlaps == [] && evidence.twice == [])
        #expect(audit.samples == ["confirmed": scene.samples])
        #expect(audit.damage == [])
        #expect(delivery.findings == [])
        try expectNoGrowth(loop, isWhole: plan.isWhole)
        guard plan.isWhole else { return }
        for event in ["fault", "source", "reload", "reader"] {
            #expect(events[event, default: 0] > 5, "\(events)")
        }
        // The history keeps 40 runs of each job, not counting failures, and is pruned after every
        // 200 runs.
        #expect(evidence.runs <= CrowdScene.jobs.count * 40 * 2 + 500, "\(evidence.runs) runs")
    }

    private func expectNoGrowth(_ loop: WatchedLoop, isWhole: Bool) throws {
        let curve: Comment = "\(loop.curve)"
        let samples = loop.samples
        #expect(Trend(samples, \.descriptors).most <= 120, curve)
        #expect(Trend(samples, \.threads).most <= 12, curve)
        // The two databases with their logs, the key, the locks, and temporary drafts.
        #expect(Trend(samples, \.files).most <= 20, curve)
        // The log restarts at 16 MiB. A reader that holds it makes it longer for a while.
        #expect(try #require(samples.last).vitals.logBytes <= 36 << 20, curve)
        guard isWhole else { return }
        let growth = Trend.lasting(Trend.points(samples, \.memoryKiB)) * 1024
        #expect(growth < 64, "\(growth) bytes a run\n\(loop.curve)")
        #expect(Trend.kept(Trend.points(samples, \.descriptors)) * 10_000 < 10, curve)
    }
}
