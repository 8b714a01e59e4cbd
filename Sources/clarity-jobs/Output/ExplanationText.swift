import Reports
import ClarityScheduler
import Platform
import JSON

/// The output of `explain`.
struct ExplanationText {
    let job: Job
    let explanation: JobExplanation
    /// The start of the running attempt.
    let attemptSince: Instant?
    /// What would make an unknown condition known, by the condition's name in a trace.
    var remedies: [String: String] = [:]
    /// The terminal that the table has to fit, if there is one.
    var style: PageStyle?

    private var open: Run? { explanation.status.open }

    // MARK: For people

    /// The job, its state, the reasons for it, what would change it, and when the job starts.
    var lines: [String] {
        var lines = [
            "\(job.id): \(job.kind), \(job.jobClass.rawValue), \(job.priority.rawValue) priority",
            "schedule: \(job.schedule?.description ?? "none")",
            "next: \(next)",
            "state: \(state)",
        ]
        if isRunning, let waiting = explanation.waiting {
            lines.append("behind it: \(words(waiting))")
        }
        if let pause = explanation.pause { lines.append("paused: \(words(pause))") }
        if let expiresAt = explanation.expiresAt {
            lines.append("given up: \(RunText.seconds(expiresAt)), unless it has started")
        }
        if let failure = open?.failure { lines.append("last try: \(failure.reason)") }
        lines += table.lines(in: style)
        let changes = changes
        if changes.isEmpty { lines.append("nothing: it \(isRunning ? "runs" : "would start") now") }
        lines += changes.map { "to start\(isRunning ? " another" : ""): \($0)" }
        return lines + ["likely: \(StartText.words(explanation.start))"]
    }

    private var next: String {
        let next = explanation.status.nextStart.map(RunText.seconds) ?? "-"
        let setBack = explanation.status.setBackUntil.map(JobStatusText.setBack)
        return [next, setBack].compactMap(\.self).joined(separator: "; ")
    }

    private var isRunning: Bool { open?.state == .running }

    private var state: String {
        guard let open else { return "idle" }
        guard isRunning else { return words(open) }
        let since = attemptSince.map { " since \(RunText.seconds($0))" } ?? ""
        return "running\(since): \(name(of: open)), attempt \(open.attempts), by "
            + (open.lease?.owner ?? "nobody")
    }

    private func words(_ waiting: Run) -> String {
        "enqueued since \(RunText.seconds(waiting.enqueuedAt)): \(name(of: waiting))"
    }

    private func name(of run: Run) -> String {
        "run \(run.id) (\(run.trigger.rawValue)) for \(RunText.seconds(run.scheduledFor))"
    }

    private func words(_ pause: Pause) -> String {
        "since \(RunText.seconds(pause.since)), "
            + (pause.until.map { "until \(RunText.seconds($0))" } ?? "until it is resumed")
            + (pause.reason.isEmpty ? "" : ": \(pause.reason)")
    }

    private var table: Table {
        Table(
            heading: ["REASON", "WANTED", "MEASURED", "SOURCE", "VERDICT", "SINCE", "LAST 7 DAYS"],
            rows: explanation.factors.map { factor in
                [
                    factor.subject, shown(factor.wanted), shown(factor.measured),
                    shown(factor.source), verdict(of: factor),
                    factor.since.map(RunText.seconds) ?? "-",
                    factor.past.map(HeldBackText.words) ?? "-",
                ]
            })
    }

    private func shown(_ cell: String) -> String { cell.isEmpty ? "-" : cell }

    private func verdict(of factor: JobExplanation.Factor) -> String {
        guard let dropsAt = factor.dropsAt else { return factor.state.rawValue }
        let at = RunText.seconds(dropsAt)
        return factor.state == .dropped
            ? "dropped at \(at)" : "\(factor.state.rawValue), dropped at \(at)"
    }

    /// The changes that would let the job start, or start again, one a line.
    private var changes: [String] { explanation.factors.compactMap(\.change).map { words($0) } }

    private func words(_ change: JobExplanation.Change) -> String {
        switch change {
        case .meet(let constraint): words(constraint)
        case .makeKnown(let constraint): unknown(constraint)
        case .opens(let instant): "wait until \(RunText.seconds(instant))"
        case .finish(let run): "run \(run) has to finish"
        case .attemptGone: "an attempt that is being ended has to be gone"
        case .slot: "one of the attempts that run has to end"
        case .answer: "a check that is being asked for another run has to answer"
        case .resume(nil): "clarity-jobs resume \(job.id)"
        case .resume(let until?):
            "clarity-jobs resume \(job.id), or wait until \(RunText.seconds(until))"
        case .pass(let until):
            "wait until \(RunText.seconds(until)), or clarity-jobs run \(job.id)"
        case .ask: "clarity-jobs run \(job.id)"
        }
    }

