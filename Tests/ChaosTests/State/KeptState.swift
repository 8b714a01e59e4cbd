import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import SQLite
import Synchronization
import Testing

/// A playground whose state directory can be put back as often as is wanted: 40 samples that wait to
/// be sent, a session, a history, and a backup of it all.
final class KeptState: Sendable {
    static let samples = 40
    /// The two files that a person can lose.
    static let names = ["history.db", "health.db"]

    let playground: Playground
    private let kept: String
    /// The newest send when the state was put back. From there on it must send everything once.
    private let sendsBefore = Mutex(0)

    /// - Parameter mutation: a fault of the client that the judgement has to find.
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

    /// Keeps the state as it is now for the rounds that follow.
    func keep() async throws {
        // No log is left beside the files, so that what is damaged is what is read.
        for name in KeptState.names {
            try Connection(path: "\(playground.statePath)/\(name)", access: .readWrite)
                .execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try await keepAsItIs()
    }

    /// The same for files that SQLite does not open.
    func keepAsItIs() async throws { try await copy(playground.statePath, to: kept) }

    /// Puts the state back as it was kept.
    func putBack() async throws {
        try await copy(kept, to: playground.statePath)
        try await forgetSends()
    }

    /// Judges what is sent from here on. Health data that was put back knows of no send since the
    /// backup, and sends everything again.
    func forgetSends() async throws {
        let last = try await playground.sandbox?.lastSend() ?? 0
        sendsBefore.withLock { $0 = last }
    }

    /// What the backend received since the state was put back, against its source.
    ///
    /// - Parameter told: how many samples have a damage that the outbox tells of.
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

    /// What SQLite and `audit` find wrong, and which samples are not confirmed, after a clean run.
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
