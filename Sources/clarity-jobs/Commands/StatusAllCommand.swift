import ClarityHost
import ClarityJobs
import ClarityReports
import ClarityScheduler
import ClaritySystem
import JSON

/// `status --all`: shows which accounts are up to date, by what the history knows of them.
///
/// It opens nobody's health data, so it needs no key and takes the same time however much data the
/// accounts have.
struct StatusAllCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    /// Returns `failed` unless every account is up to date.
    func run() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let now = composition.clock.now
        let known = try askingStore { () throws(RunStoreError) in
            try history.accounts(at: now)
        }
        let report = AccountsReport(
            try accountsToShow(file, known: Array(known.keys)).map { account in
                status(of: account, known[account.id] ?? AccountHistory(), at: now)
            })
        show(report)
        return report.holds ? .done : .failed
    }

    /// An account with what the job file says of it.
    private struct Account {
        /// `nil` for a job file without accounts.
        var id: AccountID?
        var name: String
        var goals: [FreshnessGoal]
        /// The schedules of its enabled jobs, by the id that the job file declares.
        var schedules: [JobID: Schedule]
    }

    /// Returns the accounts in the order in which they are shown.
    ///
    /// - Parameter known: the accounts in the history.
    private func accountsToShow(
        _ file: JobFile, known: [AccountID?]
    ) throws(CommandFailure) -> [Account] {
        let goals: [FreshnessGoal]
        do throws(Failure) {
            goals = try FreshnessGoal.all(file.settings)
        } catch {
            throw CommandFailure(error)
        }
        var schedules: [JobID: Schedule] = [:]
        for job in file.enabledJobs { schedules[job.id.declared] = job.schedule }
        let name = composition.foundJobFilePath.split(separator: "/").last.map(String.init) ?? ""
        return [Account(id: nil, name: name, goals: goals, schedules: schedules)]
            + known.compactMap(\.self).sorted().map {
                Account(id: $0, name: $0.rawValue, goals: goals, schedules: schedules)
            }
    }

    private func status(
        of account: Account, _ history: AccountHistory, at now: Instant
    ) -> AccountStatus {
        let facts = history.factsAt.map { at in
            var facts = AccountFacts(at: at)
            for fact in history.facts { facts.add(fact.name, fact.value) }
            return facts
        }
        var jobs = AccountStatus.Jobs()
        for (job, clock) in history.clocks {
            if let due = account.schedules[job.declared]?.overdue(after: clock, at: now) {
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
                    "\(job.declared) waits for \(deferral.subject): wanted \(deferral.wanted), "
                        + "is \(deferral.measured)"
                        + (lastTry.map { "; its last try: \($0)" } ?? ""))
            }
        }
        return AccountStatus(account.name, goals: account.goals, facts, jobs, now: now)
    }

    private func show(_ report: AccountsReport) {
        let console = composition.console
        let shown = report.shown(missedOnly: console.isQuiet)
        switch console.form {
        case .json: console.result(report.object(missedOnly: console.isQuiet).page)
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
