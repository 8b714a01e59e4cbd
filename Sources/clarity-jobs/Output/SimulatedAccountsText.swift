import Reports
import ClarityScheduler
import JSON

/// The output of `simulate --accounts`.
struct SimulatedAccountsText {
    let totals: SimulationTotals
    let maxParallel: Int
    let historyBytes: Int64
    let processorTime: Duration

    var lines: [String] {
        let runs =
            "runs: \(totals.runs), of which \(totals.succeeded) succeeded, "
            + "\(totals.failed) failed and \(totals.expired) expired; "
            + "\(totals.missed) occurrences started none of their own"
        let late = [0.5, 0.99].map { totals.lateness(of: $0)?.text ?? "-" }
        let latest = totals.latest.map { "\($0.by.text) (\($0.job))" } ?? "-"
        return [
            "\(totals.accounts) accounts with \(totals.jobs) jobs, "
                + "from \(totals.start) until \(totals.end)", runs,
            "late at the start: half by \(late[0]) at most, 99 in 100 by \(late[1]), the latest by "
                + latest,
            "at the same time: \(totals.mostAtOnce) attempts of at most \(maxParallel); at most "
                + "\(totals.mostInMinute) starts in a minute",
            "this machine: \(processorTime.text) of processor time to decide and record, "
                + "\(perRun) for a run; a history of \(historyBytes / 1024) KiB",
        ]
    }

    private var perRun: String {
        totals.runs == 0
            ? "-" : "\(processorTime.milliseconds * 1000 / Int64(totals.runs)) µs"
    }

    var object: JSON {
        func late(_ share: Double) -> JSON {
            totals.lateness(of: share).map { .integer($0.milliseconds) } ?? .null
        }
        return [
            "accounts": .count(totals.accounts), "jobs": .count(totals.jobs),
            "from": .text(totals.start), "until": .text(totals.end), "runs": .count(totals.runs),
            "succeeded": .count(totals.succeeded), "failed": .count(totals.failed),
            "expired": .count(totals.expired), "missed": .count(totals.missed),
            "attempts": .count(totals.attempts), "late_median_ms": late(0.5),
            "late_p99_ms": late(0.99),
            "latest_ms": totals.latest.map { .integer($0.by.milliseconds) } ?? .null,
            "latest_job": .text(totals.latest?.job.rawValue),
            "most_at_once": .count(totals.mostAtOnce), "max_parallel": .count(maxParallel),
            "most_in_minute": .count(totals.mostInMinute), "decisions": .count(totals.decisions),
            "processor_ms": .integer(processorTime.milliseconds),
            "history_bytes": .integer(historyBytes),
        ]
    }
}
