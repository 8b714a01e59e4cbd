import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport

/// What a crowd has done so far, and what it should not have.
actor CrowdTally {
    private(set) var visits: [String: Int] = [:]
    private(set) var kills: [String: Int] = [:]
    /// What a person would have complained about, the first of it; nothing is hidden by the limit.
    private(set) var complaints: [String] = []
    private(set) var crashes = 0
    /// The uploads that kills may have cut short.
    private(set) var cutShort = DeliveryJudge.CutShort()
    private var ended = 0
    private var isOver = false
    private var waiting: [(visits: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// The words by which a program shows its plumbing to a person, or its own fault.
    private static let plumbing = [
        "locked", "busy", "SQLite", "Fatal error", "Sanitizer", "constraint failed", "corrupt",
    ]

    /// Whether there is so much to complain about that more would tell nothing.
    var isHopeless: Bool { complaints.count >= 20 }
    var count: Int { ended }

    /// Notes that somebody was killed.
    func killed(_ what: String) { kills[what, default: 0] += 1 }

    /// Kills a program, and notes which connections its workers had. It is stopped before, so that it
    /// starts no other worker.
    func kill(_ program: ChildProgram) async throws {
        program.signal(SIGSTOP)
        try await ProcessTable.waitForStop(of: program.processID)
        let workers = ProcessTable.children(of: program.processID)
        cutShort.ports.formUnion(try await ProcessTable.stopped(workers))
        program.signal(SIGKILL)
        // They notice themselves that nobody is there any more to whom they could report.
        for worker in workers { Glibc.kill(worker, SIGCONT) }
    }

    /// Kills a worker, and notes which connections it had; `false` when it was gone.
    func kill(worker: Int32) async throws -> Bool {
        cutShort.ports.formUnion(try await ProcessTable.stopped([worker]))
        return Glibc.kill(worker, SIGKILL) == 0
    }

    /// Notes how a visitor ended; `wasKilled` when that was our doing.
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

    /// Returns when so many more visitors have ended, or all is over.
    func wait(forMore more: Int) async {
        guard !isOver else { return }
        await withCheckedContinuation { waiting.append((ended + more, $0)) }
    }

    /// Lets everybody go who waits for visitors.
    func close() {
        isOver = true
        waiting.forEach { $0.continuation.resume() }
        waiting = []
    }
}
