import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// A home with a person logged in and a sandbox, in which one fault of the world after the other is
/// tried: each round has new samples, a command under the fault, a clean run, and the proof.
///
/// `@unchecked`: used by one task at a time.
final class WorldScene: @unchecked Sendable {
    /// What a person or cron does while the world is at fault.
    enum Deed: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case upload = "run upload"
        case refresh = "run refresh"
        case insights = "run insights"
        case cleanup = "run cleanup"
        case everything = "run refresh upload status insights cleanup"
        case importing = "import"
        case rotation = "key rotate"

        var testDescription: String { rawValue }

        /// The words after `clarity-jobs`.
        func arguments(_ playground: Playground) -> [String] {
            let words = rawValue.split(separator: " ").map(String.init)
            return self == .importing ? words + ["\(playground.folder.path)/export.xml"] : words
        }
    }

    let playground: Playground
    let sandbox: Sandbox
    /// How many samples the export has.
    private(set) var samples = 0
    private let policy: DeliveryJudge.Policy
    /// The programs that a fault struck, and how many samples they may have left on hold.
    private var cutShort = DeliveryJudge.CutShort()
    private var mayBeHeld = 0
    private let jobFile: (_ url: String, _ folder: String) -> String

    static let batchSize = 8

    /// Logs in and, unless `isFresh`, lets everything run once.
    ///
    /// - Parameters:
    ///   - policy: `resend` and `hold` want the `loop` contract, as the deployed backend keeps it.
    ///   - mutation: a fault of the client that the proof has to find.
    ///   - sandboxClock: where the backend's clock stands; the machine's own without it.
    ///   - jobFile: what is declared while the world is at fault.
    init(
        _ policy: DeliveryJudge.Policy = .deduplicates, mutation: ClientMutation? = nil,
        isFresh: Bool = false, in network: NetworkNamespace? = nil, sandboxClock: Instant? = nil,
        statePrepared: (Playground) throws -> Void = { _ in },
        jobFile: @escaping (_ url: String, _ folder: String) -> String = WorldScene.jobFile
    ) async throws {
        self.policy = policy
        self.jobFile = { policy.written(into: jobFile($0, $1)) }
        playground = try await Playground(
            sandboxOptions: ["--processing-steps", "1"]
                + policy.sandboxOptions + (sandboxClock.map { ["--clock", "\($0)"] } ?? []),
            in: network, mutation: mutation, jobFile: self.jobFile)
        sandbox = try #require(playground.sandbox)
        try statePrepared(playground)
        try await playground.logIn()
        guard !isFresh else { return }
        try addSamples(24)
        let result = try await settle()
        try #require(result.status == 0, "\(result.errors)")
    }

    /// The five jobs and a second one that uploads, with batches that make an upload several requests.
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

    /// Puts so many more samples into the export.
    func addSamples(_ count: Int) throws {
        samples += count
        try playground.writeExport(heartRates: samples)
    }

    /// Lets every job run with nothing in the way, and then whatever is due: a backoff does not count
    /// for what is named, and a chain may wait behind a run that was named.
    ///
    /// Before that both uploads run at the same time, and with them what a dead attempt has left. Either
    /// of them may be told to wait for that.
    func settle() async throws -> ProgramResult {
        let uploads = try ["upload", "upload-too"].map { try playground.start(["run", $0]) }
        for upload in uploads { _ = await upload.finish() }
        let named = try await playground.run(
            "run", "refresh", "upload", "upload-too", "status", "insights", "cleanup")
        let due = try await playground.run("run", "--due")
        try playground.write(jobFile: jobFile)
        return named.status == 0 && due.status != 75 ? due : named
    }

    /// Does something to the programs that may cut an upload short between its answer and what is
    /// written down of that.
    func disturb<Result>(_ body: () async throws -> Result) async throws -> Result {
        let first = try await sandbox.lastSend() + 1
        let result = try await body()
        // What was on its way when the program ended is of its sends.
        try await sandbox.waitUntilQuiet()
        let last = try await sandbox.lastSend()
        if last >= first { cutShort.sends.append(first...last) }
        // Of each of the two jobs one batch is under way.
        if policy == .hold { mayBeHeld += 2 * WorldScene.batchSize }
        return result
    }

    /// The clean run after a fault, and then the proof, with what the program said as findings.
    ///
    /// A key rotation that was cut short is finished first, as the message about it asks for.
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

/// What a program may say and how it may end when the world is at fault.
struct Manners {
    /// What it did that it must not.
    private(set) var offences: [String] = []
    /// Whether the program, or its worker, was ended by a signal that nobody sent.
    private(set) var isCrash = false

    /// Judges a program's end.
    ///
    /// - Parameter statuses: those that the fault allows; a message is asked for with all but 0 and,
    ///   of what cron starts every minute, 75; and of a loop that was asked to end, 143.
    /// - Parameter isWorkerExpendable: whether a worker may be ended by a signal, as Swift's runtime
    ///   ends a process that gets no memory; the program that started it may not.
    init(_ result: ProgramResult, statuses: Set<Int32>, isWorkerExpendable: Bool = false) {
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
        // One line for what failed and one for each job that waits, or its run's notes; the runtime
        // says more about its own end.
        if !isWorkerExpendable, result.errorLines.count > 20 {
            offences.append("\(result.errorLines.count) lines")
        }
        if !offences.isEmpty { offences.append(words) }
    }
}
