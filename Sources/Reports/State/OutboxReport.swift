public import HealthStore
import ClarityScheduler
import Platform

// The sums of the outbox, for people and for programs, without any value.

extension OutboxArithmetic {
    /// The sums, followed by their explanations and by everything that needs attention.
    public var lines: [String] {
        var lines = [account.headline]
        if readings > 0 || counts[.read] > 0 {
            lines.append(recordsLine)
            lines.append(metricsLine)
        }
        lines.append(rowsLine)
        lines.append(account.description)
        lines += list("no field for", reasons.unmapped)
        lines += list("refused", reasons.refused)
        lines += list("refused days, nights and workouts", reasons.madeRefused)
        if doubled.samples > 0 {
            lines.append(
                "possibly doubled at the backend: \(doubled.samples) samples, by \(doubled.copies) "
                    + "copies at most")
        }
        if open > 0 { lines.append("\(counted(open, "readings")) under way, or cut short") }
        if interrupted > 0 {
            lines.append(
                "\(counted(interrupted, "readings")) cut short, and read again or to be read again")
        }
        if !review.isEmpty {
            lines.append("waiting for your decision (`clarity-jobs outbox list`):")
            lines += review.map {
                "  \($0.count) \($0.kind) \($0.state.text): \($0.reason)"
            }
        }
        if !isBalanced { lines.append("the sums do not hold; run `clarity-jobs audit`") }
        return lines.map(\.forReport)
    }

    private var recordsLine: String {
        let parts: [(ReadingCounts.Name, String)] = [
            (.queued, "queued"), (.known, "known"), (.paired, "second halves of a blood pressure"),
            (.aggregated, "of days, nights and workouts"), (.repeated, "repeated"),
            (.unmapped, "kept here"), (.refused, "refused"),
            (.beforeSince, "before the time wanted"),
        ]
        return "\(counted(counts[.read], "records")) read" + sum(parts)
    }

    /// Returns a sum of the counts above zero, after a sign; empty if there are none.
    private func sum(_ parts: [(ReadingCounts.Name, String)]) -> String {
        let words = parts.filter { counts[$0.0] > 0 }.map { "\(counts[$0.0]) \($0.1)" }
        return words.isEmpty ? "" : " = \(words.joined(separator: " + "))"
    }

    private var metricsLine: String {
        "\(counts[.made]) days, nights and workouts"
            + sum([
                (.madeQueued, "queued"), (.madeKnown, "known"), (.madeReplaced, "replaced"),
                (.madeCorrected, "corrected"), (.madeRefused, "refused"),
                (.madeBeforeSince, "before the time wanted"),
            ])
    }

    private var rowsLine: String {
        let removed = counts[.rowsRemoved] > 0 ? " - \(counts[.rowsRemoved]) removed" : ""
        return counted(account.total, "samples")
            + sum([
                (.queued, "queued"), (.madeQueued, "days, nights and workouts"),
                (.madeCorrected, "corrections"), (.rowsBefore, "from before there was a ledger"),
            ]) + removed
    }

    private func list(_ title: String, _ counts: [String: Int64]) -> [String] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "  \(title): \($0.key) (\($0.value))" }
    }
}

