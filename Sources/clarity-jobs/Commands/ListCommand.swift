import ClarityHost
import ClarityScheduler
import Platform
import Reports

/// `list`: lists the jobs, when each runs next and what it waits for.
struct ListCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let moment = composition.clock.moment
        let history = try composition.history(file)
        let (planner, ledger) = try planning(file, history, at: moment.wall)
        let lastLook = ledger.lastLook(before: moment.wall)
        let statuses = planner.statuses(
            at: moment,
            conditions: composition.conditions(file).conditions(of: ledger.accountsInNeed),
            ledger: ledger)
        let known = Dictionary(
            statuses.map { ($0.job, $0) }, uniquingKeysWith: { first, _ in first })
        let loops = try askingStore { () throws(RunStoreError) in try history.loops() }
        let ends = try askingStore { () throws(RunStoreError) in try history.lastEnds() }
        composition.console.results(
            try file.jobs.map { job throws(CommandFailure) in
                let open = known[job.id]?.open
                let progress = try askingStore { () throws(RunStoreError) in
                    try open.flatMap { run throws(RunStoreError) in try history.progress(of: run) }
                }
                return ListedJob(
                    job: job, fault: file.held[job.id], status: known[job.id], last: ends[job.id],
                    pace: try composition.pace(of: open, job, history),
                    now: moment.wall,
                    overdue: JobStatusReport.overdue(
                        known[job.id], now: moment.wall, lastLook: lastLook), progress: progress)
            })
        if lastLook == nil, loops.isEmpty, composition.console.terminalStyle != nil {
            composition.console.note(
                "no scheduler has run yet: start `clarity-jobs loop`, or let cron call `run --due`")
        }
        return .done
    }
}

/// A job, when it runs next and what it waits for.
struct ListedJob: Reported {
    let job: Job
    /// The fault of its declaration for which it is held.
    let fault: String?
    /// `nil` for a disabled or held job.
    let status: JobStatus?
    /// How its last run ended; `nil` if none succeeded or failed yet.
    let last: JobEnd?
    /// How long its running attempt takes.
    let pace: JobPace?
    let now: Instant
    let overdue: String?
    /// How far the running attempt is, if it has said so.
    let progress: AttemptProgress?

    static let report = Report<ListedJob>([
        Column("job", "id of the job") { $0.job.id.rawValue }.shown("JOB"),
        Column("kind", "kind of the job") { $0.job.kind.rawValue }.shown("KIND"),
        Column("class", "class of the job") { $0.job.jobClass.rawValue },
        Column("last_at", "end of the last run that succeeded or failed") { $0.last?.at }
            .shown("LAST") {
                $0.last.map { "\($0.failure == nil ? "ok" : "FAILED") \($0.at.shown)" } ?? "-"
            },
        Column("last_failure", "why that run failed; none if it succeeded") { $0.last?.failure },
        Column("next", "when it is due next") { $0.status?.nextStart }.shown("NEXT"),
        Column(
            "set_back_until", "when the schedule goes on, because the clock was set back"
        ) { $0.status?.setBackUntil },
        Column("state", "`disabled`, `held`, `idle`, `enqueued` or `running`") { $0.state }
            .shown("STATE", isState: true),
        Column("fault", "the fault in the job file for which the job is held") { $0.fault },
        Column("overdue", "since when no scheduler has run, in words") { $0.overdue },
        Column("progress", "how far the running attempt is, if it has said so") { $0.progress },
        Column("running_since", "start of the running attempt") { $0.pace?.since },
        Column("usual_ms", "how long the job's attempts usually take, in milliseconds") {
            $0.pace?.usual?.milliseconds
        },
        Column("slow_at", "when the running attempt becomes slow; see the notice `job-slow`") {
            job in job.pace.flatMap { pace in pace.slowAfter.map { pace.since + $0 } }
        },
        Column("waiting_on", "what holds the job back now") { $0.waitingOn }
            .shown("WAITING ON") {
                $0.fault ?? $0.overdue ?? $0.runningWords ?? $0.waits
            },
    ])

    /// How far the running attempt is, and how long it has run.
    private var runningWords: String? {
        let words = [progress?.words, runs].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: "; ")
    }

    /// `disabled`, `held`, the state of the unfinished run, or `idle`.
    private var state: String {
        guard let status else { return fault == nil ? "disabled" : "held" }
        return status.open?.state.rawValue ?? "idle"
    }

    /// The reasons why the job waits; empty while it runs.
    private var waitingOn: [Deferral] {
        guard let status, status.open?.state != .running else { return [] }
        return status.deferrals
    }

    /// For how long the job runs, in words; `nil` if nobody knows how long it should.
    private var runs: String? { pace?.words(at: now).map { "running for \($0)" } }

    /// What the job waits for, in words.
    ///
    /// `not due` replaces every reason that is only a time, because the column beside it shows
    /// that.
    private var waits: String {
        let others = waitingOn.filter { $0.reason != .notDue }
        if others.isEmpty {
            if waitingOn.isEmpty, status?.open?.state == .enqueued { return "a scheduler" }
            let setBack =
                status?.setBackUntil.map { "; \(JobStatusReport.setBack(until: $0))" } ?? ""
            return waitingOn.isEmpty ? "" : "not due\(setBack)"
        }
        guard let open = status?.open, open.failures > 0, open.needs == nil else {
            return others.map(\.waitWithSource).joined(separator: "; ")
        }
        let waits = others.filter { $0.reason != .backoff || $0.group != nil }.map(\.waitWithSource)
        return ([RunReport.state(open, at: now)] + waits).joined(separator: "; ")
    }
}

