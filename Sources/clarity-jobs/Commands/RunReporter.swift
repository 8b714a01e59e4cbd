import ClarityScheduler
import Platform
import Synchronization
@preconcurrency import Glibc

/// Reports the progress of runs to the user.
final class RunReporter: Sendable {
    /// How much is reported.
    enum Detail: Sendable {
        /// Only runs that failed for good or that wait for the user, for cron to mail.
        case failures
        /// The end of each run, and each run that waits.
        case everything
    }

    /// The most bytes of a line of output that are kept until its end comes.
    static let longestLine = 64 << 10

    private let console: Console
    private let detail: Detail
    /// The progress of the runs, for a person at a terminal.
    let display: RunDisplay
    private let reported = ReportedRuns()
    private let runs = Mutex<[Run]>([])
    /// Whether the user was told that a login is missing. Once is enough: all jobs share the
    /// session.
    private let isLoginTold = Atomic(false)
    /// The beginning of the line that the program of a run is writing.
    private let lines = Mutex<[RunID: [UInt8]]>([:])
    /// Whether a person at a terminal sees what the programs of jobs write, as they write it.
    let showsOutput: Bool

    init(console: Console, detail: Detail) {
        self.console = console
        self.detail = detail
        showsOutput =
            detail == .everything && console.form == .table && !console.isQuiet
            && isatty(STDOUT_FILENO) == 1
        display = RunDisplay(
            isShown: detail == .everything && !console.isQuiet, clock: SystemClock())
    }

    /// The exit status for the observed runs.
    var status: ExitStatus {
        runs.withLock { $0.reduce(.done) { $0.joined(with: ExitStatus(of: $1)) } }
    }

    /// Receives each change once it is durable.
    func observe(_ change: LedgerChange) {
        guard let run = reported.run(in: change) else { return }
        runs.withLock { runs in
            runs.removeAll { $0.id == run.id }
            runs.append(run)
        }
        if run.state != .running, let rest = lines.withLock({ $0.removeValue(forKey: run.id) }) {
            write(rest, of: run.job)
        }
        display.writing { if console.form == .table { say(run) } }
    }

    /// Writes the whole lines of a program's output.
    func hear(_ order: AttemptOrder, _ bytes: ArraySlice<UInt8>) {
        let whole = lines.withLock { lines -> [UInt8] in
            let text = lines[order.run, default: []] + bytes
            // A line without an end is shown in parts.
            let end = text.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 }
            let count = end ?? (text.count > RunReporter.longestLine ? text.count : 0)
            lines[order.run] = Array(text[count...])
            return Array(text[..<count])
        }
        write(whole, of: order.job)
    }

    private func write(_ output: [UInt8], of job: JobID) {
        guard !output.isEmpty else { return }
        display.writing {
            AttemptOutput.lines(output).forEach { console.show("\(job) | \($0)") }
        }
    }

    /// Writes the runs as JSON if requested; for table output they were written line by line.
    func summarize() {
        guard console.form != .table else { return }
        console.results(runs.withLock { $0.map { ListedRun(run: $0) } })
    }

    /// Writes why something that is due waits. Its run stays, for a loop or `run --due` to start.
    func say(_ waiting: Plan.Waiting) {
        guard detail == .everything else { return }
        let told = runs.withLock { runs in runs.contains { $0.job == waiting.job } }
        // The line of the run has said when it tries again.
        if waiting.isForItself, let deferral = waiting.deferrals.first {
            return console.note(
                "\(waiting.job): not started: \(deferral.measured.replacing(", which", with: ""))")
        }
        for deferral in waiting.deferrals where !told || deferral.retry == nil {
            console.note("\(waiting.job): waits \(deferral.waitWithSource)")
        }
    }

    /// Writes which of the started runs ended in another process, and returns whether there are
    /// any.
    ///
    /// If a process is stopped for longer than its leases last, other processes take over its runs.
    /// It does not know how those runs end.
    func sayLost(of started: [RunID]) -> Bool {
        let told = runs.withLock { Set($0.map(\.id)) }
        let lost = started.filter { !told.contains($0) }
        for run in lost where detail == .everything {
            console.note("run \(run): another process took it over and writes down its end")
        }
        return !lost.isEmpty
    }

    private func say(_ run: Run) {
        let line = RunReport.line(run, isWhole: console.isVerbose)
        switch (run.state, detail) {
        case (.failed, _): console.fault(line)
        case (_, .failures):
            let setAside = run.state.isFinished ? run.tally["samples_set_aside"] : 0
            guard setAside > 0 || isNewWaitForPerson(run) else { return }
            console.note(line)
        case (.succeeded, .everything):
            if !console.isQuiet { console.show(line) }
        case (_, .everything): console.note(line)
        }
        for note in run.notes { console.note("  \(note)") }
    }

    /// Returns whether a run waits for the user, who was not told yet.
    private func isNewWaitForPerson(_ run: Run) -> Bool {
        guard run.state == .enqueued, let need = run.needs, need.isUpToSomebody else {
            return false
        }
        return need != .login || !isLoginTold.exchange(true, ordering: .relaxed)
    }
}
