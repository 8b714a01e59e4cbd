import ClarityHost
public import Reports
public import ClarityScheduler
import Platform

/// The output of `explain`.
struct ExplanationReport {
    let job: Job
    let explanation: JobExplanation
    /// How long the running attempt takes.
    let pace: JobPace?
    let now: Instant
    /// What would make an unknown condition known, by the condition's name in a trace.
    var remedies: [String: String] = [:]
    /// How its last run ended; `nil` if none succeeded or failed yet.
    var last: JobEnd?
    /// Who starts the job, if no loop runs.
    var starter: String?
    /// The terminal that the table has to fit, if there is one.
    var style: PageStyle?

    fileprivate var open: Run? { explanation.status.open }

    // MARK: For people

    /// The job, its state, the reasons for it, what would change it, and when the job starts.
    var lines: [String] {
        var lines = [
            "\(job.id): \(job.kind), \(job.jobClass.rawValue), \(job.priority.rawValue) priority",
            "schedule: \(job.schedule?.description ?? "none")",
            "next: \(next)",
            "state: \(state)",
        ]
        if !isRunning, let starter { lines.append(starter) }
        if isRunning, let waiting = explanation.waiting {
            lines.append("behind it: \(words(waiting))")
        }
        if let pause = explanation.pause { lines.append("paused: \(words(pause))") }
        if let expiresAt = explanation.expiresAt {
            lines.append("given up: \(expiresAt.shown), unless it has started")
        }
        if let failure = open?.failure {
            lines.append("last try: \(failure.reason)")
        } else if let last, let reason = last.failure {
            lines.append("last run: failed at \(last.at.shown): \(reason) (run \(last.run))")
        }
        lines += JobExplanation.Factor.report.table(explanation.factors).withoutEmptyColumns
            .lines(in: style)
        lines += explanation.machines.map(\.line)
        let changes = changes
        if changes.isEmpty {
            lines.append(
                "nothing holds it back"
                    + (isRunning ? "; it runs now" : starter == nil ? "; it starts now" : ""))
        }
        lines += changes.enumerated().map { index, change in
            index > 0 ? "and: \(change)" : "to start\(isRunning ? " another" : ""): \(change)"
        }
        return lines + ["likely: \(likely)"]
    }

    private var likely: String {
        if case .now = explanation.start, starter != nil { return "as soon as a scheduler runs" }
        return StartReport.words(explanation.start)
    }

    private var next: String {
        let next = explanation.status.nextStart.map(\.shown) ?? "-"
        let setBack = explanation.status.setBackUntil.map(JobStatusReport.setBack)
        return [next, setBack].compactMap(\.self).joined(separator: "; ")
    }

    private var isRunning: Bool { open?.state == .running }

    private var state: String {
        guard let open else { return "idle" }
        guard isRunning else { return words(open) }
        let since = pace.map { " since \($0.since.shown)" } ?? ""
        let length = pace?.words(at: now).map { " for \($0)" } ?? ""
        return "running\(since)\(length): \(name(of: open)), attempt \(open.attempts), by "
            + (open.lease?.holder ?? "nobody")
    }

    private func words(_ waiting: Run) -> String {
        "enqueued since \(waiting.enqueuedAt.shown): \(name(of: waiting))"
    }

    private func name(of run: Run) -> String {
        "run \(run.id) (\(run.trigger.rawValue)) for \(run.scheduledFor.shown)"
    }

    private func words(_ pause: Pause) -> String {
        "since \(pause.since.shown), "
            + (pause.until.map { "until \($0.shown)" } ?? "until it is resumed")
            + (pause.reason.isEmpty ? "" : ": \(pause.reason)")
    }

    /// The changes that would let the job start, or start again, one a line.
    fileprivate var changes: [String] { explanation.factors.compactMap(\.change).map { words($0) } }

