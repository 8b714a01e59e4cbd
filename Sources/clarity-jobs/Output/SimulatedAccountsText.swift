import Reports
import ClarityScheduler

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
}

extension SimulatedAccountsText: Reported {
    static let report = Report<SimulatedAccountsText>([
        Column("accounts", "number of accounts") { $0.totals.accounts },
        Column("jobs", "number of jobs of all accounts") { $0.totals.jobs },
        Column("from", "start of the simulated time") { $0.totals.start },
        Column("until", "end of the simulated time") { $0.totals.end },
        Column("runs", "number of runs") { $0.totals.runs },
        Column("succeeded", "number of runs that succeeded") { $0.totals.succeeded },
        Column("failed", "number of runs that failed or were cancelled") { $0.totals.failed },
        Column("expired", "number of runs whose time was over before they started") {
            $0.totals.expired
        },
        Column("missed", "number of occurrences that started no run of their own") {
            $0.totals.missed
        },
        Column("attempts", "number of attempts") { $0.totals.attempts },
        Column(
            "late_median_ms", "how late half of the runs started at most, in milliseconds"
        ) { $0.totals.lateness(of: 0.5)?.milliseconds },
        Column(
            "late_p99_ms", "how late 99 in 100 of the runs started at most, in milliseconds"
        ) { $0.totals.lateness(of: 0.99)?.milliseconds },
        Column("latest_ms", "how late the latest run started") {
            $0.totals.latest?.by.milliseconds
        },
        Column("latest_job", "the job of that run") { $0.totals.latest?.job.rawValue },
        Column("most_at_once", "most attempts that ran at the same time") {
            $0.totals.mostAtOnce
        },
        Column("max_parallel", "how many attempts may run at the same time") { $0.maxParallel },
        Column("most_in_minute", "most attempts that started in one minute") {
            $0.totals.mostInMinute
        },
        Column("decisions", "number of decisions") { $0.totals.decisions },
        Column(
            "processor_ms",
            "processor time to decide and record on this machine, in milliseconds"
        ) { $0.processorTime.milliseconds },
        Column("history_bytes", "size of the history at the end") { $0.historyBytes },
    ])
}
