import ClarityHost
import ClarityScheduler
import Platform
import Reports

/// `tonight`: shows what runs until tomorrow noon and what it will wait for, a line for each job.
struct TonightCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let zone = try Composition.localZone(composition.environment)
        let (planner, ledger) = try planning(file, try composition.history(file))
        // As in `explain`: conditions come before the moment.
        let conditions = composition.conditions(file).conditions(of: ledger.accountsInNeed)
        let moment = composition.clock.moment
        let end = TonightCommand.noon(after: moment.wall, in: zone)
        let jobs = file.jobs.filter { !file.disabled.contains($0.id) }
        let rows = jobs.compactMap { job -> TonightsJob? in
            let explanation = planner.explanation(
                of: job.id, at: moment, conditions: conditions, ledger: ledger, past: JobPast())
            guard let explanation else { return nil }
            return TonightsJob(
                job, explanation, conditions, from: moment.wall, until: end,
                anchor: ledger.anchor(of: job.id) ?? moment.wall, zone)
        }
        let sorted = rows.enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }.map(\.element)
        if composition.console.form == .table {
            let count = sorted.isEmpty ? "nothing runs" : counted(sorted.count, "jobs")
            let others = jobs.count - sorted.count
            composition.console.show(
                "until \(TonightsJob.text(end, zone)) (\(zone.identifier)): \(count)"
                    + (others > 0 ? ", \(others) later or not by a schedule" : ""))
        }
        composition.console.results(sorted)
        for job in jobs where composition.console.form == .table {
            if let pause = ledger.jobs[job.id]?.pause {
                let end = pause.until.map { "until \($0.shown)" } ?? "until somebody resumes it"
                composition.console.note("\(job.id): paused \(end)")
            }
        }
        for job in file.jobs where composition.console.form == .table {
            if let fault = file.held[job.id] { composition.console.note("\(job.id): \(fault)") }
        }
        return .done
    }

    /// Returns noon of the next day; before 6 in the morning the night is not over, and it is noon of
    /// this one.
    private static func noon(after now: Instant, in zone: Zone) -> Instant {
        let clock = CivilTime((now + zone.offset(at: now)).millisecondsSince1970)
        let days = CivilTime.daysSince1970(year: clock.year, month: clock.month, day: clock.day)
        let date = CivilTime.date(daysSince1970: clock.hour < 6 ? days : days + 1)
        let noon = CivilTime(year: date.year, month: date.month, day: date.day, hour: 12)
        return switch zone.resolve(noon) {
        case .once(let instant), .twice(earlier: let instant, later: _),
            .skipped(until: let instant):
            instant
        }
    }
}

/// A job that runs tonight.
struct TonightsJob: Reported {
    private let job: Job
    /// When it starts, if nothing holds it back then.
    let at: Instant
    private let state: String
    private let occurrences: Int
    /// What would hold it back, by what is known now.
    private let waits: [Deferral]
    /// When a window of it that is closed at the start opens.
    private let opensAt: Instant?
    private let zone: Zone

    /// Returns `nil` for a job that does not run until `end`.
    init?(
        _ job: Job, _ explanation: JobExplanation, _ conditions: Conditions, from now: Instant,
        until end: Instant, anchor: Instant, _ zone: Zone
    ) {
        let status = explanation.status
        func due(after instant: Instant) -> Int {
            job.schedule?.due(after: instant, through: end, anchor: anchor)?.count ?? 0
        }
        if let open = status.open {
            // A wait for a time, such as a retry, ends then.
            let start: Instant =
                if case .at(let instant) = explanation.start { instant } else { now }
            guard start <= end else { return nil }
            (at, state, occurrences) = (start, open.state.rawValue, due(after: now) + 1)
            (waits, opensAt) = (open.state == .running ? [] : status.deferrals, nil)
        } else {
            guard let next = status.nextStart, next <= end else { return nil }
            let start = max(next, now)
            (at, state) = (start, "idle")
            occurrences = max(due(after: start - .milliseconds(1)), 1)
            let window = TonightsJob.window(of: job, conditions, at: start)
            let others = explanation.factors.filter { factor in
                guard factor.state == .unmet else { return false }
                if factor.reason == .constraint {
                    return factor.subject != window?.constraint.name
                }
                return switch factor.change {
                // Such as a Retry-After.
                case .pass(let end), .opens(let end): end > start
                // Whether a place is free then is unknown.
                default: start == now
                }
            }.map { factor in
                Deferral(
                    factor.reason, subject: factor.subject, wanted: factor.wanted,
                    measured: factor.measured, source: factor.source)
            }
            let closed = window.flatMap { $0.allows ? nil : $0 }.map { window in
                Deferral(
                    .constraint, subject: window.constraint.name, wanted: window.wanted,
                    measured: window.measured, source: window.source)
            }
            (waits, opensAt) = ([closed].compactMap(\.self) + others, window?.changesAt)
        }
        (self.job, self.zone) = (job, zone)
    }

    /// Returns the verdict of the job's windows at a time; `nil` without any.
    private static func window(
        of job: Job, _ conditions: Conditions, at start: Instant
    ) -> Verdict? {
        let window = job.constraints.first { if case .window = $0 { true } else { false } }
        return window?.verdict(in: conditions, at: start)
    }

    static let report = Report<TonightsJob>([
        Column("at", "when it starts, if nothing holds it back") { $0.at }.shown("AT") {
            TonightsJob.text($0.at, $0.zone)
        },
        Column("job", "id of the job") { $0.job.id.rawValue }.shown("JOB"),
        Column("state", "`idle`, `enqueued` or `running`") { $0.state },
        Column("occurrences", "how often it is due in this time, with the unfinished run") {
            $0.occurrences
        }.shown("TIMES", isNumber: true),
        Column("waiting_on", "what would hold it back, by what is known now") { $0.waits },
        Column("words", "the same in words; empty if nothing does") { $0.words }
            .shown("WILL WAIT") { $0.state == "running" ? "runs now" : $0.brief },
    ])

    private var words: String { waits.map(\.wait).joined(separator: "; ") }

    /// The same in few words, so that a line fits 80 columns.
    private var brief: String {
        waits.map { wait in
            switch wait.subject {
            case "window" where opensAt != nil:
                "window: opens \(opensAt.map { TonightsJob.text($0, zone) } ?? "")"
            case "login", "source": wait.wait
            default: wait.reason == .constraint ? "\(wait.subject): \(wait.measured)" : wait.wait
            }
        }.joined(separator: "; ")
    }

    /// Returns a time such as `Mon 02:15`.
    static func text(_ instant: Instant, _ zone: Zone) -> String {
        let clock = CivilTime((instant + zone.offset(at: instant)).millisecondsSince1970)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(days[clock.weekday]) \(padded(clock.hour)):\(padded(clock.minute))"
    }
}
