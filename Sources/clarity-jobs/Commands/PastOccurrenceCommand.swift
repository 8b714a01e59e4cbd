import ClarityHost
import ClarityScheduler
import Platform
import Reports

/// `explain JOB --at TIME`: explains what happened to the last occurrence up to a time.
struct PastOccurrenceCommand {
    private let composition: Composition
    private let job: Job
    private let file: JobFile

    init(_ composition: Composition, _ job: Job, _ file: JobFile) {
        self.composition = composition
        self.job = job
        self.file = file
    }

    func run(_ instant: Instant) throws(CommandFailure) -> ExitStatus {
        guard let schedule = job.schedule else {
            throw CommandFailure(
                .usage, "job `\(job.id)` has no schedule",
                "help: `clarity-jobs history \(job.id)` lists its runs")
        }
        let now = composition.clock.now
        guard instant <= now else {
            throw CommandFailure(
                .usage, "--at \(instant) is in the future",
                "help: `clarity-jobs next \(job.id)` lists what comes")
        }
        let history = try composition.history(file)
        let past = try askingStore { () throws(RunStoreError) in
            try history.past(of: job.id, schedule, at: instant)
        }
        guard let past else {
            throw CommandFailure(
                .usage,
                "the history has no occurrence of job `\(job.id)` up to \(RunReport.seconds(instant))"
            )
        }
        composition.console.results(
            lines(past, now), ExplainedOccurrence(job: job.id, past: past))
        return .done
    }

    private func lines(_ past: PastOccurrence, _ now: Instant) -> [String] {
        let due = RunReport.seconds(past.at)
        var lines = ["\(job.id): due \(due)"]
        if let gap = past.gap {
            lines.append(
                "no scheduler ran between \(RunReport.seconds(gap.lowerBound)) and "
                    + RunReport.seconds(gap.upperBound))
        }
        switch past.fate {
        case .run: break
        case .pending:
            lines.append("no scheduler has looked at it yet: start `loop` or `run --due`")
        case .recorded(let fate, let run): lines.append(RunReport.words(of: fate, run: run))
        }
        if let run = past.run {
            lines.append(RunReport.line(run))
            if let started = run.startedAt { lines.append("started \(RunReport.seconds(started))") }
        }
        for span in past.deferrals {
            let length = ((span.until ?? now) - span.since).text
            let end = span.until.map { "until \(RunReport.seconds($0))" } ?? "and still does"
            lines.append(
                "\(span.deferral.subject) held it back for \(length), from "
                    + "\(RunReport.seconds(span.since)) \(end): \(RunReport.line(span.deferral))")
        }
        return lines.map(\.printable)
    }
}

/// The result of `explain JOB --at TIME`.
struct ExplainedOccurrence: Reported {
    let job: JobID
    let past: PastOccurrence

    private var fate: String {
        switch past.fate {
        case .run: "run"
        case .pending: "pending"
        case .recorded(let fate, _): fate.rawValue
        }
    }

    static let report = Report<ExplainedOccurrence>([
        Column("job", "id of the job") { $0.job.rawValue },
        Column("scheduled_for", "the occurrence; this form is that of --at") { $0.past.at },
        Column("fate", "`run`, `pending`, `coalesced`, `skipped`, `expired` or `paused`") {
            $0.fate
        },
        Column("down_since", "since when no scheduler ran") { $0.past.gap?.lowerBound },
        Column("down_until", "until when no scheduler ran") { $0.past.gap?.upperBound },
        Column("run", "the run of the occurrence") { $0.past.run.map { ListedRun(run: $0) } },
        Column("deferrals", "what that run waited for") { $0.past.deferrals },
    ])
}