extension OutboxArithmetic: Reported {
    public static let report = Report<OutboxArithmetic>([
        Column("balanced", "whether the sums hold") { $0.isBalanced },
        Column(
            "records", "what became of the records",
            counts([
                (.read, "records that were read, each once"),
                (.queued, "of them queued as samples"),
                (.known, "of them known before"),
                (.paired, "of them second halves of a blood pressure"),
                (.aggregated, "of them part of days, nights and workouts"),
                (.repeated, "of them repeated"),
                (.unmapped, "of them without a field at the backend, kept here alone"),
                (.refused, "of them refused"),
                (.beforeSince, "of them before `since`"),
            ])),
        Column(
            "days_and_nights", "what became of the days, nights and workouts",
            counts([
                (.made, "days, nights and workouts that were made"),
                (.madeQueued, "of them queued"),
                (.madeKnown, "of them known before"),
                (.madeReplaced, "of them in place of unsent ones"),
                (.madeCorrected, "of them corrections of sent ones"),
                (.madeRefused, "of them refused"),
                (.madeBeforeSince, "of them before `since`"),
            ])),
        Column(
            "ledger", "the readings",
            Report([
                Column("readings", "readings of sources") { $0.readings },
                Column("open", "readings under way") { $0.open },
                Column("interrupted", "readings that were cut short") { $0.interrupted },
                Column("samples", "samples by the ledger") { $0.counts.rows },
                Column("from_before", "samples from before there was a ledger") {
                    $0.counts[.rowsBefore]
                },
                Column("removed", "samples that were removed") { $0.counts[.rowsRemoved] },
            ])),
        Column("outbox", "the samples by state", states),
        Column("unmapped", "records without a field, by type") { $0.reasons.unmapped },
        Column("refused", "refused records by reason") { $0.reasons.refused },
        Column("refused_days_and_nights", "refused days, nights and workouts by reason") {
            $0.reasons.madeRefused
        },
        Column(
            "possibly_doubled", "samples that the backend may have twice",
            Report([
                Column("samples", "samples that the backend may have twice") {
                    $0.doubled.samples
                },
                Column("copies", "copies at most") { $0.doubled.copies },
            ])),
        Column("for_a_person", "the samples that need a person") { $0.review },
    ])

    private static func counts(
        _ names: [(ReadingCounts.Name, String)]
    ) -> Report<OutboxArithmetic> {
        Report(
            names.map { name, summary in
                let field = String(name.rawValue.trimmingPrefix("made_"))
                return Column(field, summary) { $0.counts[name] }
            })
    }

    private static let states = Report<OutboxArithmetic>([
        Column("samples", "samples in the outbox") { $0.account.total },
        Column("confirmed", "samples that the backend confirmed") { $0.account[.confirmed] },
        Column("stored", "samples that the backend stored") { $0.account[.stored] },
        Column("accepted", "samples that the backend processes") { $0.account[.accepted] },
        Column("unconfirmed", "samples that the backend never confirmed") {
            $0.account[.unconfirmed]
        },
        Column("rejected", "samples that the backend refused") { $0.account[.rejected] },
        Column("discarded", "samples that a person discarded") { $0.account.discarded },
        Column("erased", "samples that a person erased at the backend") { $0.account.erased },
        Column("set_aside", "samples that need a person") { $0.account[.setAside] },
        Column("waiting", "samples that wait to be sent") { $0.account.waiting },
    ])
}

extension OutboxReviewEntry: Reported {
    public static let report = Report<OutboxReviewEntry>([
        Column("type", "type of the samples") { $0.kind },
        Column("state", "their state") { $0.state.name },
        Column("reason", "why they need a person") { $0.reason },
        Column("count", "number of samples") { $0.count },
    ])
}

extension OutboxState {
    /// The state as it reads in a sentence.
    public var text: String { self == .setAside ? "set aside" : rawValue }
    /// The state's name for programs and on the command line.
    public var name: String { self == .setAside ? "set-aside" : rawValue }

    /// Creates the state with this name; `nil` if there is none.
    public init?(name: String) {
        guard let state = OutboxState.allCases.first(where: { $0.name == name }) else { return nil }
        self = state
    }
}

extension OutboxProof {
    /// Returns the line that ends the report of a sound outbox, which is none without a backend.
    public func line(hasBackend: Bool) -> String {
        let head = hasBackend ? "the outbox is sound:" : "the readings are sound:"
        return "\(head) \(counted(rows, "samples")), \(counted(readings, "readings"))"
    }
}

extension OutboxFinding {
    /// `rule: what`.
    public var line: String { "outbox-\(rule.rawValue): \(what)".forReport }
}
