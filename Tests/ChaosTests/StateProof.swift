import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Checks a state directory and its backend after a fault and one clean run, when no process is
/// left: nothing is lost, doubled, stuck or damaged.
struct StateProof: CustomStringConvertible {
    /// The number of samples that the backend never stored and that the client does not report.
    var lost = 0
    /// The number of sends and copies beyond what the policy permits.
    var doubled = 0
    /// The number of unfinished runs, and of samples that are unsent or missing from the outbox.
    var stuck = 0
    /// What SQLite finds wrong with the files.
    var damage: [String] = []
    /// A sentence for each fault, and the output of `clarity-jobs audit` if it fails.
    var findings: [String] = []

    /// Whether no fault was found.
    var holds: Bool {
        lost == 0 && doubled == 0 && stuck == 0 && damage.isEmpty && findings.isEmpty
    }

    var description: String {
        "lost=\(lost) doubled=\(doubled) stuck=\(stuck) damage=\(damage) findings=\(findings)"
    }

    /// Judges a state directory by the samples of its sources and by the sandbox's record.
    ///
    /// - Parameters:
    ///   - cutShort: the attempts that a fault cut short.
    ///   - mayBeHeld: how many samples such a fault may have left on hold.
    ///   - audited: the result of `clarity-jobs audit`, if it ran as another user.
    init(
        of playground: Playground, expected: Set<ExpectedSample>,
        policy: DeliveryJudge.Policy = .deduplicates, cutShort: DeliveryJudge.CutShort = .init(),
        mayBeHeld: Int = 0, audited: ProgramResult? = nil
    ) async throws {
        let sandbox = try #require(playground.sandbox)
        let audit = try StateAudit(statePath: try playground.readableState())
        let verdict = DeliveryJudge(
            policy: policy, expected: expected, record: try await sandbox.sends(),
            claims: .init(audit), cutShort: cutShort, mayBeHeld: mayBeHeld
        ).verdict()
        (lost, doubled, findings) = (verdict.lost, verdict.doubled, verdict.findings)
        let known = audit.samples.values.reduce(0, +)
        let held = policy == .hold ? audit.samples["setAside", default: 0] : 0
        // A sample that the outbox does not know would be sent again.
        stuck =
            verdict.stuck
            + (policy == .deduplicates ? audit.unsent : known - audit.delivered - held)
            + max(0, expected.count - known)
            + audit.runs["running", default: 0] + audit.runs["enqueued", default: 0]
        damage = audit.damage
        let told =
            if let audited { audited } else { try await playground.run("audit") }
        if told.status != 0 {
            findings += ["status \(told.status)"] + told.outputLines + told.errorLines
        }
    }
}
