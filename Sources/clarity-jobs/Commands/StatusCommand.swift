import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform
import JSON

/// `status`: shows which freshness goals hold.
struct StatusCommand: ComposedCommand {
    let composition: Composition

    /// Returns `failed` if a goal is missed, or a job failed, is overdue or waits for a login.
    func run() throws(CommandFailure) -> ExitStatus {
        guard !composition.arguments.has("all") else {
            return try StatusAllCommand(composition).run()
        }
        let file = try composition.jobFile()
        let one = try composition.arguments.operands.first.map {
            name throws(CommandFailure) in try composition.job(named: name, in: file).id
        }
        let moment = composition.clock.moment
        let goals = try readingSections { () throws(Failure) in try file.sections.freshness }
        let history = try composition.history(file)
        let (planner, ledger) = try planning(file, history, at: moment.wall)
        let jobs = try jobs(file, planner, history, ledger, at: moment)
        if let one {
            return show(StatusReport(job: jobs.first { $0.id == one.rawValue }, now: moment.wall))
        }
        let store = try composition.healthStore(file, as: "status")
        let named = try composition.sourceZone(file)
        let installation = Installation(
            stateDirectory: composition.statePath(file), jobFile: composition.foundJobFilePath,
            timeZone: try store.map { store throws(CommandFailure) in
                try composition.dayZone(of: store, file).identifier
            } ?? named
                ?? LocalZone.identifier(environment: composition.environment),
            loops: try askingStore { () throws(RunStoreError) in try history.loops() },
            lastLook: ledger.lastLook(before: moment.wall),
            hasBackend: try composition.hasBackend(file),
            jobFileFault: file.laterFault?.printable)
        let destinations = try composition.fhirSums(file, store)
        let report = try usingHealthData { () throws(HealthStoreError) in
            try StatusReport(
                goals: goals, jobs: jobs, store: store, destinations: destinations,
                installation: installation, now: moment.wall)
        }
        return show(report)
    }

    private func show(_ report: StatusReport) -> ExitStatus {
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
        line.replacing(
            /(: |:\n +)(FAILED|HELD|FAULTY|missed|holds)|(; |;\n +)(is overdue)/, maxReplacements: 1
        ) {
            let (_, mark, state, otherMark, otherState) = $0.output
            let shown = style.painted(String(state ?? otherState ?? ""))
            return "\(mark ?? otherMark ?? "")\(shown)"
        }
    }

