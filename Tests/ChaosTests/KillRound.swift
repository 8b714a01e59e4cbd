import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// One kill in the middle of an upload, and the run that sets it right.
struct KillRound {
    /// Who is killed.
    enum Victim: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case worker
        case runJob = "run upload"
        case runDue = "run --due"
        case loop

        var arguments: [String] {
            switch self {
            case .worker, .runJob: ["run", "upload"]
            case .runDue: ["run", "--due"]
            case .loop: ["loop"]
            }
        }

        var testDescription: String { rawValue }
    }

    /// When it is killed: at an event, never after a span of time.
    enum Point: Hashable, CustomStringConvertible {
        /// As soon as there is a worker.
        case birth
        /// When so many times 4,096 samples are in the outbox; they are written 16,384 at a time.
        case importing(portions: Int)
        /// When the backend has taken so many uploads; the work goes on meanwhile.
        case after(uploads: Int)
        /// While the next upload after so many is in flight: the backend has not looked at it.
        case unheard(uploads: Int)
        /// While the next upload after so many is in flight: the backend has taken it, and its
        /// answer is still to come.
        case unanswered(uploads: Int)
        /// While the first question about what became of the uploads is in flight.
        case polling

        var description: String {
            switch self {
            case .birth: "birth"
            case .importing(let portions): "importing(\(portions))"
            case .after(let uploads): "after(\(uploads))"
            case .unheard(let uploads): "unheard(\(uploads))"
            case .unanswered(let uploads): "unanswered(\(uploads))"
            case .polling: "polling"
            }
        }

        /// What the backend is asked to do so that the kill lands in it.
        var fault: String? {
            switch self {
            case .birth, .importing, .after: nil
            case .unheard(let uploads):
                "POST /health-data/upload: \(Point.passing(uploads))hang"
            case .unanswered(let uploads):
                "POST /health-data/upload: \(Point.passing(uploads))latency=600s"
            case .polling: "GET /health-data/processing/*: hang"
            }
        }

        private static func passing(_ uploads: Int) -> String {
            uploads == 0 ? "" : "pass x\(uploads), "
        }
    }

    /// What a round came to.
    struct Report: CustomStringConvertible {
        var title: String
        /// Whether the victim still lived when it was killed.
        var hit = false
        /// The exit status of the command that was disturbed: 137 when it was the victim itself.
        var disturbed: Int32 = -1
        /// The exit status of the `run --due` that followed, and what it said.
        var rescue: Int32 = -1
        var words = ""
        var samples = 0
        var metrics = 0
        var distinct = 0
        var unsent = 0
        var stuck = 0
        var damage: [String] = []

        var description: String {
            """
            \(title) hit=\(hit) disturbed=\(disturbed) rescue=\(rescue) samples=\(samples) \
            metrics=\(metrics) lost=\(max(0, samples - distinct)) \
            doubled=\(max(0, metrics - samples)) \
            unsent=\(unsent) stuck=\(stuck) damage=\(damage.count)
            """
        }
    }

    let victim: Victim
    let seed: UInt64
    let point: Point
    let samples: Int
    let batchSize: Int

    /// Draws the point and the number of samples from the seed, for each victim anew.
    init(_ victim: Victim, seed: UInt64) {
        self.victim = victim
        self.seed = seed
        var random = SeededGenerator(
            seed: seed &* 16 &+ UInt64(Victim.allCases.firstIndex(of: victim) ?? 0))
        let uploads = Int.random(in: 0...12, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0, 1: (point, batchSize) = (.birth, 20)
        case 2:
            point = .importing(portions: Int.random(in: 1...2, using: &random))
            batchSize = 100
        // Small batches, so that the upload is not over before the kill.
        case 3...8: (point, batchSize) = (.after(uploads: uploads), 4)
        case 9...13: (point, batchSize) = (.unheard(uploads: uploads), 20)
        case 14...18: (point, batchSize) = (.unanswered(uploads: uploads), 20)
        default: (point, batchSize) = (.polling, 20)
        }
        let fill = Int.random(in: 1...40, using: &random)
        if case .importing(let portions) = point {
            samples = portions * 4096 + 10 * fill
        } else {
            samples = 13 * 20 + fill
        }
    }

    /// Kills, lets `run --due` set it right, and counts.
    func run() async throws -> Report {
        var report = Report(title: "victim=\(victim.rawValue) seed=\(seed) point=\(point)")
        let options = "options: { batch_size: \(batchSize) }"
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"]) {
            Playground.standardJobFile(url: $0, folder: $1).replacing(
                "kind: bulk-upload", with: "kind: bulk-upload\n    \(options)"
            )
        }
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: samples)
        try await playground.logIn()
        if let fault = point.fault { try await sandbox.addFault(fault) }

        let scheduler = try playground.start(victim.arguments)
        let target = try await target(in: scheduler, playground, sandbox)
        if let target {
            report.hit = ProcessTable.isAlive(target)
            if victim == .worker {
                kill(target, SIGKILL)
                report.disturbed = await scheduler.finish().status
            } else {
                scheduler.signal(SIGKILL)
                // Its end, but not its reaping: the next must not need that.
                try await ProcessTable.waitForEnd(of: scheduler.processID)
            }
        }
        let rescue = try await playground.run("run", "--due")
        if report.disturbed < 0 { report.disturbed = await scheduler.finish().status }

        (report.rescue, report.words) = (rescue.status, rescue.errors)
        report.samples = samples
        report.metrics = try await sandbox.count("metrics")
        report.distinct = try await sandbox.count("distinct_metric_ids")
        let audit = try StateAudit(statePath: playground.statePath)
        report.unsent = audit.unsent + samples - audit.samples.values.reduce(0, +)
        report.stuck = audit.runs["running", default: 0] + audit.runs["enqueued", default: 0]
        report.damage = audit.damage
        return report
    }

    /// Waits for the point and returns the process to kill; `nil` when it has ended before.
    private func target(
        in scheduler: ChildProgram, _ playground: Playground, _ sandbox: Sandbox
    ) async throws -> Int32? {
        guard try await ProcessTable.firstChild(of: scheduler.processID) != nil else { return nil }
        switch point {
        case .birth: break
        case .importing(let portions):
            while try StateAudit.outboxSize(playground.statePath) < portions * 4096 {
                try Task.checkCancellation()
                await Task.yield()
            }
        case .after(let uploads):
            try await sandbox.wait(for: uploads) { try await $0.count("uploads") }
        case .unheard, .polling:
            try await sandbox.wait(for: 1) { try await $0.answers("hang") }
        case .unanswered(let uploads):
            try await sandbox.wait(for: uploads + 1) { try await $0.count("uploads") }
        }
        let children = ProcessTable.children(of: scheduler.processID)
        return victim == .worker ? children.first : scheduler.processID
    }
}
