public import HealthStore
import HealthModel
import ClarityScheduler
import Platform

// Single samples of the outbox, and a person's actions on them.

extension OutboxEntry {
    /// One line:
    /// `12  heart_rate  2026-10-01T08:00:00Z  set aside  failed 5 times  (the backend broke)`.
    public var line: String {
        var parts = ["\(id)", kind, "\(start)", state.text]
        if failures > 0 { parts.append("failed \(failures == 1 ? "once" : "\(failures) times")") }
        if let reason { parts.append("(\(reason))") }
        return parts.joined(separator: "  ").forReport
    }
}

extension OutboxEntry: Reported {
    /// The sample without its value.
    public static let report = Report<OutboxEntry>(
        [
            Column("id", "number of the sample") { $0.id },
            Column("type", "its type") { $0.kind },
            Column("start", "start of the sample") { $0.start },
            Column("end", "end of the sample") { $0.end },
            Column("state", "its state") { $0.state.name },
            Column("failures", "number of failed sends") { $0.failures },
            Column("hold", "the rule that keeps it back") { $0.hold },
            Column("reason", "why it is in this state") { $0.reason },
            Column("batch", "number of its batch") { $0.batch },
            Column("possible_sends", "number of sends without an answer") { $0.possibleSends },
            Column("as_of", "when a day's value was true") { $0.asOf },
        ], omitsNulls: true)
}

extension OutboxSample {
    /// Lines for people, with the value only if it was read.
    public var lines: [String] {
        var lines = [
            "sample \(entry.id): \(entry.kind)", "  from \(entry.start) to \(entry.end)",
            "  \(entry.state.text)" + (entry.reason.map { ": \($0)" } ?? ""),
        ]
        if let hold = entry.hold { lines.append("  kept back by the rule `\(hold)`") }
        if let asOf = entry.asOf { lines.append("  true as of \(asOf)") }
        lines.append("  failures: \(entry.failures) of \(OutboxState.failureLimit)")
        if entry.possibleSends > 0 {
            lines.append("  sends that may have arrived without an answer: \(entry.possibleSends)")
        }
        if let serverWords { lines.append("  the backend said: \(serverWords)") }
        if let batch {
            lines.append(
                "  batch \(batch.id) by `\(batch.route)`, made at \(batch.madeAt), sent "
                    + "\(batch.attempts == 1 ? "once" : "\(batch.attempts) times"): \(batch.state)")
            if let id = batch.processingID, let at = batch.acceptedAt {
                lines.append("  accepted at \(at) as `\(id)`")
            }
            if let at = batch.finishedAt { lines.append("  finished at \(at)") }
        }
        if let sample { lines += sample.valueLines.map { "  \($0)" } }
        return lines.map(\.forReport)
    }
}

extension OutboxSample: Reported {
    /// The sample with its batch, and with its value only if that was read.
    public static let report = Report<OutboxSample>(
        OutboxEntry.report.without(["batch"]).columns.map { $0.of { $0.entry } } + [
            Column("server_words", "what the backend said") { $0.serverWords },
            Column(
                "batch", "its batch; only the number if the batch was removed",
                as: { .either([.integer, OutboxSample.Batch.valueType]) }, isOptional: true
            ) { $0.batch?.object ?? $0.entry.batch.json },
            Column("value", "the values; only with --values at a terminal") {
                $0.sample?.valueLines
            },
        ], omitsNulls: true)
}

extension OutboxSample.Batch: Reported {
    public static let report = Report<OutboxSample.Batch>(
        [
            Column("id", "number of the batch") { $0.id },
            Column("state", "its state") { $0.state },
            Column("route", "the route by which it is sent") { $0.route },
            Column("made_at", "when it was made") { $0.madeAt },
            Column("attempts", "number of sends") { $0.attempts },
            Column("processing_id", "the backend's id of the upload") { $0.processingID },
            Column("accepted_at", "when the backend accepted it") { $0.acceptedAt },
            Column("finished_at", "when it ended") { $0.finishedAt },
            Column("reason", "why it ended so") { $0.reason },
        ], omitsNulls: true)
}

extension Sample {
    /// The measured values, for the person at the terminal only.
    fileprivate var valueLines: [String] {
        var lines =
            switch value {
            case .single(let number): ["value: \(number)"]
            case .pressure(let systolic, let diastolic): ["value: \(systolic)/\(diastolic)"]
            case .sleep(let night):
                [
                    "asleep: \(night.totalMinutes) min"
                        + (night.hasStages
                            ? ", light \(night.lightMinutes), deep \(night.deepMinutes), "
                                + "REM \(night.remMinutes)"
                            : ", stages unknown"),
                    "awake: " + (night.knowsAwake ? "\(night.awakeMinutes) min" : "unknown")
                        + (night.knowsWakeCount ? ", \(night.wakeCount) times" : ""),
                ]
            case .activity(let day):
                ActivityDay.kinds.compactMap { kind in
                    day[kind].map { "\(kind.rawValue): \($0)" }
                }
            case .values(let values):
                kind.measures.compactMap { measure in
                    values.numbers[measure].map { "\(kind.fieldName(of: measure)): \($0)" }
                } + (values.text.map { ["\(kind.textName ?? "text"): \($0)"] } ?? [])
            }
        if let source { lines.append("source: \(source)") }
        return lines
    }
}

/// What a command does with samples.
public enum OutboxAction: String, Sendable {
    case retry
    case discard

