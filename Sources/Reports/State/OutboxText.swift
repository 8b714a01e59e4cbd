public import HealthStore
import ClarityScheduler
import Platform
public import JSON

// The sums of the outbox, for people and for programs, without any value.

extension OutboxArithmetic {
    /// The sums, followed by their explanations and by everything that needs attention.
    public var lines: [String] {
        var lines: [String] = []
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
        var line =
            "\(counts[.read]) read = \(counts[.queued]) queued + \(counts[.known]) known + "
            + "\(counts[.paired]) second halves of a blood pressure + \(counts[.folded]) of days, "
            + "nights and workouts + \(counts[.repeated]) repeated + \(counts[.unmapped]) kept here + "
            + "\(counts[.refused]) refused"
        if counts[.beforeSince] > 0 { line += " + \(counts[.beforeSince]) before the time wanted" }
        return line
    }

    private var metricsLine: String {
        var line =
            "\(counts[.made]) days, nights and workouts = \(counts[.madeQueued]) queued + "
            + "\(counts[.madeKnown]) known"
        for (name, words) in [
            (ReadingCounts.Name.madeReplaced, "replaced"), (.madeCorrected, "corrected"),
            (.madeRefused, "refused"), (.madeBeforeSince, "before the time wanted"),
        ] where counts[name] > 0 { line += " + \(counts[name]) \(words)" }
        return line
    }

    private var rowsLine: String {
        var line =
            "\(counted(account.total, "samples")) = \(counts[.queued]) queued + \(counts[.madeQueued]) days, "
            + "nights and workouts"
        if counts[.madeCorrected] > 0 { line += " + \(counts[.madeCorrected]) corrections" }
        if counts[.rowsBefore] > 0 {
            line += " + \(counts[.rowsBefore]) from before there was a ledger"
        }
        if counts[.rowsRemoved] > 0 { line += " - \(counts[.rowsRemoved]) removed" }
        return line
    }

    private func list(_ title: String, _ counts: [String: Int64]) -> [String] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "  \(title): \($0.key) (\($0.value))" }
    }

    /// An object with every count under its name, whether the sums hold, and the samples that need
    /// a person.
    public var object: JSON {
        func group(_ whole: ReadingCounts.Name, _ parts: [ReadingCounts.Name]) -> JSON {
            .object(
                ([whole] + parts).map {
                    JSON.Member(
                        name: $0.rawValue.hasPrefix("made_")
                            ? String($0.rawValue.dropFirst("made_".count)) : $0.rawValue,
                        value: .integer(counts[$0]))
                })
        }
        return [
            "balanced": .bool(isBalanced),
            "records": group(.read, ReadingCounts.ofRead),
            "days_and_nights": group(.made, ReadingCounts.ofMade),
            "ledger": [
                "readings": .integer(readings), "open": .integer(open),
                "interrupted": .integer(interrupted), "samples": .integer(counts.rows),
                "from_before": .integer(counts[.rowsBefore]),
                "removed": .integer(counts[.rowsRemoved]),
            ],
            "outbox": [
                "samples": .integer(account.total), "confirmed": .integer(account[.confirmed]),
                "stored": .integer(account[.stored]), "accepted": .integer(account[.accepted]),
                "unconfirmed": .integer(account[.unconfirmed]),
                "rejected": .integer(account[.rejected]),
                "discarded": .integer(account.discarded), "erased": .integer(account.erased),
                "set_aside": .integer(account[.setAside]),
                "waiting": .integer(account.waiting),
            ],
            "unmapped": .counts(reasons.unmapped), "refused": .counts(reasons.refused),
            "refused_days_and_nights": .counts(reasons.madeRefused),
            "possibly_doubled": [
                "samples": .integer(doubled.samples), "copies": .integer(doubled.copies),
            ],
            "for_a_person": .array(
                review.map {
                    [
                        "type": .string($0.kind), "state": .string($0.state.name),
                        "reason": .string($0.reason), "count": .integer($0.count),
                    ]
                }),
        ]
    }
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
    /// The line that ends the report of a sound outbox.
    public var line: String {
        "the outbox is sound: \(counted(rows, "samples")), \(counted(readings, "readings"))"
    }
}

extension OutboxFinding {
    /// `rule: what`.
    public var line: String { "outbox-\(rule.rawValue): \(what)".forReport }
}
