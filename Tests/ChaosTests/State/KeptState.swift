import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Synchronization
import Testing

/// A playground whose state directory can be put back again and again: 40 samples to send, a
/// session, a history, and a backup of everything.
final class KeptState: Sendable {
    static let samples = 40
    /// The two files that a person can lose.
    static let names = ["history.db", "health.db"]

    let playground: Playground
    private let kept: String
    /// The newest send when the state was put back. Every sample must be sent once after it.
    private let sendsBefore = Mutex(0)

    /// Fills the state directory and keeps a copy of it.
    ///
    /// - Parameter mutation: a fault of the client that the judge has to find.
    init(mutation: ClientMutation? = nil) async throws {
        playground = try await Playground(
            sandboxOptions: ["--processing-steps", "1"], mutation: mutation)
        kept = "\(playground.folder.path)/kept"
        try await playground.logIn()
        try playground.writeExport(heartRates: KeptState.samples)
        for words in [["run", "cleanup"], ["import", "\(playground.folder.path)/export.xml"]] {
            let result = try await playground.start(words).finish()
            try #require(result.status == 0, "\(words): \(result.errors)")
        }
        let backup = try await playground.run("backup")
        try #require(backup.status == 0, "\(backup.errors)")
        try await keep()
    }

    /// Keeps the current state for the rounds that follow.
    func keep() async throws {
        // No log is left beside the files, so that a damaged page is one that is read.
        for name in KeptState.names {
            try FileConnection(path: "\(playground.statePath)/\(name)", access: .readWrite)
                .execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try await keepAsItIs()
    }

    /// Keeps the current state of files that SQLite cannot open.
    func keepAsItIs() async throws { try await copy(playground.statePath, to: kept) }

    /// Puts the kept state back.
    func putBack() async throws {
        try await copy(kept, to: playground.statePath)
        try await forgetSends()
    }

    /// Judges only the sends from here on. A restored health database knows of no send since the
    /// backup, and sends everything again.
    func forgetSends() async throws {
        let last = try await playground.sandbox?.lastSend() ?? 0
        sendsBefore.withLock { $0 = last }
    }

    /// Judges what the backend received since the state was put back against the export.
    ///
    /// - Parameter told: how many samples are damaged and reported by the outbox.
    func delivery(told: Int = 0) async throws -> DeliveryJudge.Verdict {
        let sandbox = try #require(playground.sandbox)
        let record = try await sandbox.sends(after: sendsBefore.withLock(\.self))
        var claims = DeliveryJudge.Claims(try StateAudit(statePath: playground.statePath))
        claims.held = told
        return DeliveryJudge(
            expected: .export(heartRates: KeptState.samples), record: record, claims: claims,
            mayBeHeld: told
        ).verdict()
    }

    /// Returns what SQLite and `audit` find wrong after a clean run, and the samples that are not
    /// confirmed.
    func faultsAfterCleanRun() async throws -> [String] {
        let run = try await playground.run("run", "upload", "--force")
        let audit = try await playground.run("audit")
        let proof = try await playground.run("audit", "log", "--verify")
        let state = try StateAudit(statePath: playground.statePath)
        var faults = state.damage
        for (result, name) in [(run, "upload"), (audit, "audit"), (proof, "the audit log")]
        where result.status != 0 {
            faults.append("\(name): \(result.status) \(result.output) \(result.errors)")
        }
        if state.samples != ["confirmed": KeptState.samples] { faults.append("\(state.samples)") }
        return faults + (try await delivery()).findings
    }

    private func copy(_ source: String, to target: String) async throws {
        for command in [["/bin/rm", "-rf", target], ["/bin/cp", "-a", source, target]] {
            let result = try await ChildProgram.run(
                command[0], Array(command.dropFirst()), environment: [:], input: "")
            try #require(result.status == 0, "\(result.errors)")
        }
    }
}
