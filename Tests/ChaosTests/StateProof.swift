import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// What must hold of a state directory and its backend when the fault is over, one clean run has
/// been and no process is left: nothing lost, nothing doubled, nothing stuck, nothing damaged.
struct StateProof: CustomStringConvertible {
    /// Samples that the backend never stored and that nobody is told of.
    var lost = 0
    /// Sends and copies beyond what the policy permits.
    var doubled = 0
    /// Runs that have no end, and samples that are on no way to the backend.
    var stuck = 0
    /// What SQLite finds wrong with the files.
    var damage: [String] = []
    /// What is wrong in words, and what `clarity-jobs audit` says when it is not content.
    var findings: [String] = []

    /// Whether nothing at all is wrong.
    var holds: Bool {
        lost == 0 && doubled == 0 && stuck == 0 && damage.isEmpty && findings.isEmpty
    }

    var description: String {
        "lost=\(lost) doubled=\(doubled) stuck=\(stuck) damage=\(damage) findings=\(findings)"
    }

    /// Judges a state by the samples that its sources had and by the sandbox's record.
    ///
    /// - Parameters:
    ///   - cutShort: the programs that a fault struck.
    ///   - mayBeHeld: how many samples such a fault may have left on hold.
    ///   - audited: what `clarity-jobs audit` said, where it was run as another user.
    init(
        of playground: Playground, expected: Set<ExpectedSample>,
        policy: DeliveryJudge.Policy = .deduplicates, cutShort: DeliveryJudge.CutShort = .init(),
        mayBeHeld: Int = 0, audited: ProgramResult? = nil
    ) async throws {
        let sandbox = try #require(playground.sandbox)
        let audit = try StateAudit(statePath: playground.statePath)
        let verdict = DeliveryJudge(
            policy: policy, expected: expected, record: try await sandbox.sends(),
            claims: .init(audit), cutShort: cutShort, mayBeHeld: mayBeHeld
        ).verdict()
        (lost, doubled, findings) = (verdict.lost, verdict.doubled, verdict.findings)
        let known = audit.samples.values.reduce(0, +)
        let held = policy == .hold ? audit.samples["setAside", default: 0] : 0
        // What the outbox does not know would be sent again.
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
