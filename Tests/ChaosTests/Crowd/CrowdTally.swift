import ClarityScheduler
import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport

/// Counts what a crowd has done, and records what it should not have done.
actor CrowdTally {
    private(set) var visits: [String: Int] = [:]
    private(set) var kills: [String: Int] = [:]
    /// The unexpected ends of programs, with the beginning of their output. The crowd stops after
    /// 20, but no complaint is dropped.
    private(set) var complaints: [String] = []
    private(set) var crashes = 0
    /// The uploads that kills may have cut short.
    private(set) var cutShort = DeliveryJudge.CutShort()
    private var ended = 0
    private var isOver = false
    private var waiting: [(visits: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Words that show a program's internals to a person, or a fault of the program.
    private static let plumbing = [
        "locked", "busy", "SQLite", "Fatal error", "Sanitizer", "constraint failed", "corrupt",
    ]

    /// Whether there are so many complaints that more would add nothing.
    var isHopeless: Bool { complaints.count >= 20 }
    var count: Int { ended }

    /// Counts a kill, or another signal, by its name.
    func killed(_ what: String) { kills[what, default: 0] += 1 }

    /// Kills a program, and records the connections of its workers. The program is stopped first,
    /// so that it starts no other worker.
    func kill(_ program: ChildProgram) async throws {
        program.signal(SIGSTOP)
        try await ProcessTable.waitForStop(of: program.processID)
        let workers = ProcessTable.children(of: program.processID)
        cutShort.ports.formUnion(try await ProcessTable.stopped(workers))
        program.signal(SIGKILL)
        // A thread that waits for the disk keeps the program alive for a while, and its workers would
        // go on over connections that nobody recorded.
        try await ProcessTable.waitForEnd(of: program.processID)
        // The workers notice by themselves that nobody is left to read their reports.
        for worker in workers { Glibc.kill(worker, SIGCONT) }
    }

    /// Kills a worker and records its connections. Returns `false` if the worker was already gone.
    func kill(worker: Int32) async throws -> Bool {
        cutShort.ports.formUnion(try await ProcessTable.stopped([worker]))
        return Glibc.kill(worker, SIGKILL) == 0
    }

    /// Kills a program, its first worker or both, as soon as it has a worker.
    nonisolated func strike(
        _ program: ChildProgram, _ visitor: CrowdVisitor, using random: inout SeededGenerator
    ) async throws {
        let target = Int.random(in: 0..<3, using: &random)
        // A command without a worker is killed at once, before or after it has done its work.
        let startsWorkers = visitor.name.hasPrefix("run")
        let child = startsWorkers ? try await ProcessTable.firstChild(of: program.processID) : nil
        if target != 0, let child, try await kill(worker: child) {
            await killed("worker")
        }
        if target != 1, ProcessTable.isAlive(program.processID) {
            try await kill(program)
            await killed(startsWorkers ? "run" : "other")
        }
    }

    /// Records how a visitor ended. `wasKilled` is true if this test killed it.
    func ended(_ visitor: CrowdVisitor, _ result: ProgramResult, wasKilled: Bool) {
        visits[visitor.name, default: 0] += 1
        let words = "\(result.output)\(result.errors)"
        let isCrash =
            result.status > 128 && ![130, 143].contains(result.status)
            && !(wasKilled && result.status == 137)
        if isCrash { crashes += 1 }
        let isExpected = visitor.statuses.contains(result.status)
        let isShown = Self.plumbing.contains { words.contains($0) }
        if isCrash || isShown || !(isExpected || wasKilled && result.status == 137) {
            complaints.append(
                "\(visitor.arguments.joined(separator: " ")) ended with \(result.status): "
                    + String(words.prefix(600)))
        }
        ended += 1
        let ready = waiting.filter { $0.visits <= ended }
        waiting.removeAll { $0.visits <= ended }
        ready.forEach { $0.continuation.resume() }
    }

    /// Returns when `more` further visitors have ended, or when the round is over.
    func wait(forMore more: Int) async {
        guard !isOver else { return }
        await withCheckedContinuation { waiting.append((ended + more, $0)) }
    }

    /// Ends every wait for visitors.
    func close() {
        isOver = true
        waiting.forEach { $0.continuation.resume() }
        waiting = []
    }
}
