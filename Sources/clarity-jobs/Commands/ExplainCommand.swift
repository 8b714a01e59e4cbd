import ClarityHost
import ClarityScheduler
import Platform
import Reports

/// `explain JOB`: shows why a job does or does not run now.
struct ExplainCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let name = try job(wantedBy: "explain")
        let file = try composition.jobFile()
        let job = try composition.job(named: name, in: file)
        if let instant = try composition.end(of: "at") {
            return try PastOccurrenceCommand(composition, job, file).run(instant)
        }
        try file.requireEnabled(job.id)
        // Conditions come before `moment`. A condition measured after it would look as if the clock
        // had been set back since the measurement.
        let monitor = composition.conditions(file)
        let conditions = monitor.conditions(
            asking: job.checks, of: Set([job.id.account].compactMap(\.self)))
        let moment = composition.clock.moment
        let history = try composition.history(file)
        let (planner, ledger) = try planning(file, history, at: moment.wall)
        let past = try past(of: job.id, at: moment.wall, ledger, history)
        let explanation = planner.explanation(
            of: job.id, at: moment, conditions: conditions, ledger: ledger, past: past)
        guard let explanation else {
            throw CommandFailure(.usage, "job `\(job.id)` is not planned")
        }
        // The diagnosis tests which kernel notifications work, which takes 50 ms. It is worth that
        // only if a value is unknown.
        let isUnknown = explanation.factors.contains {
            if case .makeKnown = $0.change { true } else { false }
        }
        let remedies = isUnknown ? monitor.diagnosis(asking: []).remedies : [:]
        let text = ExplanationReport(
            job: job, explanation: explanation,
            pace: try composition.pace(of: explanation.status.open, job, history), now: moment.wall,
            remedies: remedies,
            last: try askingStore { () throws(RunStoreError) in try history.lastEnds() }[job.id],
            starter: file.laterFault == nil
                ? try starter(history, ledger, at: moment.wall)
                : "the job file is faulty: mend it first; a loop goes on with the jobs as shown here",
            style: composition.console.terminalStyle)
        composition.console.results(text.lines, text)
        return .done
    }

    /// Who starts the job if it is not a loop; `nil` if one runs.
    private func starter(
        _ history: borrowing RunHistory, _ ledger: Ledger, at now: Instant
    ) throws(CommandFailure) -> String? {
        let loops = try askingStore { () throws(RunStoreError) in try history.loops() }
        guard loops.isEmpty else { return nil }
        return ledger.lastLook(before: now).map {
            "no loop runs: `run --due` starts it once it may; a scheduler was last seen at "
                + $0.shown
        } ?? "no scheduler has run yet: it starts with `clarity-jobs loop` or `run --due`"
    }

    private func past(
        of job: JobID, at now: Instant, _ ledger: Ledger, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> JobPast {
        try askingStore { () throws(RunStoreError) in
            var since: [String: Instant] = [:]
            let waiting = ledger.openRuns(of: job).first { ledger.open[$0]?.state == .enqueued }
            if let run = waiting {
                for span in try history.deferrals(of: run) where span.until == nil {
                    since[span.deferral.subject] = span.since
                }
            }
            return JobPast(
                waitingSince: since,
                holds: try history.holds(job, since: now - JobPast.stretch, until: now))
        }
    }
}

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
                "the schedule of job `\(job.id)` has no time up to \(instant.shown) in the history",
                "help: `clarity-jobs history \(job.id)` lists its runs, also those by hand")
        }
        composition.console.results(
            lines(past, now), ExplainedOccurrence(job: job.id, past: past))
        return .done
    }

    private func lines(_ past: PastOccurrence, _ now: Instant) -> [String] {
        let due = past.at.shown
        var lines = ["\(job.id): due \(due)"]
        if let gap = past.gap {
            lines.append(
                "no scheduler ran between \(gap.lowerBound.shown) and "
                    + gap.upperBound.shown)
        }
        switch past.outcome {
        case .run: break
        case .pending:
            lines.append("no scheduler has looked at it yet: start `loop` or `run --due`")
        case .recorded(let outcome, let run): lines.append(RunReport.words(of: outcome, run: run))
        }
        if let run = past.run {
            lines.append(RunReport.line(run))
            if let started = run.startedAt { lines.append("started \(started.shown)") }
        }
        for span in past.deferrals {
            let length = ((span.until ?? now) - span.since).text
            let end = span.until.map { "until \($0.shown)" } ?? "and still does"
            lines.append(
                "\(span.deferral.subject) held it back for \(length), from "
                    + "\(span.since.shown) \(end): it waited \(span.deferral.waitWithSource)")
        }
        return lines.map(\.printable)
    }
}

