import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// What must hold of a state directory and its backend when the fault is over, one clean run has
/// been and no process is left: nothing lost, nothing doubled, nothing stuck, nothing damaged.
struct StateProof: CustomStringConvertible {
    /// Samples that were to be sent and that neither the backend has nor the outbox keeps.
    var lost = 0
    /// Copies that the backend has too many without the outbox saying so.
    var doubled = 0
    /// Runs that have no end, and samples that are on no way to the backend.
    var stuck = 0
    /// What SQLite finds wrong with the files.
    var damage: [String] = []
    /// What `clarity-jobs audit` says when it is not content.
    var findings: [String] = []

    /// Whether nothing at all is wrong.
    var holds: Bool {
        lost == 0 && doubled == 0 && stuck == 0 && damage.isEmpty && findings.isEmpty
    }

    var description: String {
        "lost=\(lost) doubled=\(doubled) stuck=\(stuck) damage=\(damage) findings=\(findings)"
    }

    /// Looks at a state whose source has `samples`, and at the sandbox of the blueprint's contract,
    /// which counts each.
    ///
    /// - Parameter audited: what `clarity-jobs audit` said, where it was run as another user.
    init(
        of playground: Playground, samples: Int, audited: ProgramResult? = nil
    ) async throws {
        let sandbox = try #require(playground.sandbox)
        let kept = try await sandbox.count("metrics")
        let distinct = try await sandbox.count("distinct_metric_ids")
        let audit = try StateAudit(statePath: playground.statePath)
        let known = audit.samples.values.reduce(0, +)
        lost = max(0, samples - max(distinct, known))
        // What the backend has and the outbox does not know would be sent again.
        stuck =
            audit.unsent + max(0, samples - known) + max(0, samples - lost - distinct)
            + audit.runs["running", default: 0] + audit.runs["enqueued", default: 0]
        doubled = max(0, kept - distinct - audit.possibleCopies)
        damage = audit.damage
        let told =
            if let audited { audited } else { try await playground.run("audit") }
        if told.status != 0 {
            findings = ["status \(told.status)"] + told.outputLines + told.errorLines
        }
    }
}
