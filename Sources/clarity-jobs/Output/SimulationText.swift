public import ClarityScheduler
public import Reports

/// The output of `simulate`.
struct SimulationText {
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

extension SimulationText: Reported {
    static let report = Report<SimulationText>([
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
        ] + OccurrenceFate.allCases.map(ended) + [
            Column("worst_age_ms", "longest time without a success, in milliseconds") {
                $0.worstAge.milliseconds
            }.shown("WORST AGE") { $0.worstAge.text },
            HoldSummary.held("what held the job back, and for how long") { $0.holds },
        ])

    private static func ended(as fate: OccurrenceFate) -> Column<SimulatedJob> {
        let column = Column<SimulatedJob>(
            fate.rawValue, "number of occurrences that ended as `\(fate.rawValue)`"
        ) { job in
            // Runs that expired before they started, and occurrences that expired without a run.
            (fate == .expired ? job.expired : 0) + (job.fates[fate] ?? 0)
        }
        return fate == .paused ? column : column.shown(fate.rawValue.uppercased())
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
