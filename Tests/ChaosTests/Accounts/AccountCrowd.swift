import ClarityScheduler
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport

/// A crowd of processes over the accounts of one machine: loops, runs of what is due, and commands
/// for one account or all. Accounts come and go, and now and then a program or its worker is killed.
struct AccountCrowd {
    let scene: AccountScene
    let plan: ChaosPlan
    let length: Duration
    let tally = CrowdTally()

    /// Runs the crowd for `length`, and returns when the last process has ended.
    func run() async throws {
        let deadline = ContinuousClock.now + length
        try await withThrowingTaskGroup { group in
            let lanes = plan.size(slice: 6, whole: 12)
            for lane in 0..<lanes {
                group.addTask { try await visit(until: deadline, "accounts \(lane)", lane) }
            }
            group.addTask { try await loop(until: deadline) }
            // The loop waits for visitors, so it must learn when the last one has left.
            for _ in 0..<lanes { try await group.next() }
            await tally.close()
            try await group.waitForAll()
        }
    }

    private func goesOn(until deadline: ContinuousClock.Instant) async -> Bool {
        guard ContinuousClock.now < deadline else { return false }
        return await !tally.isHopeless
    }

    private func visit(
        until deadline: ContinuousClock.Instant, _ name: String, _ lane: Int
    ) async throws {
        var random = plan.generator(name)
        // A guest that nobody logs in comes and goes.
        let guest = "guest-\(lane)"
        var isThere = false
        while await goesOn(until: deadline) {
            let visitor: CrowdVisitor
            if Int.random(in: 0..<8, using: &random) == 0 {
                visitor =
                    isThere
                    ? CrowdVisitor("accounts remove", [guest, "--yes"])
                    : CrowdVisitor("accounts add", [guest])
                isThere.toggle()
            } else {
                visitor = try draw(using: &random)
            }
            let program = try scene.start(visitor.arguments)
            let isKilled =
                !visitor.name.hasPrefix("accounts") && Int.random(in: 0..<10, using: &random) == 0
            if isKilled { try await tally.strike(program, visitor, using: &random) }
            await tally.ended(visitor, await program.finish(), wasKilled: isKilled)
        }
    }

    private func draw(using random: inout SeededGenerator) throws -> CrowdVisitor {
        let id = scene.ids.randomElement(using: &random) ?? ""
        // Guests wait for a login, so that what is due is never complete.
        switch Int.random(in: 0..<14, using: &random) {
        case 0, 1, 2, 3:
            try scene.grow(id, by: Int.random(in: 1...12, using: &random))
            return CrowdVisitor("run --due", [], [0, 1, 75])
        case 4, 5:
            try scene.grow(id, by: Int.random(in: 1...12, using: &random))
            return CrowdVisitor("run", ["\(id)/upload"], [0, 1, 75])
        case 6:
            return CrowdVisitor(
                "import", ["\(scene.playground.folder.path)/\(id).xml", "--account", id])
        case 7: return CrowdVisitor("status --all", [], [0, 1])
        case 8: return CrowdVisitor("outbox --all")
        // A wearer without data has nothing to prove.
        case 9: return CrowdVisitor("audit", ["--account", id])
        case 10: return CrowdVisitor("cancel", ["\(id)/upload"], [0, 64])
        case 11: return CrowdVisitor("pause", ["\(id)/upload", "--for", "1s", "--reason", "crowd"])
        case 12: return CrowdVisitor("metrics", ["--account", id])
        default: return CrowdVisitor("accounts list")
        }
    }

    /// Runs loops one after the other, and drains or kills each.
    private func loop(until deadline: ContinuousClock.Instant) async throws {
        var random = plan.generator("accounts loop")
        while await goesOn(until: deadline) {
            let program = try scene.start(["loop"])
            async let result = program.finish()
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                await tally.wait(forMore: Int.random(in: 5...30, using: &random))
                if let child = ProcessTable.children(of: program.processID).first,
                    try await tally.kill(worker: child)
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
            await tally.ended(CrowdVisitor("loop", [], [143]), await result, wasKilled: isKilled)
        }
    }

    /// Sends the guests home, and finishes all pending work.
    ///
    /// - Returns: a line for each command that ended with an unexpected status.
    func settle() async throws -> [String] {
        try scene.quiet()
        var words: [String] = []
        let guests = "accounts.d/guest-"
        for name in try scene.playground.folder.contents().keys where name.hasPrefix(guests) {
            let id = String(name.dropFirst("accounts.d/".count).dropLast(".yaml".count))
            let gone = try await scene.run("accounts", "remove", id, "--yes")
            if gone.status != 0 { words.append("remove \(id): \(gone.errors)") }
        }
        _ = try await scene.run("resume", "--all")
        // A run that was cut short may be in its backoff; one by its name does not wait for that.
        for _ in 0..<3 where try await !scene.settle().isEmpty {}
        try await scene.finishOpenRuns()
        return words + (try await scene.settle())
    }
}