    private func words(_ constraint: Constraint) -> String {
        switch constraint {
        case .connected: "connect to a network"
        case .unmetered: "connect to a network that is not metered"
        case .notRoaming: "connect to a network that is not roaming"
        case .externalPower: "plug the machine in"
        case .batteryAbove(let percent): "charge the battery above \(percent) %"
        case .notLowPower: "stop saving power"
        case .idle: "leave the machine idle"
        case .storageFree(_, nil): "make room: \(wanted(constraint))"
        case .storageFree(_, let path?): "make room at `\(path)`: \(wanted(constraint))"
        case .pressureBelow: "give the machine less to do: pressure \(wanted(constraint))"
        case .check(let check): "make check `\(check.name)` pass"
        case .login:
            "run `clarity-jobs auth login`".namingAccount(job.id.account?.rawValue)
        case .source: "put the source file in its place"
        case .window: "wait until the clock shows \(wanted(constraint))"
        }
    }

    /// Returns how to make an unknown value known; until it is, meeting the constraint would go
    /// unnoticed.
    private func unknown(_ constraint: Constraint) -> String {
        let (question, name) =
            switch constraint {
            case .connected: ("whether there is a connection", "connected")
            case .unmetered: ("whether the network is metered", "metered")
            case .notRoaming: ("whether the network is roaming", "roaming")
            case .externalPower: ("whether the machine is on external power", "external_power")
            case .batteryAbove: ("the battery's charge", "battery")
            case .notLowPower: ("whether the machine saves power", "low_power")
            case .idle: ("whether the machine is idle", "idle")
            case .pressureBelow: ("the machine's pressure", "pressure_percent")
            case .storageFree: ("the free storage", "storage_free_bytes")
            case .check, .login, .source, .window: ("whether it holds", "")
            }
        let remedy = remedies[name].map { "\($0); or " } ?? ""
        let key = constraint.name
        return "make known \(question): \(remedy)let it run without, by "
            + "`constraints: { unknown: { \(key): run } }`"
    }

    private func wanted(_ constraint: Constraint) -> String {
        constraint.verdict(in: Conditions(), at: Instant(secondsSince1970: 0)).wanted
    }

    // MARK: As JSON

    var object: JSON {
        let constraints = explanation.factors.filter { $0.reason == .constraint }
        let others = explanation.factors.filter { $0.reason != .constraint }
        return [
            "job": .string(job.id.rawValue), "kind": .string(job.kind.rawValue),
            "class": .string(job.jobClass.rawValue), "priority": .string(job.priority.rawValue),
            "schedule": .text(job.schedule), "next": .text(explanation.status.nextStart),
            "set_back_until": .text(explanation.status.setBackUntil),
            "state": .string(open?.state.rawValue ?? "idle"),
            "run": open.map { .integer($0.id.rawValue) } ?? .null,
            "trigger": .text(open?.trigger.rawValue), "scheduled_for": .text(open?.scheduledFor),
            "waiting_run": explanation.waiting.map { .integer($0.id.rawValue) } ?? .null,
            "enqueued_at": .text(open?.enqueuedAt), "attempts": .count(open?.attempts ?? 0),
            "running_since": .text(attemptSince), "owner": .text(open?.lease?.owner),
            "given_up_at": .text(explanation.expiresAt),
            "paused": ExplanationText.object(explanation.pause),
            "constraints": .array(constraints.map(object)),
            "reasons": .array(others.map(object)),
            "changes": .array(changes.map { .string($0) }),
            "start": StartText.object(explanation.start),
        ]
    }

    /// Returns a pause as an object; null if there is none.
    static func object(_ pause: Pause?) -> JSON {
        guard let pause else { return .null }
        return [
            "since": .text(pause.since), "until": .text(pause.until),
            "reason": .string(pause.reason),
        ]
    }

    private func object(_ factor: JobExplanation.Factor) -> JSON {
        [
            "reason": .string(factor.reason.rawValue), "subject": .string(factor.subject),
            "wanted": .string(factor.wanted), "measured": .string(factor.measured),
            "source": .string(factor.source), "verdict": .string(factor.state.rawValue),
            "drops_at": .text(factor.dropsAt), "since": .text(factor.since),
            "last_7_days": factor.past.map(HeldBackText.object) ?? .null,
        ]
    }
}

/// Formats what held a job back.
enum HeldBackText {
    /// Returns text such as `3 times, 2h 10m, 3 runs`.
    static func words(_ past: HoldSummary) -> String {
        "\(counted(past.spans, "times")), \(past.total.text), \(counted(past.runs, "runs"))"
    }

    static func object(_ past: HoldSummary) -> JSON {
        [
            "times": .count(past.spans), "total_ms": .integer(past.total.milliseconds),
            "runs": .count(past.runs),
            "median_ms": past.median.map { .integer($0.milliseconds) } ?? .null,
        ]
    }
}
