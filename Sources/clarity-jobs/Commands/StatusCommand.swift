import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform
import JSON

/// `status`: shows which freshness goals hold.
struct StatusCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    /// Returns `failed` if a goal is missed or a job is overdue.
    func run() throws(CommandFailure) -> ExitStatus {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`status` takes no operands")
        }
        guard !composition.arguments.has("all") else {
            return try StatusAllCommand(composition).run()
        }
        let file = try composition.jobFile()
        let moment = composition.clock.moment
        let goals = try readingSections { () throws(Failure) in try file.sections.freshness }
        let history = try composition.history(file)
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        let jobs = try jobs(file, history, ledger, at: moment)
        let store = try composition.healthStore(file, as: "status")
        let named = try composition.sourceZone(file)
        let installation = Installation(
            stateDirectory: composition.statePath(file), jobFile: composition.foundJobFilePath,
            timeZone: try store.map { store throws(CommandFailure) in
                try composition.dayZone(of: store, file).identifier
            } ?? named
                ?? LocalZone.identifier(environment: composition.environment),
            loops: try askingStore { () throws(RunStoreError) in try history.loops() },
            lastLook: ledger.lastLook(before: moment.wall))
        let report = try usingHealthData { () throws(HealthStoreError) in
            try StatusReport(
                goals: goals, jobs: jobs, store: store, installation: installation,
                now: moment.wall)
        }
        let console = composition.console
        switch console.form {
        case .ndjson:
            report.result(missedOnly: console.isQuiet).lines.forEach { console.result($0.line) }
        case .json: console.result(report.result(missedOnly: console.isQuiet).object.page)
        case .table:
            let style = console.pageStyle
            for line in report.lines(missedOnly: console.isQuiet) {
                let line = line.namingAccount(composition.namedAccount?.rawValue)
                let fitted = console.fitted(line).joined(separator: "\n")
                console.result(StatusCommand.painted(fitted, style))
            }
        }
        return report.holds ? .done : .failed
    }

    /// Returns a line, which may be wrapped, with its first state in colour.
    private static func painted(_ line: String, _ style: PageStyle) -> String {
        line.replacing(/(: |:\n +)(missed|holds)|(; |;\n +)(is overdue)/, maxReplacements: 1) {
            let (_, mark, state, otherMark, otherState) = $0.output
            let shown = style.painted(String(state ?? otherState ?? ""))
            return "\(mark ?? otherMark ?? "")\(shown)"
        }
    }

    /// Returns each job with its state. It runs no checks, because a check could send a request.
    private func jobs(
        _ file: JobFile, _ history: borrowing RunHistory, _ ledger: Ledger, at moment: Moment
    ) throws(CommandFailure) -> [BringingJob] {
        let planner = composition.planner(file, owner: "", scope: .everything)
        let statuses = planner.statuses(
            at: moment,
            conditions: composition.conditions(file).conditions(of: ledger.accountsInNeed),
            ledger: ledger)
        let known = Dictionary(
            statuses.map { ($0.job, $0) }, uniquingKeysWith: { first, _ in first })
        let lastLook = ledger.lastLook(before: moment.wall)
        return try file.jobs.map { job throws(CommandFailure) in
            var facts = JobStatusReport.Facts(
                isDisabled: file.disabled.contains(job.id), status: known[job.id])
            facts.now = moment.wall
            facts.lastLook = lastLook
            let success = try askingStore { () throws(RunStoreError) -> Instant? in
                facts.last = try history.runs(of: job.id, limit: 1).first
                if let run = facts.status?.open, run.state == .enqueued {
                    for span in try history.deferrals(of: run.id) where span.until == nil {
                        facts.since[span.deferral.subject] = span.since
                    }
                }
                return try history.lastSuccess(of: job.id)
            }
            return BringingJob(
                id: job.id.rawValue, kind: job.kind, status: JobStatusReport.words(facts).printable,
                isHeldBack: JobStatusReport.isHeldBack(facts),
                isOverdue: facts.status?.overdueSince != nil, lastSuccess: success,
                gap: StatusCommand.gap(of: job, after: moment.wall))
        }
    }

    /// Returns the longest time between two of a job's next ten occurrences; `nil` if there are
    /// fewer than two.
    private static func gap(of job: Job, after now: Instant) -> Duration? {
        guard let schedule = job.schedule else { return nil }
        var longest: Duration?
        var last = now
        for _ in 0..<10 {
            guard let next = schedule.next(after: last, anchor: now) else { break }
            if last > now { longest = max(longest ?? .zero, next - last) }
            last = next
        }
        return longest
    }
}
