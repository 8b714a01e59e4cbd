public import HealthStore
import ClarityScheduler

/// The texts of `outbox erase`.
public enum ErasureText {
    /// Returns what would be erased and what cannot be, a line each.
    public static func lines(_ plan: ErasurePlan) -> [String] {
        var lines: [String] = []
        if !plan.uploads.isEmpty {
            let span =
                if let start = plan.start, let end = plan.end {
                    ", measured from \(start) to \(end)"
                } else {
                    ""
                }
            lines.append(
                "\(counted(plan.uploads.count, "uploads")) with \(samples(plan.samples))\(span)")
        }
        if !plan.withoutDeletion.isEmpty {
            lines.append(
                "not erasable: \(samples(plan.withoutDeletion)); the backend has no deletion for the "
                    + "endpoint that took them")
        }
        if plan.untraceable > 0 {
            lines.append(
                "not erasable: \(counted(plan.untraceable, "samples")) that the backend has under an "
                    + "id that is no longer kept here")
        }
        if plan.inDoubt > 0 {
            lines.append(
                "not erasable: copies of \(counted(plan.inDoubt, "samples")) that a send without an "
                    + "answer may have left")
        }
        return lines
    }

    /// Returns the question before the deletion. It ends where the answer begins.
    public static func question(_ plan: ErasurePlan) -> String {
        let uploads = counted(plan.uploads.count, "uploads")
        return
            (lines(plan).map { "  \($0)" }
            + ["Erase \(uploads) at the backend for good? The values here stay. [y/N] "])
            .joined(separator: "\n")
    }

    /// Returns what became of the uploads, and what could not be erased.
    public static func lines(_ receipt: ErasureReceipt, _ plan: ErasurePlan) -> [String] {
        var lines = [
            "erased at the backend: \(counted(receipt.uploads, "uploads")) with "
                + samples(receipt.samples)
        ]
        if receipt.stillThere > 0 {
            lines.append(
                "\(counted(receipt.stillThere, "uploads")) not erased: the backend still has them")
        }
        if receipt.unproven > 0 {
            lines.append(
                "\(counted(receipt.unproven, "uploads")) not proven to be erased: the backend did not "
                    + "know them before")
        }
        if receipt.left > 0 {
            lines.append(
                "\(counted(receipt.left, "uploads")) left; `clarity-jobs outbox erase` goes on")
        }
        var rest = plan
        rest.uploads = []
        return lines + self.lines(rest)
    }

    private static func samples(_ kinds: [String: Int64]) -> String {
        let sum = counted(kinds.values.reduce(0, +), "samples")
        guard !kinds.isEmpty else { return sum }
        let list = kinds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\($0.value) \($0.key)" }
        return "\(sum) (\(list.joined(separator: ", ")))"
    }
}

/// The result of `outbox erase`.
public struct ErasureResult: Reported {
    let receipt: ErasureReceipt
    let plan: ErasurePlan

    public init(_ receipt: ErasureReceipt, _ plan: ErasurePlan) {
        (self.receipt, self.plan) = (receipt, plan)
    }

    public static let report = Report<ErasureResult>([
        Column("uploads_erased", "uploads that the backend had and no longer has") {
            $0.receipt.uploads
        },
        Column("erased", "their samples by type") { $0.receipt.samples },
        Column("uploads_still_there", "uploads that the backend still has") {
            $0.receipt.stillThere
        },
        Column(
            "uploads_unproven",
            "uploads that the backend did not know before it was told to delete them"
        ) { $0.receipt.unproven },
        Column("uploads_left", "uploads that an error left for the next call") {
            $0.receipt.left
        },
        Column(
            "without_deletion", "samples by type that went by an endpoint without a deletion"
        ) { $0.plan.withoutDeletion },
        Column(
            "untraceable",
            "samples that the backend has under an id that is no longer kept here"
        ) { $0.plan.untraceable },
        Column("in_doubt", "samples of which an unanswered send may have left copies") {
            $0.plan.inDoubt
        },
    ])
}