/// `next [JOB...]`: lists the next occurrences of jobs, in order of time.
struct NextCommand {
    private let composition: Composition
    private let isAroundChanges: Bool

    init(_ composition: Composition) {
        self.composition = composition
        isAroundChanges = composition.arguments.has("around-dst")
    }

    func run() throws(CommandFailure) -> ExitStatus {
        let limit = try composition.limit(1...10_000)
        let file = try composition.jobFile()
        let jobs = try jobs(file)
        let history = try composition.history(file)
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        let now = composition.clock.now
        let localZone = localZone()
        var withOccurrences: [JobOccurrences] = []
        for job in jobs {
            if file.disabled.contains(job.id) {
                note("\(job.id): \(file.held[job.id] ?? "`enabled: false` in the job file")")
            } else if let schedule = job.schedule {
                let setBackUntil = ledger.jobs[job.id]?.clock.flatMap {
                    schedule.setBackUntil($0, at: now)
                }
                if let setBackUntil {
                    note("\(job.id): \(JobStatusReport.setBack(until: setBackUntil))")
                }
                let occurrences = JobOccurrences(
                    of: job.id, schedule, anchor: ledger.anchor(of: job.id) ?? now,
                    after: setBackUntil ?? now,
                    zone: schedule.zone ?? localZone, aroundChanges: isAroundChanges)
                var first = occurrences
                if first.next() == nil {
                    note(absence(of: occurrences, after: now))
                } else {
                    withOccurrences.append(occurrences)
                }
            } else {
                let events = job.events.sorted().map(\.rawValue).joined(separator: ", ")
                note("\(job.id): no schedule" + (events.isEmpty ? "" : "; starts on \(events)"))
            }
        }
        show(
            MergedOccurrences(withOccurrences).prefix(limit).map {
                ($0.at, withOccurrences[$0.job])
            })
        return .done
    }

    /// Returns the named jobs, or all that the file declares if none is named, in its order.
    private func jobs(_ file: JobFile) throws(CommandFailure) -> [Job] {
        let names = composition.arguments.operands
        guard !names.isEmpty else {
            return file.jobs.filter { !file.implied.contains($0.id.declared) }
        }
        var wanted: Set<JobID> = []
        for name in names { wanted.insert(try composition.job(named: name, in: file).id) }
        return file.jobs.filter { wanted.contains($0.id) }
    }

    /// Returns the zone in which times without a zone of their own are shown.
    private func localZone() -> Zone {
        do {
            return try Composition.localZone(composition.environment)
        } catch {
            for line in error.lines { note("\(line); its times are shown in UTC") }
            return .utc
        }
    }

    private func absence(of occurrences: JobOccurrences, after now: Instant) -> String {
        guard let changes = occurrences.changes else {
            return "\(occurrences.job): no occurrence after \(now)"
        }
        let days = JobOccurrences.horizon.text
        guard !changes.isEmpty else {
            return "\(occurrences.job): no change of offset in \(occurrences.zone.identifier) "
                + "within \(days) of \(now)"
        }
        return "\(occurrences.job): no occurrence within \(JobOccurrences.around.text) of a change "
            + "of offset in \(occurrences.zone.identifier)"
    }

    private func show(_ occurrences: [(at: Instant, job: JobOccurrences)]) {
        let report = NextOccurrence.report
        composition.console.results(
            occurrences.map { NextOccurrence(at: $0.at, job: $0.job) },
            isAroundChanges ? report : report.without(["note"]))
    }

    /// Writes a remark for people; JSON output contains only occurrences.
    private func note(_ line: String) {
        if composition.console.form == .table { composition.console.note(line) }
    }
}

/// The next occurrence of a job.
struct NextOccurrence: Reported {
    let at: Instant
    let job: JobOccurrences

    static let report = Report<NextOccurrence>([
        Column("job", "id of the job") { $0.job.job.rawValue }.shown("JOB"),
        Column("at", "the occurrence") { $0.at }.shown("AT") {
            $0.job.zone.text(Instant(secondsSince1970: $0.at.secondsSince1970))
        },
        Column("local", "the occurrence in the time zone of the schedule") {
            $0.job.zone.text($0.at)
        }.shown("TIME ZONE") { $0.job.zone.identifier },
        Column("note", "what a clock change does to it; only with --around-dst") {
            $0.job.note(on: $0.at)
        }.shown("NOTE") { $0.job.note(on: $0.at) ?? "" },
    ])
}

// Properties of schedules and ledgers that `next` needs besides the occurrences.

extension Schedule {
    /// The zone whose local time the schedule follows; `nil` if it needs none.
    var zone: Zone? {
        switch rule {
        case .cron(_, let zone), .calendar(_, let zone): zone
        case .every, .at: nil
        }
    }
}

extension Ledger {
    /// Returns the instant from which a job's `every` counts; `nil` for a job that was never
    /// considered.
    func anchor(of job: JobID) -> Instant? { jobs[job]?.clock?.anchor }
}
