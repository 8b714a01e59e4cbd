import ClarityScheduler
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport

/// A crowd of processes on one state directory: thirty that run due jobs, two loops, and five that
/// run various commands. Now and then one of them, or its worker, is killed.
struct CrowdRound {
    let scene: CrowdScene
    let plan: ChaosPlan
    let length: Duration
    let tally = CrowdTally()
    let watch: LeaseWatch

    init(_ scene: CrowdScene, _ plan: ChaosPlan, length: Duration) {
        (self.scene, self.plan, self.length) = (scene, plan, length)
        watch = LeaseWatch(scene.playground)
    }

    /// Runs the crowd for `length`, and returns when the last process has ended.
    func run() async throws {
        let deadline = ContinuousClock.now + length
        try await withThrowingTaskGroup { group in
            for lane in 0..<30 {
                group.addTask { try await visit(until: deadline, "due \(lane)", isDue: true) }
            }
            for lane in 0..<5 {
                group.addTask { try await visit(until: deadline, "others \(lane)", isDue: false) }
            }
            for lane in 0..<2 {
                group.addTask { try await loop(until: deadline, "loop \(lane)") }
            }
            // The loops wait for visitors, so they must learn when the last one has left.
            for _ in 0..<35 { try await group.next() }
            await tally.close()
            try await group.waitForAll()
        }
    }

    private func goesOn(until deadline: ContinuousClock.Instant) async -> Bool {
        guard ContinuousClock.now < deadline else { return false }
        return await !tally.isHopeless
    }

    private func visit(
        until deadline: ContinuousClock.Instant, _ lane: String, isDue: Bool
    ) async throws {
        var random = plan.generator("crowd \(lane)")
        while await goesOn(until: deadline) {
            let visitor =
                isDue ? CrowdVisitor.due : try CrowdVisitor.draw(scene, using: &random)
            let program = try scene.playground.start(visitor.arguments)
            let isKilled = Int.random(in: 0..<16, using: &random) == 0
            if isKilled { try await tally.strike(program, visitor, using: &random) }
            let result = await program.finish()
            await tally.ended(visitor, result, wasKilled: isKilled)
            try await watch.look()
        }
    }

    /// Runs loops one after the other, reloads them or kills their workers, and drains or kills
    /// each.
    private func loop(until deadline: ContinuousClock.Instant, _ lane: String) async throws {
        var random = plan.generator("crowd \(lane)")
        while await goesOn(until: deadline) {
            let program = try scene.playground.start(["loop"])
            async let result = program.finish()
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                await tally.wait(forMore: Int.random(in: 20...120, using: &random))
                if Bool.random(using: &random) {
                    program.signal(SIGHUP)
                    await tally.killed("reload")
                } else if let child = await worker(of: program), try await tally.kill(worker: child)
                {
                    await tally.killed("worker")
                }
            }
            let isKilled = Bool.random(using: &random)
            if isKilled {
                try await tally.kill(program)
            } else {
                program.signal(SIGTERM)
            }
            await tally.killed(isKilled ? "loop" : "drain")
            let visitor = CrowdVisitor("loop", [], [143])
            await tally.ended(visitor, await result, wasKilled: isKilled)
        }
    }

    /// Returns a worker of a loop, after a wait for some visitors if it has none: while another loop
    /// decides, it never has one.
    private func worker(of loop: ChildProgram) async -> Int32? {
        for _ in 0..<30 {
            if let child = ProcessTable.children(of: loop.processID).first { return child }
            await tally.wait(forMore: 1)
        }
        return nil
    }

    /// Finishes all pending work.
    ///
    /// - Returns: a line for each command that ended with an unexpected status.
    func settle() async throws -> [String] {
        var words: [String] = []
        func expect(_ arguments: [String], _ statuses: Set<Int32> = [0]) async throws -> Int32 {
            let result = try await scene.playground.start(arguments).finish()
            if !statuses.contains(result.status) {
                words.append(
                    "\(arguments.joined(separator: " ")) ended with \(result.status): "
                        + result.errors)
            }
            return result.status
        }
        try scene.quiet()
        _ = try await expect(["resume", "--all"])
        // Completes the imports that were killed.
        for file in scene.imports { _ = try await expect(["import", file, "--quiet"]) }
        for _ in 0..<12 {
            guard try await expect(["run", "--due"], [0, 1, 75]) != 0 else { break }
            // A run that waits for its backoff starts at once after `retry`.
            for job in CrowdScene.jobs { _ = try await expect(["retry", job], [0, 64]) }
        }
        for job in CrowdScene.uploads + ["status"] { _ = try await expect(["run", job]) }
        _ = try await expect(["audit"])
        return words
    }
}
