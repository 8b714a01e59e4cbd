import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import SQLite
import Testing

/// A playground whose state directory can be put back as often as is wanted: 40 samples that wait to
/// be sent, a session, a history, and a backup of it all.
final class KeptState: Sendable {
    static let samples = 40
    /// The two files that a person can lose.
    static let names = ["history.db", "health.db"]

    let playground: Playground
    private let kept: String

    init() async throws {
        playground = try await Playground.quick()
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
    func putBack() async throws { try await copy(kept, to: playground.statePath) }

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
        let metrics = try await playground.sandbox?.count("metrics")
        let distinct = try await playground.sandbox?.count("distinct_metric_ids")
        if metrics != KeptState.samples || distinct != metrics {
            faults.append("the backend has \(metrics ?? -1), \(distinct ?? -1) of them distinct")
        }
        return faults
    }

    private func copy(_ source: String, to target: String) async throws {
        for command in [["/bin/rm", "-rf", target], ["/bin/cp", "-a", source, target]] {
            let result = try await ChildProgram.run(
                command[0], Array(command.dropFirst()), environment: [:], input: "")
            try #require(result.status == 0, "\(result.errors)")
        }
    }
}
