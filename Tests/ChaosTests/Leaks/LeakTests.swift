import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

@Suite("A loop that runs many jobs", .timeLimit(.minutes(20)))
struct LeakTests {
    /// Returns a job file with sixty jobs that are due every second, and a pull that goes through
    /// the worker.
    private static func jobFile(url: String, folder: String) -> String {
        let commands = (0..<60).map { number in
            """
              - { id: true-\(number), kind: command, schedule: { every: 1s }, \
            options: { command: ["true"] } }
            """
        }
        return """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources: []
            store: { history: { keep_runs: 5 } }
            defaults: { max_parallel: 8 }
            jobs:
              - { id: refresh, kind: refresh, class: app-refresh, schedule: { every: 2s } }
            \(commands.joined(separator: "\n"))

            """
    }

    @Test func `a loop leaks no memory, descriptors, threads or files`() async throws {
        let plan = ChaosPlan.current
        let wanted = plan.size(slice: 150, whole: 10_000)
        let playground = try await Playground(jobFile: Self.jobFile)
        try await playground.logIn()

        let loop = try WatchedLoop(playground, every: plan.size(slice: 30, whole: 100))
        while loop.runs < wanted {
            #expect(try await loop.next(), "the loop ended")
        }
        let end = await loop.end()

        var line = ChaosLine("leaks", measures: [.crashes])
        line.rounds = loop.runs
        line.crashes = (end.status == 143 ? 0 : 1) + loop.faults.count { OwnFault.isTold(in: $0) }
        line.tell()
        print(loop.curve)
        #expect(end.status == 143, "\(end.errors)")
        #expect(loop.faults == [])
        let last = try #require(loop.samples.last?.vitals)
        let descriptors = Trend(loop.samples, \.descriptors)
        // Eight attempts run at once, each with a few descriptors. A leak would amount to
        // thousands.
        #expect(descriptors.most <= 120, "\(loop.curve)")
        #expect(Trend(loop.samples, \.threads).most <= 12, "\(loop.curve)")
        // Eight attempts have a lock each, in a folder, and one that has just ended may still have its
        // own. A leak would amount to as many as there were runs. One of the thirteen others is the
        // copy of the valid job file.
        #expect(last.files <= 13 + 10, "\(loop.curve)")
        guard plan.isWhole else { return }
        // 64 bytes a run are 640 KiB here. A loop does not grow by that much in a year.
        let growth = Trend.lasting(Trend.points(loop.samples, \.memoryKiB)) * 1024
        #expect(growth < 64, "\(growth) bytes a run\n\(loop.curve)")
        let kept = Trend.kept(Trend.points(loop.samples, \.descriptors))
        #expect(kept * 10_000 < 10, "\(loop.curve)")
        // The history keeps five finished runs of each job, and is pruned after every 200 runs.
        let history = try FileConnection(
            path: "\(playground.statePath)/history.db", access: .readOnly)
        let rows = try history.first("SELECT count(*) FROM runs") { Int($0.integer(0)) }
        #expect(try #require(rows) <= 61 * 5 + 500)
        #expect(Trend(loop.samples, \.logBytes).most <= 20 * 1_048_576, "\(loop.curve)")
    }
}