    /// Returns the affected samples, a line for each kind and state.
    public func lines(_ shares: [OutboxShare]) -> [String] {
        shares.map { "  \($0.count) \($0.kind) \($0.state.text)" }
    }

    /// Returns why the action cannot be done to a sample that a person named; `nil` if it can.
    ///
    /// - Parameter selection: what the person means, which may be discarded or erased samples.
    public func refusal(of entry: OutboxEntry, in selection: OutboxSelection) -> String? {
        let isDiscarded = entry.reason == Outbox.discardedReason
        let isErased = entry.reason == Outbox.erasedReason
        switch self {
        case .retry where selection.meansDiscarded:
            return isDiscarded ? nil : "sample \(entry.id) was not discarded"
        case .retry where isDiscarded:
            return "sample \(entry.id) was discarded; --reason discarded brings it back"
        case .retry where selection.meansErased:
            return isErased ? nil : "sample \(entry.id) was not erased"
        case .retry where isErased:
            return "sample \(entry.id) was erased at the backend; --reason erased sends it again"
        case .discard where isDiscarded: return "sample \(entry.id) was discarded before"
        case .discard where isErased:
            return "sample \(entry.id) was erased at the backend, and is not sent again"
        case .retry where entry.state == .stored:
            return entry.batch == nil
                ? "sample \(entry.id) is stored, and its value was removed here" : nil
        case .retry where !Outbox.retriable.contains(entry.state):
            return "sample \(entry.id) is \(entry.state.text); only a rejected, set aside, "
                + "unconfirmed or stored one can be queued again"
        case .discard where !Outbox.discardable.contains(entry.state):
            return
                "sample \(entry.id) is \(entry.state.text); only a queued, rejected or set aside "
                + "one can be discarded"
        case .retry, .discard: return nil
        }
    }

    /// Returns warnings before samples are sent again that the backend has or may have, and what
    /// holds for those that it does not have.
    public static func retryWarnings(_ cost: Outbox.RetryCost) -> [String] {
        var lines: [String] = []
        if cost.there > 0 {
            lines.append(
                cost.doubled == 0
                    ? "the backend has \(cost.there) of these or may have them, and keeps each once: "
                        + "none would be doubled"
                    : "the backend has \(cost.there) of these or may have them, and keeps what comes "
                        + "again: up to \(cost.doubled) would be doubled")
        }
        if cost.unknown > 0 {
            lines.append(
                "the backend does not have \(cost.unknown) of these: none of them would be doubled")
        }
        return lines
    }

    /// Returns why the action applies to no sample, a line for each state.
    ///
    /// - Parameters:
    ///   - shares: the selected samples, whatever their state.
    ///   - packed: how many selected samples are packed.
    public func reasons(_ shares: [OutboxShare], packed: Int64) -> [String] {
        var counts = shares.reduce(into: [OutboxState: Int64]()) {
            $0[$1.state, default: 0] += $1.count
        }
        if packed > 0 { counts[.stored, default: 0] += packed }
        guard !counts.isEmpty else { return ["no sample matches"] }
        return OutboxState.allCases.compactMap { state in
            counts[state].map { "\($0) of these are \(state.text): \(reason(state))" }
        }
    }

    private func reason(_ state: OutboxState) -> String {
        switch state {
        case .queued: "the next upload sends them"
        case .sending: "an upload is sending them"
        case .accepted: "the backend accepted them, and `processing-status` asks about them"
        case .confirmed: "the backend has processed them"
        case .stored:
            self == .retry
                ? "the backend has them; `--in-state stored` sends again those that have their "
                    + "values"
                : "the backend has them"
        case .unconfirmed: "the backend accepted them"
        case .rejected, .setAside:
            "a person discarded or erased them; `--reason discarded` or `--reason erased` brings them "
                + "back"
        }
    }

    /// Returns the question before the action. It ends where the answer begins.
    ///
    /// - Parameter isForgetting: whether the samples were discarded before.
    public func question(_ shares: [OutboxShare], isForgetting: Bool) -> String {
        let samples = counted(shares.reduce(0) { $0 + $1.count }, "samples")
        let action =
            switch self {
            case .retry where isForgetting: "Read \(samples) again that were discarded?"
            case .retry: "Send \(samples) again?"
            case .discard:
                "Give up \(samples)? The values are removed from this machine"
                    + (OutboxAction.haveMinutes(shares)
                        ? "; the minutes of steps that `pat-analysis` sends stay." : ".")
            }
        return (lines(shares) + ["\(action) [y/N] "]).joined(separator: "\n")
    }

    /// Returns one line about what was done.
    public func summary(_ count: Int64, isForgetting: Bool) -> String {
        let samples = counted(count, "samples")
        return switch self {
        case .retry where isForgetting:
            "\(samples) forgotten; the next reading of the sources brings them again"
        case .retry: "\(samples) waiting to be sent again"
        case .discard: "\(samples) discarded"
        }
    }

    /// The result: the number of samples, named after the action.
    public var report: Report<Int64> {
        switch self {
        case .retry:
            Report([Column("retried", "number of samples that are sent or read again") { $0 }])
        case .discard:
            Report([Column("discarded", "number of samples that were given up") { $0 }])
        }
    }

    /// Whether there are steps among the samples. Their minutes are stored apart from the outbox.
    private static func haveMinutes(_ shares: [OutboxShare]) -> Bool {
        let kinds: Set = [SampleKind.steps.rawValue, SampleKind.activity.rawValue]
        return shares.contains { kinds.contains($0.kind) }
    }
}

/// The texts of `outbox erase`.
public enum ErasureReport {
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
