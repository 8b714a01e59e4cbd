import ClarityHost
import ClarityScheduler
import Platform
import Reports

/// `history waits [JOB]`: sums up what jobs waited for, and what that cost.
struct WaitsCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let job = try composition.historyJob("history waits", in: file, history)
        let now = composition.clock.now
        let since = try composition.time("since") ?? now - .seconds(30 * 86_400)
        let waits = try askingStore { () throws(RunStoreError) in
            try history.waits(
                of: job, account: composition.namedAccount, since: since, until: now)
        }
        if waits.isEmpty, let job { try composition.demandKnown(job, file, history) }
        let sums = waits.flatMap { waits in waits.holds.map { WaitSum(job: waits, hold: $0) } }
        composition.console.results(sums)
        if composition.console.form == .table, sums.isEmpty {
            composition.console.note("nothing has waited since \(since.shown)")
        }
        return .done
    }
}

/// What a job waited for, and what that cost.
struct WaitSum: Reported {
    let job: JobWaits
    let hold: HoldSummary

    /// The runs that there would have been without it; `nil` if it has cost none.
    private var runsWithout: Int? { job.lost[hold.subject].map { job.started + $0 } }

    static let report = Report<WaitSum>([
        Column("job", "id of the job") { $0.job.job.rawValue }.shown("JOB"),
        // Waiting for the time of the schedule is no wait that is summed up.
        Column("reason", WaitReason.listed { $0 != .notDue }) { $0.hold.reason.rawValue },
        Column("subject", "what held it back, such as `network`") { $0.hold.subject }
            .shown("WAITED FOR"),
        Column("total_ms", "how long it held the job back, in milliseconds") {
            $0.hold.total.milliseconds
        }.shown("HOW LONG") {
            "\(WaitSum.text($0.hold.total)) of \(WaitSum.text($0.job.total))"
        },
        Column("waited_ms", "how long the job waited for anything, in milliseconds") {
            $0.job.total.milliseconds
        },
        Column("runs", "number of runs that it held back") { $0.hold.runs }
            .shown("RUNS", isNumber: true),
        Column("runs_started", "number of the job's runs that began in this time") {
            $0.job.started
        },
        Column(
            "runs_without",
            "about how many there would have been without it; none if it has cost no run"
        ) { $0.runsWithout }.shown("WITHOUT IT") { sum in
            sum.runsWithout.map { "about \(counted($0, "runs")) instead of \(sum.job.started)" }
                ?? "-"
        },
    ])

    /// Returns a time in hours and minutes: sums of waits are compared, and days hide their size.
    private static func text(_ span: Duration) -> String {
        guard span >= .seconds(60) else { return "\(span.milliseconds / 1000)s" }
        let minutes = (span.milliseconds + 30_000) / 60_000
        let parts = [(minutes / 60, "h"), (minutes % 60, "m")].filter { $0.0 > 0 }
        return parts.isEmpty ? "0m" : parts.map { "\($0.0)\($0.1)" }.joined(separator: " ")
    }
}
