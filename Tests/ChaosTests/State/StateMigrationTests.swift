@testable import ClarityHost
@testable import HealthStore
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

/// A restore or a migration that is killed at any point is complete or has had no effect.
@Suite("Killed changes of the state files", .timeLimit(.minutes(30)))
struct StateMigrationTests {
    /// A change of the state files: the command that is killed, and the preparation of the state.
    enum Change: String, CaseIterable, Sendable {
        case restore, history, health

        var command: [String] {
            switch self {
            case .restore: ["restore"]
            case .history: ["resume", "--all"]
            case .health: ["outbox"]
            }
        }

        func prepare(_ state: String) throws {
            switch self {
            case .restore:
                for name in KeptState.names {
                    let file = open("\(state)/\(name)", O_WRONLY | O_CLOEXEC)
                    try #require(file >= 0)
                    let zeros = [UInt8](repeating: 0, count: 8192)
                    try #require(pwrite(file, zeros, zeros.count, 4096) == zeros.count)
                    close(file)
                }
            case .history:
                _ = try FormerFile(
                    "\(state)/history.db", historyMigrations, historyMigrations.oldest)
            case .health:
                try makeFirstReleaseHealthFile(state: state)
            }
        }
    }

    @Test(arguments: Change.allCases)
    func `a change that is killed anywhere is finished by the next command`(
        change: Change
    ) async throws {
        let kept = try await KeptState()
        let playground = kept.playground
        try change.prepare(playground.statePath)
        if change == .restore { try await kept.keepAsItIs() } else { try await kept.keep() }
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        let counting = try await playground.start(
            change.command, environment: faultline.environment(folder: playground.statePath)
        ).finish()
        #expect(counting.status == 0, "\(counting.errors)")
        let points = try faultline.count(of: .any)
        try #require(points > 10)
        var random = ChaosPlan.current.generator("state-migration \(change.rawValue)")
        var line = ChaosLine("state-migration", measures: [.lost, .stuck, .crashes])
        for _ in 0..<ChaosPlan.current.size(slice: 2, whole: 40) {
            try await kept.putBack()
            faultline.reset()
            let rule = Faultline.Rule(
                program: nil, point: .any, when: Bool.random(using: &random) ? .before : .after,
                nth: Int.random(in: 1...points, using: &random), action: "kill")

            let killed = try await playground.start(
                change.command,
                environment: faultline.environment(rules: [rule], folder: playground.statePath)
            ).finish()
            let list = try await playground.run("list")
            let next = try await playground.start(change.command).finish()

            line.rounds += 1
            if try faultline.struck() > 0 {
                line.faults[change.rawValue, default: 0] += 1
                #expect(killed.status == 137, "\(rule): \(killed)")
            }
            for result in [list, next] where result.status > 100 || result.status == 70 {
                line.crashes += 1
            }
            // A restore that was killed at its very end leaves nothing to restore.
            let isDone =
                next.status == 0
                || change == .restore && next.errors.contains("no file is damaged or missing")
            if !isDone { line.stuck += 1 }
            #expect(isDone, "\(rule): \(next)")
            let faults = try await kept.faultsAfterCleanRun()
            if !faults.isEmpty { line.lost += 1 }
            #expect(faults.isEmpty, "\(rule): \(faults)")
            if change != .restore { try await proveBackup(change, playground, rule) }
        }
        line.tell()
    }

    /// Checks that a sound backup has the state before the change, however often the change was
    /// killed.
    private func proveBackup(
        _ change: Change, _ playground: Playground, _ rule: Faultline.Rule
    ) async throws {
        let made = try await playground.json("backup", "list").elements
        let early = made.filter { $0["reason"] == .string("before-migration") }
        #expect(!early.isEmpty, "\(rule): \(made)")
        #expect(made.allSatisfy { $0["made_at"] != .null }, "\(rule): \(made)")
    }
}
