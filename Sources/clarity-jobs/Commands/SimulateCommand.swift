import ClarityHost
import ClarityScheduler
import Platform
import JSON

/// `simulate [JOB...]`: shows the runs that there would be over a trace of conditions.
struct SimulateCommand {
    let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        if composition.arguments["accounts"] != nil { return try runAccounts() }
        let days = try days()
        let attempt = try attempt()
        let trace = try trace()
        let file = try composition.jobFile()
        let jobs = try jobs(file)
        try check(trace, file)
        let history = try composition.history(file)
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        var known: [JobID: Duration] = [:]
        for job in jobs { known[job.id] = try usualAttempt(of: job.id, history) }
        let from = try from(trace)
        let allowing = Conditions.allowing
        let simulation = Simulation(
            jobs, maxParallel: file.mostAttempts,
            over: from..<from + .seconds(days * 86_400),
            anchors: ledger.jobs.byJob.compactMapValues { $0.clock?.anchor },
            conditions: { trace?.conditions(at: $0) ?? allowing },
            nextChange: { trace?.nextChange(after: $0) },
            attempt: { known[$0.id] ?? attempt ?? SimulateCommand.standardAttempt(of: $0) },
            supposed: { trace?.attempt(of: $0.id, at: $1) ?? SimulatedAttempt() })
        let report = simulation.run()
        let text = SimulationResult(
            simulation: report, style: composition.console.terminalStyle)
        composition.console.results(text.lines, text)
        if report.stretch.upperBound < from + .seconds(days * 86_400) {
            composition.console.note(
                "clarity-jobs: ended at \(report.stretch.upperBound), after "
                    + "\(Simulation.mostRuns) runs")
        }
        return .done
    }

    /// Returns the named jobs, or all enabled jobs if none is named.
    private func jobs(_ file: JobFile) throws(CommandFailure) -> [Job] {
        let names = composition.arguments.operands
        let wanted = Set(try composition.jobs(named: names, in: file))
        if let job = wanted.first(where: { file.disabled.contains($0) }) {
            throw CommandFailure(.usage, "job `\(job)` has `enabled: false` in the job file")
        }
        let jobs = composition.jobs(file)
        return names.isEmpty ? jobs : jobs.filter { wanted.contains($0.id) }
    }

    /// Refuses a trace with assumptions about a job that does not exist, most likely a misspelt
    /// one.
    private func check(_ trace: ConditionTrace?, _ file: JobFile) throws(CommandFailure) {
        let ids = file.jobs.map(\.id)
        guard let unknown = trace?.supposedJobs.filter({ !ids.contains($0) }).min() else { return }
        let suggestion = didYouMean(unknown.rawValue, among: ids.map(\.rawValue))
        throw CommandFailure(
            .usage,
            "the trace supposes something of `\(unknown)`, which is no job of the job file"
                + suggestion)
    }

    /// Returns the median length of the last attempts of the job's last 20 successful runs,
    /// searched in its last 200 runs; `nil` if there are none.
    private func usualAttempt(
        of job: JobID, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> Duration? {
        let spans = try askingStore { () throws(RunStoreError) -> [Duration] in
            var spans: [Duration] = []
            for run in try history.runs(of: job, limit: 200)
            where run.state == .succeeded && spans.count < 20 {
                guard let attempt = try history.attempts(of: run.id).last,
                    let finished = attempt.finishedAt
                else { continue }
                spans.append(max(finished - attempt.startedAt, .zero))
            }
            return spans
        }
        return spans.isEmpty ? nil : spans.sorted()[(spans.count - 1) / 2]
    }

    // MARK: Options

    private func from(_ trace: ConditionTrace?) throws(CommandFailure) -> Instant {
        try composition.time("from") ?? trace?.entries.first?.at ?? composition.clock.now
    }

    func days() throws(CommandFailure) -> Int64 {
        guard let text = composition.arguments["days"] else { return 7 }
        guard let days = Int64(text), (1...3660).contains(days) else {
            throw CommandFailure(.usage, "--days is a number from 1 to 3660, got `\(text)`")
        }
        return days
    }

    /// Returns 30 s, or half of the time until the attempt's warning if that is less.
    static func standardAttempt(of job: Job) -> Duration {
        min(.seconds(30), (job.timeout - job.warning) / 2)
    }

    func attempt() throws(CommandFailure) -> Duration? {
        guard let text = composition.arguments["attempt"] else { return nil }
        guard let span = Duration(text: text), span > .zero, span <= .seconds(366 * 86_400) else {
            throw CommandFailure(.usage, "--attempt is a span such as `30s` or `5m`, got `\(text)`")
        }
        return span
    }

    private func trace() throws(CommandFailure) -> ConditionTrace? {
        guard let path = composition.arguments["trace"] else { return nil }
        do throws(TraceFault) {
            return try TraceReader().read(fileAt: path)
        } catch {
            throw CommandFailure(.usage, error.description)
        }
    }
}

extension Conditions {
    /// Conditions under which every constraint holds.
    static var allowing: Conditions {
        let source = "no trace"
        return Conditions(
            connected: Reading(true, source: source), metered: Reading(false, source: source),
            roaming: Reading(false, source: source), externalPower: Reading(true, source: source),
            battery: Reading(.absent, source: source), lowPower: Reading(false, source: source),
            idle: Reading(true, source: source),
            storageFreeBytes: Reading(.max, source: source),
            pressurePercent: Reading(0, source: source))
    }
}