    private func words(_ change: JobExplanation.Change) -> String {
        switch change {
        case .meet(let constraint): words(constraint)
        case .makeKnown(let constraint): unknown(constraint)
        case .opens(let instant): "wait until \(instant.shown)"
        case .finish(let run): "run \(run) has to finish"
        case .attemptGone: "an attempt that is being ended has to be gone"
        case .slot: "one of the attempts that run has to end"
        case .place(let group): "a place in group `\(group)` has to become free"
        case .answer: "a check that is being asked for another run has to answer"
        case .resume(nil): "clarity-jobs resume \(job.id)"
        case .resume(let until?):
            "clarity-jobs resume \(job.id), or wait until \(until.shown)"
        case .pass(let until):
            // A run by hand waits for whatever else holds it back.
            "wait until \(until.shown)"
                + (explanation.factors.count { $0.change != nil } == 1
                    ? ", or clarity-jobs run \(job.id)" : "")
        case .ask: "clarity-jobs run \(job.id)"
        }
    }

    private func words(_ constraint: Constraint) -> String {
        guard case .login = constraint else { return constraint.facts.remedy }
        return "run `clarity-jobs auth login`".namingAccount(job.id.account?.rawValue)
    }

    /// Returns how to make an unknown value known; until it is, meeting the constraint would go
    /// unnoticed.
    private func unknown(_ constraint: Constraint) -> String {
        let facts = constraint.facts
        let remedy = facts.condition.flatMap { remedies[$0] }.map { "\($0); or " } ?? ""
        return "make known \(facts.question): \(remedy)let it run without, by "
            + "`constraints: { unknown: { \(facts.name): run } }`"
    }
}

extension ExplanationReport: Reported {
    static let report = Report<ExplanationReport>([
        Column("job", "id of the job") { $0.job.id.rawValue },
        Column("kind", "kind of the job") { $0.job.kind.rawValue },
        Column("class", "class of the job") { $0.job.jobClass.rawValue },
        Column("priority", "priority of the job") { $0.job.priority.rawValue },
        Column("schedule", "the schedule as the job file writes it") {
            $0.job.schedule?.description
        },
        Column("next", "when it is due next") { $0.explanation.status.nextStart },
        Column(
            "set_back_until", "when the schedule goes on, because the clock was set back"
        ) { $0.explanation.status.setBackUntil },
        Column("state", "`idle`, `enqueued` or `running`") { $0.open?.state.rawValue ?? "idle" },
        Column("run", "number of the unfinished run") { $0.open?.id.rawValue },
        Column("trigger", "what made that run") { $0.open?.trigger.rawValue },
        Column("scheduled_for", "when that run was due") { $0.open?.scheduledFor },
        Column("waiting_run", "number of the run that waits behind it") {
            $0.explanation.waiting?.id.rawValue
        },
        Column("enqueued_at", "when that run was made") { $0.open?.enqueuedAt },
        Column("attempts", "number of its attempts") { $0.open?.attempts ?? 0 },
        Column("running_since", "start of the running attempt") { $0.pace?.since },
        Column("usual_ms", "how long the job's attempts usually take, in milliseconds") {
            $0.pace?.usual?.milliseconds
        },
        Column("slow_at", "when the running attempt becomes slow; see the notice `job-slow`") {
            job in job.pace.flatMap { pace in pace.slowAfter.map { pace.since + $0 } }
        },
        Column("owner", "the process that runs it") { $0.open?.lease?.owner },
        Column("given_up_at", "when the run expires if it has not started") {
            $0.explanation.expiresAt
        },
        Column("paused", "the job's pause") { $0.explanation.pause },
        Column("constraints", "the constraints of the job") {
            $0.explanation.factors.filter { $0.reason == .constraint }
        },
        Column("reasons", "every other reason to wait") {
            $0.explanation.factors.filter { $0.reason != .constraint }
        },
        Column("changes", "what would let the job start, in words") { $0.changes },
        Column("start", "when the job starts") { $0.explanation.start },
        Column("machines", "the machines with a loop, where several share the history") {
            $0.explanation.machines
        },
    ])
}

extension JobExplanation.Candidate: Reported {
    public static let report = Report<JobExplanation.Candidate>([
        Column("machine", "name of the machine") { $0.name },
        Column("labels", "its labels, separated by spaces") { $0.labels.joined(separator: " ") },
        Column("attempts", "the attempts that it runs") { $0.attempts },
        Column("places", "the most attempts that it runs at once") { $0.places },
        Column("holds", "what keeps the job from starting there, in words") { $0.words },
    ])

