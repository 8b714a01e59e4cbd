import ClarityHost
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// `simulate [JOB...]`: shows the runs that there would be over a trace of conditions.
struct SimulateCommand: ComposedCommand {
    let composition: Composition

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
        for job in wanted { try file.requireEnabled(job) }
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

// `simulate --accounts N`: what so many accounts come to on this machine.
extension SimulateCommand {
    /// Simulates invented accounts with the planner and a store of its own, which it removes.
    func runAccounts() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.isEmpty, arguments["trace"] == nil, arguments["account"] == nil
        else {
            throw CommandFailure(
                .usage, "--accounts goes with no JOB, no --trace and no --account")
        }
        let text = arguments["accounts"] ?? ""
        guard let count = Int(text), (1...100_000).contains(count) else {
            throw CommandFailure(
                .usage, "--accounts is a number from 1 to 100000, got `\(text)`")
        }
        let (days, attempt) = (try days(), try attempt())
        let file = try composition.wholeJobFile()
        guard file.accounts != nil else {
            throw CommandFailure(.usage, "--accounts needs a job file with `accounts`")
        }
        let from = try composition.time("from") ?? composition.clock.now
        let maxParallel = file.mostAttempts
        let simulation = Simulation(
            JobSet(file.invented(count)), maxParallel: maxParallel,
            over: from..<from + .seconds(days * 86_400), conditions: .allowing,
            attempt: { attempt ?? SimulateCommand.standardAttempt(of: $0) },
            retention: file.retention)
        let start = processorTime()
        let (totals, bytes) = try withScratchStore { store throws(RunStoreError) in
            try simulation.totals(on: store, owner: store.leaseLock.owner)
        }
        let report = SimulatedAccounts(
            totals: totals, maxParallel: maxParallel, historyBytes: bytes,
            processorTime: processorTime() - start)
        composition.console.results(report.lines, report)
        return .done
    }

    /// Runs `body` with an empty store, and returns its result and the size of its history.
    private func withScratchStore<Result>(
        _ body: (SQLiteRunStore) throws(RunStoreError) -> Result
    ) throws(CommandFailure) -> (Result, bytes: Int64) {
        try composition.withTemporaryFolder("simulation") { folder throws(CommandFailure) in
            try askingStore { () throws(RunStoreError) in
                try SimulateCommand.run(body, in: folder)
            }
        }
    }

    private static func run<Result>(
        _ body: (SQLiteRunStore) throws(RunStoreError) -> Result, in folder: String
    ) throws(RunStoreError) -> (Result, bytes: Int64) {
        let directory: StateDirectory
        do throws(StateDirectoryError) {
            directory = try StateDirectory(path: folder)
        } catch {
            throw RunStoreError.unreachable(error.description)
        }
        let store = try SQLiteRunStore(
            in: directory, uniqueNumber: .random(in: .min ... .max), isDurable: false)
        let result = try body(store)
        store.tidy()
        var status = stat()
        stat("\(folder)/history.db", &status)
        return (result, Int64(status.st_size))
    }

    private func processorTime() -> Duration {
        // In microseconds, by POSIX.
        .milliseconds(Int64(clock()) / 1000)
    }
}

/// `trace record`: writes the machine's conditions as they change, for use by `simulate`.
struct TraceRecordCommand: ComposedCommand {
    let composition: Composition

    func run(on events: EventThread) async throws(CommandFailure) -> ExitStatus {
        let span = try span()
        let file = try composition.jobFile()
        let name = composition.arguments["file"].flatMap { $0 == "-" ? nil : $0 }
        let output = try output(name)
        let monitor = composition.conditions(file, asksServices: true)
        monitor.listen(on: events)
        let recorder = TraceRecorder(
            monitor: monitor, clock: EventClock(events))
        let signals = TerminationSignals(on: events)
        let recording = Task(executorPreference: events) { () -> SystemError? in
            do throws(SystemError) {
                try await recorder.run(for: span) { line throws(SystemError) in
                    try output.write(line)
                }
                return nil
            } catch {
                return error
            }
        }
        let ending = Task(executorPreference: events) {
            for await _ in signals.events { recording.cancel() }
        }
        defer { ending.cancel() }
        if let fault = await recording.value, fault.code != EPIPE {
            let place = name.map { "trace `\($0)`" } ?? "standard output"
            throw CommandFailure(.disk, "cannot write to \(place): \(fault.reason)")
        }
        return .done
    }

    private func span() throws(CommandFailure) -> Duration? {
        guard let text = composition.arguments["for"] else { return nil }
        guard let span = Duration(text: text), span > .zero else {
            throw CommandFailure(
                .usage, "--for is a span such as `90s`, `12h` or `7d`, got `\(text)`")
        }
        return span
    }

    private func output(_ name: String?) throws(CommandFailure) -> LineOutput {
        guard let name else { return .standard }
        do throws(SystemError) {
            return try LineOutput(
                makingFileAt: name, mayReplace: composition.arguments.has("force"))
        } catch {
            var failure = CommandFailure(
                error.isDisk || error.code == EROFS ? .disk : .usage,
                "cannot make trace `\(name)`: \(error.reason)")
            if error.code == EEXIST { failure.lines.append("help: --force replaces it") }
            throw failure
        }
    }
}