    /// Returns each job with its state. It runs no checks, because a check could send a request.
    private func jobs(
        _ file: JobFile, _ planner: Planner, _ history: borrowing RunHistory, _ ledger: Ledger,
        at moment: Moment
    ) throws(CommandFailure) -> [BringingJob] {
        let statuses = planner.statuses(
            at: moment,
            conditions: composition.conditions(file).conditions(of: ledger.accountsInNeed),
            ledger: ledger)
        let known = Dictionary(
            statuses.map { ($0.job, $0) }, uniquingKeysWith: { first, _ in first })
        let lastLook = ledger.lastLook(before: moment.wall)
        let ends = try askingStore { () throws(RunStoreError) in try history.lastEnds() }
        return try file.jobs.map { job throws(CommandFailure) in
            var facts = JobStatusReport.Facts(
                isDisabled: file.disabled.contains(job.id), status: known[job.id],
                lastEnd: ends[job.id])
            facts.now = moment.wall
            facts.lastLook = lastLook
            facts.pace = try composition.pace(of: facts.status?.open, job, history)
            if let run = facts.status?.open, run.state == .enqueued {
                let spans = try askingStore { () throws(RunStoreError) in
                    try history.deferrals(of: run.id)
                }
                for span in spans where span.until == nil {
                    facts.since[span.deferral.subject] = span.since
                }
            }
            var bringing = BringingJob(
                id: job.id.rawValue, kind: job.kind, status: JobStatusReport.words(facts).printable,
                isHeldBack: JobStatusReport.isHeldBack(facts),
                isOverdue: facts.status?.overdueSince != nil,
                lastSuccess: facts.lastEnd?.lastSuccess, failure: JobStatusReport.failure(facts),
                waitsForLogin: JobStatusReport.waitsForLogin(facts),
                fault: file.held[job.id]?.printable,
                gap: StatusCommand.gap(of: job, after: moment.wall))
            bringing.isRetrying = JobStatusReport.isRetrying(facts)
            return bringing
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

/// `status --all`: shows which accounts are up to date, by what the history knows of them.
///
/// It opens nobody's health data, so it needs no key and takes the same time however much data the
/// accounts have.
struct StatusAllCommand: ComposedCommand {
    let composition: Composition

    /// Returns `failed` unless every account is up to date.
    func run() throws(CommandFailure) -> ExitStatus {
        let file = try composition.wholeJobFile()
        let history = try composition.history(file)
        let now = composition.clock.now
        let known = try askingStore { () throws(RunStoreError) in
            try history.accounts(at: now)
        }
        let heldAccounts = (file.accounts ?? []).compactMap { account in
            account.fault.map { fault in
                var jobs = AccountStatus.Jobs()
                jobs.troubles = ["held: \(fault)"]
                return AccountStatus(account.id.rawValue, goals: [], nil, jobs, now: now)
            }
        }
        let report = AccountsReport(
            heldAccounts
                + (try accountsToShow(file).map { account in
                    status(
                        of: account, known[account.jobs.account] ?? AccountHistory(), at: now,
                        held: file.held)
                }))
        show(report)
        let loops = try askingStore { () throws(RunStoreError) in try history.loops() }
        if loops.isLeaderless { composition.console.fault(Installation.leaderless) }
        return report.holds && !loops.isLeaderless ? .done : .failed
    }

    /// Returns the status of one account of the job file, which may be disabled.
    func status(
        of account: AccountDeclaration, _ file: JobFile
    ) throws(CommandFailure) -> AccountStatus {
        let now = composition.clock.now
        let history = try composition.history(file)
        let known = try askingStore { () throws(RunStoreError) in try history.accounts(at: now) }
        let view = file.view(of: account)
        let goals = try goals(view.sections)
        let jobs = view.groups.first ?? JobGroup(jobs: [])
        return status(
            of: Account(name: account.id.rawValue, goals: goals, jobs: jobs),
            known[account.id] ?? AccountHistory(), at: now, held: file.held)
    }

    /// An account with what the job file says of it.
    private struct Account {
        var name: String
        var goals: [FreshnessGoal]
        var jobs: JobGroup
    }

    /// Returns the enabled accounts in the order of the job file; the file itself if it has none.
    private func accountsToShow(_ file: JobFile) throws(CommandFailure) -> [Account] {
        let fileName = composition.foundJobFilePath.split(separator: "/").last.map(String.init)
        var accounts: [Account] = []
        for group in file.groups {
            accounts.append(
                Account(
                    name: group.account?.rawValue ?? fileName ?? "",
                    goals: try goals(group.sections), jobs: group))
        }
        return accounts
    }

    private func goals(_ sections: SectionValues) throws(CommandFailure) -> [FreshnessGoal] {
        try readingSections { () throws(Failure) in try sections.freshness }
    }

    private func status(
        of account: Account, _ history: AccountHistory, at now: Instant,
        held: [JobID: String] = [:]
    ) -> AccountStatus {
        let facts = history.factsAt.map { at in
            var facts = AccountFacts(at: at)
            for fact in history.facts { facts.add(fact.name, fact.value) }
            return facts
        }
        var jobs = AccountStatus.Jobs()
        jobs.troubles = held.sorted { $0.key < $1.key }.map { "\($0.key) is held: \($0.value)" }
        for (job, clock) in history.clocks {
            if let due = account.jobs.schedule(of: job)?.overdue(after: clock, at: now) {
                jobs.overdue.append((job.declared.rawValue, due))
            }
        }
        for (job, obstacle) in history.obstacles {
            switch obstacle {
            case .failed(let reason, let at):
                jobs.troubles.append("\(job.declared) failed at \(at): \(reason)")
            case .paused(let pause):
                let end = pause.until.map { " until \($0)" } ?? ""
                let reason = pause.reason.isEmpty ? "" : ": \(pause.reason)"
                jobs.troubles.append("\(job.declared) is paused\(end)\(reason)")
            case .waits(let deferral, let lastTry):
                // The pause is named once, and a run that is not due yet is no trouble.
                guard deferral.reason != .paused, deferral.reason != .notDue else { continue }
                jobs.waits.append(
                    "\(job.declared) waits \(deferral.wait)"
                        + (lastTry.map { "; its last try: \($0)" } ?? ""))
            }
        }
        return AccountStatus(account.name, goals: account.goals, facts, jobs, now: now)
    }

    private func show(_ report: AccountsReport) {
        let console = composition.console
        let shown = report.shown(missedOnly: console.isQuiet)
        switch console.form {
        case .json: console.result(report.result(missedOnly: console.isQuiet).object.page)
        case .ndjson: console.text(shown.map { $0.object.line + "\n" }.joined())
        case .table:
            let lines = shown.map(\.line) + (console.isQuiet ? [] : [report.sum])
            let style = console.pageStyle
            // In one write, because there may be ten thousand lines.
            console.text(
                lines.map { line in
                    let fitted = console.fitted(line).joined(separator: "\n")
                    return StatusAllCommand.painted(fitted, style) + "\n"
                }.joined())
        }
    }

    /// Returns a line, which may be wrapped, with its state in colour.
    private static func painted(_ line: String, _ style: PageStyle) -> String {
        guard !style.isPlain else { return line }
        return line.replacing(/(: |:\n +)(not fresh|fresh|overdue)/, maxReplacements: 1) {
            "\($0.output.1)\(style.painted(String($0.output.2)))"
        }
    }
}