    fileprivate var words: String? {
        var holds = holds.map { "\($0.subject): wants \($0.wanted), \($0.measured)" }
        if attempts >= places { holds.append("all \(places) places are taken") }
        return holds.isEmpty ? nil : holds.joined(separator: "; ")
    }

    fileprivate var line: String {
        let name = ([name] + labels).joined(separator: ", ")
        return "\(words.map { "not on \(name): \($0)" } ?? "may run on \(name)")"
            + " (\(attempts) of \(places) attempts)"
    }
}

extension JobExplanation.Factor: Reported {
    public static let report = Report<JobExplanation.Factor>([
        Column("reason", WaitReason.listed) { $0.reason.rawValue },
        Column("subject", "what holds the run back, such as `network`") { $0.subject }
            .shown("REASON"),
        Column("wanted", "the required value, in words") { $0.wanted }
            .shown("WANTED") { orDash($0.wanted) },
        Column("measured", "the measured value, in words") { $0.measured }
            .shown("MEASURED") { orDash($0.measured) },
        Column("source", "where the measured value comes from") { $0.source }
            .shown("SOURCE") { orDash($0.origin) },
        Column("verdict", "`met`, `assumed`, `unmet` or `dropped`") { $0.state.rawValue }
            .shown("VERDICT") { $0.verdict },
        Column("drops_at", "when the constraint is dropped") { $0.dropsAt },
        Column("since", "since when it holds the waiting run back") { $0.since }.shown("SINCE"),
        Column("last_7_days", "how often it held the job back") { $0.past }
            .shown("LAST 7 DAYS") { $0.past?.words ?? "-" },
    ])

    /// The source, with the process of a lease in words.
    private var origin: String {
        let lease = "lease of "
        return source.hasPrefix(lease)
            ? Lease.holder(String(source.dropFirst(lease.count))) : source
    }

    private static func orDash(_ cell: String) -> String { cell.isEmpty ? "-" : cell }

    private var verdict: String {
        guard let dropsAt else { return state.rawValue }
        return state == .dropped
            ? "dropped at \(dropsAt.shown)" : "\(state.rawValue), dropped at \(dropsAt.shown)"
    }
}

/// Formats the likely start of a job.
enum StartReport {
    static func words(_ start: LikelyStart) -> String {
        switch start {
        case .running: "it runs"
        case .now: "now"
        case .at(let instant): "\(instant.shown), if conditions stay as they are"
        case .by(let instant, let dropped):
            "\(instant.shown) at the latest: from then on it does without "
                + dropped.joined(separator: ", ")
        case .estimated(let instant, let bases):
            "\(instant.shown), an estimate: "
                + bases.map(words).joined(separator: "; ")
        case .unknown(let notBefore, let doubts):
            "unknown"
                + (notBefore.map { ", not before \($0.shown)" } ?? "")
                + ": " + doubts.map(words).joined(separator: "; ")
        case .never(let expires):
            "never: it is given up at \(expires.shown), before anything can change"
        }
    }

    private static func words(_ basis: LikelyStart.Basis) -> String {
        "\(basis.subject) holds it back since \(basis.since.shown), the median of "
            + "\(basis.times) earlier times is \(basis.median.text)"
    }

    private static func words(_ doubt: LikelyStart.Doubt) -> String {
        switch doubt {
        case .untilAsked: "nothing but a request, an event or a chain starts it"
        case .untilResumed: "it is paused until somebody resumes it"
        case .notWaitedFor(let subject): "\(subject) is in the way, and no run waits for it yet"
        case .tooFewTimes(let subject, let times):
            times == 0
                ? "\(subject) holds it back for the first time in 7 days"
                : "\(subject) holds it back, and \(counted(times, "earlier times")) in 7 days"
                    + " \(times == 1 ? "is" : "are") too few for an estimate"
        case .longerThanMostly(let basis):
            "\(words(basis)), and it has been longer"
        }
    }
}