/// The result of `explain JOB --at TIME`.
struct ExplainedOccurrence: Reported {
    let job: JobID
    let past: PastOccurrence

    private var outcome: String {
        switch past.outcome {
        case .run: "run"
        case .pending: "pending"
        case .recorded(let outcome, _): outcome.rawValue
        }
    }

    static let report = Report<ExplainedOccurrence>([
        Column("job", "id of the job") { $0.job.rawValue },
        Column("scheduled_for", "the occurrence; this form is that of --at") { $0.past.at },
        Column("fate", "`run`, `pending`, `coalesced`, `skipped`, `expired` or `paused`") {
            $0.outcome
        },
        Column("down_since", "since when no scheduler ran") { $0.past.gap?.lowerBound },
        Column("down_until", "until when no scheduler ran") { $0.past.gap?.upperBound },
        Column("run", "the run of the occurrence") { $0.past.run.map { ListedRun(run: $0) } },
        Column("deferrals", "what that run waited for") { $0.past.deferrals },
    ])
}

/// The next occurrences of one job, computed one at a time.
struct JobOccurrences {
    /// How far from a clock change an occurrence may be, before or after it, to count as close.
    static let around = Duration.seconds(36 * 3600)
    /// How far ahead clock changes are searched: a year, and the time around its end.
    static let horizon = Duration.seconds(400 * 86_400)

    let job: JobID
    /// The zone in which the job's times are shown.
    let zone: Zone
    /// The coming clock changes of the zone; `nil` if all occurrences are wanted.
    let changes: [Zone.Change]?

    private let schedule: Schedule
    private let anchor: Instant
    private var last: Instant
    private var changesLeft: ArraySlice<Zone.Change>

    /// Creates the occurrences strictly after `now`; with `aroundChanges`, only those close to a
    /// clock change.
    init(
        of job: JobID, _ schedule: Schedule, anchor: Instant, after now: Instant, zone: Zone,
        aroundChanges: Bool
    ) {
        self.job = job
        self.schedule = schedule
        self.anchor = anchor
        self.zone = zone
        last = now
        changes = aroundChanges ? zone.changes(in: now..<now + JobOccurrences.horizon) : nil
        changesLeft = (changes ?? [])[...]
    }

    mutating func next() -> Instant? {
        guard changes != nil else {
            guard let found = schedule.next(after: last, anchor: anchor) else { return nil }
            last = found
            return found
        }
        while let change = changesLeft.first {
            let start = change.at - JobOccurrences.around - .milliseconds(1)
            if let found = schedule.next(after: max(last, start), anchor: anchor),
                found <= change.at + JobOccurrences.around
            {
                last = found
                return found
            }
            changesLeft.removeFirst()
        }
        return nil
    }

    /// Returns what a clock change does to an occurrence, for the user; `nil` if nothing.
    ///
    /// The note is about the time that the schedule's rule names, without the delay added to it.
    func note(on occurrence: Instant) -> String? {
        let named = occurrence - schedule.delay
        if changes?.contains(where: { $0.at == named && $0.isForward }) == true {
            return "after the skipped hour"
        }
        let local = named + zone.offset(at: named)
        switch zone.resolve(CivilTime(local.millisecondsSince1970)) {
        case .twice(named, _): return "the first of the repeated hour"
        case .twice(_, named): return "the second of the repeated hour"
        case .twice, .once, .skipped: return nil
        }
    }
}
