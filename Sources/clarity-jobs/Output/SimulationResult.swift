public import ClarityScheduler
public import Reports

/// The output of `simulate`.
struct SimulationResult {
    let simulation: SimulationReport
    /// The terminal that the tables have to fit, if there is one.
    var style: PageStyle?

    /// The runs, followed by the jobs.
    var lines: [String] {
        let runs = SimulatedRun.report.table(simulation.runs)
        let jobs = SimulatedJob.report.table(simulation.jobs)
        return runs.lines(in: style) + (runs.rows.isEmpty ? [] : [""]) + jobs.lines(in: style)
    }
}

extension SimulationResult: Reported {
    static let report = Report<SimulationResult>([
        Column("from", "start of the simulated time") { $0.simulation.stretch.lowerBound },
        Column("until", "end of the simulated time") { $0.simulation.stretch.upperBound },
        Column("runs", "the runs") { $0.simulation.runs },
        Column("jobs", "the jobs") { $0.simulation.jobs },
    ])
}

extension SimulatedRun: Reported {
    public static let report = Report<SimulatedRun>(
        [
            Column("run", "number of the simulated run") { $0.run.id.rawValue }.shown("RUN"),
            Column("job", "id of the job") { $0.run.job.rawValue }.shown("JOB"),
            Column("trigger", "what made the run") { $0.run.trigger.rawValue },
            Column("state", "its state at the end") { $0.run.state.rawValue }.shown("STATE"),
            Column("scheduled_for", "when it was due") { $0.run.scheduledFor }
                .shown("SCHEDULED FOR"),
            Column("enqueued_at", "when it was made") { $0.run.enqueuedAt },
            Column("started_at", "start of the first attempt") { $0.run.startedAt }
                .shown("STARTED"),
            Column("finished_at", "end of the run") { $0.run.finishedAt }.shown("FINISHED"),
            Column("attempts", "number of attempts") { $0.run.attempts }.shown("ATTEMPTS"),
            Column("stop_reason", "why it was stopped, if it was") {
                $0.run.stopReason?.rawValue
            },
            HoldSummary.held("what held it back, and for how long") { $0.holds },
        ],
        tableOrder: [
            "RUN", "JOB", "SCHEDULED FOR", "STARTED", "FINISHED", "STATE", "ATTEMPTS",
        ])
}

extension SimulatedJob: Reported {
    public static let report = Report<SimulatedJob>(
        [
            Column("job", "id of the job") { $0.job.rawValue }.shown("JOB"),
            Column("occurrences", "number of occurrences") { $0.occurrences }
                .shown("OCCURRENCES"),
            Column("runs", "number of runs") { $0.runs }.shown("RUNS"),
            Column("starts", "number of runs that started") { $0.starts }.shown("STARTS"),
            Column("succeeded", "number of runs that succeeded") { $0.successes }
                .shown("SUCCEEDED"),
        ] + OccurrenceOutcome.allCases.map(ended) + [
            Column("worst_age_ms", "longest time without a success, in milliseconds") {
                $0.worstAge.milliseconds
            }.shown("WORST AGE") { $0.worstAge.text },
            HoldSummary.held("what held the job back, and for how long") { $0.holds },
        ])

    private static func ended(as outcome: OccurrenceOutcome) -> Column<SimulatedJob> {
        let column = Column<SimulatedJob>(
            outcome.rawValue, "number of occurrences that ended as `\(outcome.rawValue)`"
        ) { job in
            // Runs that expired before they started, and occurrences that expired without a run.
            (outcome == .expired ? job.expired : 0) + (job.outcomes[outcome] ?? 0)
        }
        return outcome == .paused ? column : column.shown(outcome.rawValue.uppercased())
    }
}

extension HoldSummary {
    /// Declares what held something back, the longest first.
    fileprivate static func held<Row>(
        _ summary: String, _ holds: @escaping @Sendable (Row) -> [HoldSummary]
    ) -> Column<Row> {
        Column("held_back", summary) { holds($0).map(Total.init) }
            .shown("HELD BACK BY") {
                holds($0).map { "\($0.subject) \($0.total.text)" }.joined(separator: ", ")
            }
    }

    /// A hold with its subject, without what only `explain` counts.
    private struct Total: Reported {
        let hold: HoldSummary

        static let report = Report<Total>(
            [Column("subject", "what held it back") { $0.hold.subject }]
                + HoldSummary.report.without(["runs", "median_ms"]).columns.map { column in
                    column.of { $0.hold }
                })
    }
}

/// The output of `simulate --accounts`.
struct SimulatedAccounts {
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

extension SimulatedAccounts: Reported {
    static let report = Report<SimulatedAccounts>([
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
