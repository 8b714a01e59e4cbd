import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// A home with a person who is logged in and a sandbox, in which faults of the world are tried one
/// after the other. Each round has new samples, a command under the fault, a clean run, and the
/// proof.
///
/// `@unchecked`: only one task at a time uses it.
final class WorldScene: @unchecked Sendable {
    /// A command that a person or cron runs under the fault.
    enum Deed: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case upload = "run upload"
        case refresh = "run refresh"
        case insights = "run insights"
        case cleanup = "run cleanup"
        case everything = "run refresh upload status insights cleanup"
        case importing = "import"
        case rotation = "key rotate"

        var testDescription: String { rawValue }

        /// Returns the arguments of `clarity-jobs`.
        func arguments(_ playground: Playground) -> [String] {
            let words = rawValue.split(separator: " ").map(String.init)
            return self == .importing ? words + ["\(playground.folder.path)/export.xml"] : words
        }
    }

    let playground: Playground
    let sandbox: Sandbox
    /// The number of samples in the export.
    private(set) var samples = 0
    private let policy: DeliveryJudge.Policy
    /// The attempts that a fault cut short, and how many samples they may have left on hold.
    private var cutShort = DeliveryJudge.CutShort()
    private var mayBeHeld = 0
    private let jobFile: (_ url: String, _ folder: String) -> String

    static let batchSize = 8

    /// Logs in and, unless `isFresh`, runs every job once.
    ///
    /// - Parameters:
    ///   - policy: `resend` and `hold` need the `loop` contract of the deployed backend.
    ///   - mutation: a fault of the client that the proof has to find.
    ///   - database: where the state is; in files without it.
    ///   - sandboxClock: the time on the backend's clock; the machine's own time without it.
    ///   - jobFile: the job file of the home.
    init(
        _ policy: DeliveryJudge.Policy = .deduplicates, mutation: ClientMutation? = nil,
        isFresh: Bool = false, in network: NetworkNamespace? = nil,
        on database: StateDatabase? = nil, sandboxClock: Instant? = nil,
        statePrepared: (Playground) throws -> Void = { _ in },
        jobFile: @escaping (_ url: String, _ folder: String) -> String = WorldScene.jobFile
    ) async throws {
        self.policy = policy
        self.jobFile = { policy.written(into: jobFile($0, $1)) }
        playground = try await Playground(
            sandboxOptions: ["--processing-steps", "1"]
                + policy.sandboxOptions + (sandboxClock.map { ["--clock", "\($0)"] } ?? []),
            in: network, mutation: mutation, on: database, jobFile: self.jobFile)
        sandbox = try #require(playground.sandbox)
        try statePrepared(playground)
        try await playground.logIn()
        guard !isFresh else { return }
        try addSamples(24)
        let result = try await settle()
        try #require(result.status == 0, "\(result.errors)")
    }

    /// Returns a job file with the five standard jobs and a second upload job. Small batches split
    /// an upload into several requests.
    static func jobFile(url: String, folder: String) -> String {
        Playground.standardJobFile(url: url, folder: folder)
            .replacing(
                "kind: bulk-upload",
                with: "kind: bulk-upload\n    options: { batch_size: \(batchSize) }")
                + """
                  - id: upload-too
                    kind: bulk-upload
                    options: { batch_size: \(batchSize) }
                    schedule: { every: 1h }

                """
    }

    /// Adds `count` samples to the export.
    func addSamples(_ count: Int) throws {
        samples += count
        try playground.writeExport(heartRates: samples)
    }

    /// Runs every job undisturbed, and then whatever is due. A named run ignores its backoff, and a
    /// chained run may wait behind a named one.
    ///
    /// Before that, both uploads run at the same time, and send what a dead attempt has left.
    /// Either of them may have to wait for that.
    func settle() async throws -> ProgramResult {
        let uploads = try ["upload", "upload-too"].map { try playground.start(["run", $0]) }
        for upload in uploads { _ = await upload.finish() }
        let named = try await playground.run(
            "run", "refresh", "upload", "upload-too", "status", "insights", "cleanup")
        let due = try await playground.run("run", "--due")
        try playground.write(jobFile: jobFile)
        return named.status == 0 && due.status != 75 ? due : named
    }

    /// Runs `body`, which may cut an upload short between its answer and the record of that answer.
    func disturb<Result>(_ body: () async throws -> Result) async throws -> Result {
        let first = try await sandbox.lastSend() + 1
        let result = try await body()
        // Requests that were in flight when the program ended belong to its sends.
        try await sandbox.waitUntilQuiet()
        let last = try await sandbox.lastSend()
        if last >= first { cutShort.sends.append(first...last) }
        // Each of the two jobs has one batch in flight.
        if policy == .hold { mayBeHeld += 2 * WorldScene.batchSize }
        return result
    }

    /// Makes a clean run after a fault and returns the proof, with the messages of failed commands
    /// as findings.
    ///
    /// A key rotation that was cut short is finished first, as its message asks.
    func proof(after deed: Deed? = nil) async throws -> StateProof {
        var complaints: [String] = []
        if deed == .rotation {
            let rotation = try await playground.run("key", "rotate")
            if rotation.status != 0 {
                complaints.append("key rotate: \(rotation.status): \(rotation.errors)")
            }
        }
        let clean = try await settle()
        if clean.status != 0 {
            complaints.append("clean run: \(clean.status): \(clean.errors)")
        }
        var proof = try await StateProof(
            of: playground, expected: .export(heartRates: samples), policy: policy,
            cutShort: cutShort, mayBeHeld: mayBeHeld)
        proof.findings += complaints
        return proof
    }
}

/// Judges what a program prints, and how it ends, under a fault of the world.
struct Manners {
    /// What the program must not have done.
    private(set) var offences: [String] = []
    /// Whether a signal that no test sent ended the program or its worker.
    private(set) var isCrash = false

    /// Judges a program's end.
    ///
    /// - Parameter statuses: the statuses that the fault allows. Each needs a message, except 0, 75
    ///   (cron starts such commands every minute) and 143 (of a loop that was asked to end).
    /// - Parameter isWorkerExpendable: whether a signal may end a worker, as Swift's runtime ends a
    ///   process that gets no memory. It may not end the program that started the worker.
    /// - Parameter mostLines: how many lines it may print: one for the failure and one for each job
    ///   that waits, or for its run's notes.
    init(
        _ result: ProgramResult, statuses: Set<Int32>, isWorkerExpendable: Bool = false,
        mostLines: Int = 20
    ) {
        let words = result.errors
        for mark in [
            "Fatal error", "swift-backtrace", "*** Signal", "Illegal instruction", "by signal",
            "SIGILL", "SIGSEGV", "SIGABRT", "SIGTRAP", "SIGBUS", "core dumped",
        ] where !isWorkerExpendable && (words.contains(mark) || result.output.contains(mark)) {
            isCrash = true
            offences.append("says `\(mark)`")
        }
        if result.status > 128, !statuses.contains(result.status) {
            isCrash = true
            offences.append("ended by signal \(result.status - 128)")
        } else if !statuses.contains(result.status) {
            offences.append("status \(result.status)")
        }
        if ![0, 75, 143].contains(result.status), result.errorLines.isEmpty {
            offences.append("status \(result.status) without a word")
        }
        // The runtime prints more about its own end.
        if !isWorkerExpendable, result.errorLines.count > mostLines {
            offences.append("\(result.errorLines.count) lines")
        }
        if !offences.isEmpty { offences.append(words) }
    }
}
