import ClarityScheduler
import Synchronization

/// Tells people how runs go, as they go.
final class RunReporter: Sendable {
    /// How much is worth a word.
    enum Detail: Sendable {
        /// What failed for good or waits for somebody, as cron should mail it, and nothing else.
        case failures
        /// How each run ended, and what waits.
        case everything
    }

    private let console: Console
    private let detail: Detail
    private let runs = Mutex<[Run]>([])
    /// Whether somebody was told that a login is missing: one session ends for all jobs.
    private let isLoginTold = Atomic(false)

    init(console: Console, detail: Detail) {
        self.console = console
        self.detail = detail
    }

    /// What the runs that were seen mean for the exit status.
    var status: ExitStatus {
        runs.withLock { $0.reduce(.done) { $0.joined(with: ExitStatus(of: $1)) } }
    }

    /// Hears each change once it is durable.
    func observe(_ change: LedgerChange) {
        guard case .put(let run) = change, run.state != .running,
            run.state.isFinished || run.attempts > 0
        else { return }
        runs.withLock { runs in
            runs.removeAll { $0.id == run.id }
            runs.append(run)
        }
        if console.form == .table { say(run) }
    }

    /// Writes the runs as JSON where that was asked for; as a table they came line by line.
    func summarize() {
        guard console.form != .table else { return }
        console.results(runs.withLock { $0.map { RunText.object($0) } }, table: Table(heading: []))
    }

    /// Says why something that is due waits.
    func say(_ waiting: Plan.Waiting) {
        guard detail == .everything else { return }
        for deferral in waiting.deferrals {
            console.note("\(waiting.job): waits: \(RunText.line(deferral))")
        }
    }

    /// Says which of the runs that were started ended elsewhere; whether there are any.
    ///
    /// A process that was stopped for longer than its leases last comes back to runs that others
    /// have taken over: what became of them is not its to tell.
    func sayLost(of started: [RunID]) -> Bool {
        let told = runs.withLock { Set($0.map(\.id)) }
        let lost = started.filter { !told.contains($0) }
        for run in lost where detail == .everything {
            console.note("run \(run): another process took it over and writes down its end")
        }
        return !lost.isEmpty
    }

    private func say(_ run: Run) {
        switch (run.state, detail) {
        case (.failed, _): Console.fault(RunText.line(run))
        case (_, .failures):
            let setAside = run.state.isFinished ? run.tally["samples_set_aside"] : 0
            guard setAside > 0 || isNewWaitForPerson(run) else { return }
            console.note(RunText.line(run))
        case (.succeeded, .everything):
            if !console.isQuiet { console.result(printable(RunText.line(run))) }
        case (_, .everything): console.note(RunText.line(run))
        }
        for note in run.notes { console.note("  \(note)") }
    }

    /// Whether a run waits for somebody who was not told yet.
    private func isNewWaitForPerson(_ run: Run) -> Bool {
        guard run.state == .enqueued, let need = run.needs, need.isUpToSomebody else {
            return false
        }
        return need != .login || !isLoginTold.exchange(true, ordering: .relaxed)
    }
}
