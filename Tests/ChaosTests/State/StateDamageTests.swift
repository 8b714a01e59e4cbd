import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Any damage to a file of the state directory is reported, and a backup restores the file.
@Suite("Damaged state files", .timeLimit(.minutes(30)))
struct StateDamageTests {
    @Test func `a damaged file never crashes, is never passed over, and comes back`() async throws {
        let kept = try await KeptState()
        let playground = kept.playground
        var random = ChaosPlan.current.generator("state-damage")
        var line = ChaosLine("state-damage", measures: [.lost, .doubled, .crashes])
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
                // The command that met the damage pointed to the backup.
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
                // The pages are consistent: a bit of one value has changed, or of none.
                #expect(
                    damage.kind == .flip || damage.kind == .zeroedPage, "\(damage): \(restored)")
                #expect(
                    restored.errors.contains("no file is damaged or missing"),
                    "\(damage): \(restored)")
                #expect(restored.errorLines.count == 1 && restored.output.isEmpty)
                // If one of the two commands finds the file intact, the other does not call it
                // damaged.
                #expect(found.status == 0 || found.status == 1, "\(damage): \(found)")
                try await provePassedOver(damage, kept, &line)
            default:
                Issue.record("\(damage): \(restored)")
            }
        }
        line.tell()
    }

    /// Checks that a damaged sample is on hold or rejected with its reason, and that all others are
    /// sent once.
    private func provePassedOver(
        _ damage: Damage, _ kept: KeptState, _ line: inout ChaosLine
    ) async throws {
        let playground = kept.playground
        var run = try await playground.run("run", "upload", "--force")
        if run.status == 77 {
            // The session can no longer be opened. A login creates a new one.
            try await playground.logIn()
            run = try await playground.run("run", "upload", "--force")
        }
        #expect(run.status < 100 && run.status != 70, "\(damage): \(run)")
        if run.status == 74 {
            // A command that meets the damage now names a way out of it.
            #expect(run.errors.contains("with `clarity-jobs restore`"), "\(damage): \(run)")
            let restored = try await playground.run("restore")
            #expect(restored.status == 0, "\(damage): \(run) \(restored)")
            if damage.file == "health.db" { try await kept.forgetSends() }
            let faults = try await kept.faultsAfterCleanRun()
            if !faults.isEmpty { line.lost += 1 }
            #expect(faults.isEmpty, "\(damage): \(faults)")
            return
        }
        #expect(run.status == 0 || run.status == 1, "\(damage): \(run)")
        let state = try StateAudit(statePath: playground.statePath)
        let told = state.samples["setAside", default: 0] + state.samples["rejected", default: 0]
        let sent = state.samples["confirmed", default: 0]
        if sent + told != KeptState.samples { line.lost += 1 }
        #expect(sent + told == KeptState.samples, "\(damage): \(state.samples) \(run)")
        #expect(told == 0 || !state.reasons.isEmpty, "\(damage)")
        let delivery = try await kept.delivery(told: told)
        line.lost += delivery.lost
        line.doubled += delivery.doubled
        #expect(delivery.findings == [], "\(damage)")
    }
}
