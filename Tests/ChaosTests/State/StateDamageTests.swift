import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Whatever happens to a file of the state directory, it is said, and a backup brings it back.
@Suite("Damaged state files", .timeLimit(.minutes(30)))
struct StateDamageTests {
    @Test func `a damaged file never crashes, is never passed over, and comes back`() async throws {
        let kept = try await KeptState()
        let playground = kept.playground
        var random = ChaosPlan.current.generator("state-damage")
        var line = ChaosLine("state-damage")
        for _ in 0..<ChaosPlan.current.size(slice: 4, whole: 120) {
            try await kept.putBack()
            let damage = try Damage(using: &random) { name in
                try TemporaryFolder.read("\(playground.statePath)/\(name)").count / 4096
            }
            try damage.strike("\(playground.statePath)/\(damage.file)")
            line.rounds += 1
            line.faults[damage.kind.rawValue, default: 0] += 1

            let found = try await playground.run("audit")
            let restored = try await playground.run("restore")

            for result in [found, restored] where result.status > 100 || result.status == 70 {
                line.crashes += 1
                Issue.record("\(damage): \(result)")
            }
            switch restored.status {
            case 0:
                // Whoever met the damage was told of the backup.
                #expect(found.status == 74 || found.status == 1, "\(damage): \(found)")
                if found.status == 74 {
                    #expect(
                        found.errors.contains("with `clarity-jobs restore`"), "\(damage): \(found)")
                    #expect(found.errorLines.count == 1)
                }
                let faults = try await kept.faultsAfterCleanRun()
                if !faults.isEmpty { line.lost += 1 }
                #expect(faults.isEmpty, "\(damage): \(faults)")
            case 78:
                // The pages hold together: a bit of one value, or of none.
                #expect(
                    damage.kind == .flip || damage.kind == .zeroedPage, "\(damage): \(restored)")
                try await provePassedOver(damage, playground, &line)
            default:
                Issue.record("\(damage): \(restored)")
            }
        }
        line.tell()
    }

    /// A value that is damaged is set aside with its reason; all others are sent.
    private func provePassedOver(
        _ damage: Damage, _ playground: Playground, _ line: inout ChaosLine
    ) async throws {
        let run = try await playground.run("run", "upload", "--force")
        let state = try StateAudit(statePath: playground.statePath)
        let told = state.samples["setAside", default: 0] + state.samples["rejected", default: 0]
        let sent = state.samples["confirmed", default: 0]
        // A session or key that does not open any more asks for a login instead.
        let isRefused = [77, 78, 74].contains(run.status)
        if !isRefused, sent + told != KeptState.samples { line.lost += 1 }
        #expect(
            isRefused || sent + told == KeptState.samples, "\(damage): \(state.samples) \(run)")
        #expect(told == 0 || !state.reasons.isEmpty, "\(damage)")
        #expect(run.status < 100 && run.status != 70, "\(damage): \(run)")
    }
}
