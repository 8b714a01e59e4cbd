import ClarityHost
import HealthStore
import ClarityScheduler
import Platform

/// `run [JOB...] [--due] [--force] [--ask] [--set NAME=VALUE]`: runs jobs now, in the given order, or everything that is
/// due.
struct RunCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        let isDue = arguments.has("due")
        guard isDue == arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`run` wants either jobs or --due")
        }
        guard !isDue || !arguments.has("force") else {
            throw CommandFailure(.usage, "--force goes with named jobs only")
        }
        guard !isDue || arguments.all("set").isEmpty else {
            throw CommandFailure(.usage, "--set goes with named jobs only")
        }
        guard !arguments.has("ask") || !isDue && !arguments.has("force") else {
            throw CommandFailure(.usage, "--ask goes with named jobs only, and not with --force")
        }
        if isDue, let state = QuietSpell.state(composition) {
            endServiceNotices(in: state)
            return .done
        }
        let stamps = FileStamps()
        let file = try isDue ? composition.jobFileToRun() : composition.jobFile()
        _ = try composition.ownState(file)
        let jobs = try requestedJobs(file)
        let parameters = try isDue ? [:] : composition.parameters(of: jobs, in: file)
        if arguments.has("ask") { return try ask(for: jobs, parameters, of: file) }
        if isDue { composition.reportHeld(file) }
        let spell = isDue ? QuietSpell(composition, file, stamps) : nil
        let status = try carryOut(isDue ? nil : jobs, parameters, of: file, spell)
        composition.keepValid(file)
        return isDue && !file.heldFaults.isEmpty ? status.joined(with: .faultyInput) : status
    }

    /// Runs `jobs`, or everything that is due if it is `nil`.
    private func carryOut(
        _ jobs: [JobID]?, _ parameters: [String: String], of file: JobFile, _ spell: QuietSpell?
    ) throws(CommandFailure) -> ExitStatus {
        let isDue = jobs == nil
        let reporter = RunReporter(
            console: composition.console,
            detail: isDue && !composition.console.isVerbose ? .failures : .everything)
        var asking: HostConditions?
        defer {
            asking?.end()
            if isDue { composition.writeMetrics(file) }
        }
        if isDue, let quiet = quietIfNothingStarts(file, &asking) {
            if quiet.isForClockAlone {
                spell?.leave(at: quiet.at, wakeAfter: quiet.plan.wakeAfter)
            }
            endServiceNotices(in: composition.statePath(file))
            return report(quiet.plan.waiting, to: reporter, isDue: isDue)
        }
        let monitor = asking ?? composition.conditions(file)
        asking = monitor
        let status = try runBlocking { events throws(CommandFailure) in
            try await composition.console.writingAside { () async throws(CommandFailure) in
                try await run(
                    jobs, parameters, of: file, monitor, on: events, reporter: reporter)
            }
        }
        if isDue { endServiceNotices(in: composition.statePath(file)) }
        return status
    }

    /// Ends the notice that a service of `run --due` failed, and after a day that of a loop: this
    /// command starts the jobs in its place.
    private func endServiceNotices(in state: String) {
        FailedServices(stateDirectory: state).remove { entry in
            entry.unit.hasPrefix("clarity-jobs-run")
                || composition.clock.now - entry.since >= Notice.toldSilence
        }
    }

    /// Records that runs are wanted, which a loop or the next `run --due` starts.
    private func ask(
        for jobs: [JobID], _ parameters: [String: String], of file: JobFile
    ) throws(CommandFailure) -> ExitStatus {
        let answer = try composition.submit(
            [.requested(jobs, isForced: false, parameters: parameters)], file)
        let runs = jobs.compactMap { job in
            answer.ledger.openRuns(of: job).compactMap { answer.ledger.open[$0] }.last
        }
        let starter = try composition.starter(file)
        composition.console.results(
            runs.map { ListedRun(run: $0) },
            lines: composition.console.isQuiet
                ? []
                : runs.map { run in
                    guard run.state != .running else {
                        let holder = run.lease.map { " (\($0.holder))" } ?? ""
                        return "run \(run.id) of \(run.job) is running already\(holder): no new run"
                    }
                    let pause = answer.ledger.jobs[run.job]?.pause == nil ? "" : ", which is paused"
                    return "run \(run.id) of \(run.job)\(pause): \(starter) once it may"
                })
        return .done
    }

    /// A decision that changes and starts nothing.
    private struct Quiet {
        var plan: Plan
        var at: Instant
        /// Whether no run is open and no window of `flex`, so that nothing but the clock makes a run
        /// start until something changes.
        var isForClockAlone: Bool
    }

    /// Decides without changing anything, and returns the decision if there is nothing to start, to
    /// record or to ask.
    ///
    /// This is the case for most of cron's calls, which then need neither an engine nor a lock, and
    /// no system service unless the job that waits depends on one. The result is `nil` if there is
    /// something to do, or if the history cannot be read, or not yet; the call that follows deals
    /// with it. `asking` becomes the monitor that asked the services, if they were asked.
    private func quietIfNothingStarts(
        _ file: JobFile, _ asking: inout HostConditions?
    ) -> Quiet? {
        // By the declared ids: whether a job depends on a service is the same for all accounts, or
        // else the services are asked once more than necessary.
        let dependent = Set(file.distinctJobs.filter(\.dependsOnServices).map(\.id.declared))
        let quick = composition.conditions(file, asksServices: false)
        do throws(RunStoreError) {
            let history = try RunHistory(
                of: file, inDirectory: composition.statePath(file),
                environment: composition.environment)
            let planner = composition.planner(file, owner: "", scope: .due)
            let ledger = try history.ledger(
                recalling: planner.recall(at: composition.clock.now))
            let first = decide(planner, file, ledger, quick)
            if let first,
                !first.plan.waiting.contains(where: { dependent.contains($0.job.declared) })
            {
                return first
            }
            let monitor = composition.conditions(file)
            asking = monitor
            return decide(planner, file, ledger, monitor)
        } catch {
            return nil
        }
    }

    private func decide(
        _ planner: Planner, _ file: JobFile, _ ledger: Ledger, _ monitor: HostConditions
    ) -> Quiet? {
        var planner = planner
        let moment = composition.clock.moment
        let plan = planner.handle(
            [.tick] + composition.sourcesSeen(file, monitor), at: moment,
            conditions: monitor.conditions(of: ledger.accountsInNeed), ledger: ledger)
        guard plan.changes.isEmpty, plan.acts.isEmpty, plan.asks.isEmpty else { return nil }
        return Quiet(
            plan: plan, at: moment.wall, isForClockAlone: ledger.open.isEmpty && !plan.hasOpenWindow
        )
    }

    /// Runs `jobs`, or everything that is due now if it is `nil`.
    private func run(
        _ jobs: [JobID]?, _ parameters: [String: String], of file: JobFile,
        _ monitor: HostConditions, on events: EventThread, reporter: RunReporter
    ) async throws(CommandFailure) -> ExitStatus {
        let isDue = jobs == nil
        let store = try composition.store(file)
        defer { store.end() }
        let signals = TerminationSignals(on: events)
        let steering = LoopSteering()
        var scheduler = try composition.scheduler(
            { file }, scope: isDue ? .due : .requested, on: store, monitor, steering, on: events,
            observer: reporter.observe, progress: reporter.display.show,
            output: reporter.showsOutput ? reporter.hear : nil)
        let stopping = Task(executorPreference: events) {
            for await event in signals.events { steering.post(event) }
        }
        defer {
            stopping.cancel()
            scheduler.end()
        }
        let first: [Planner.Event] =
            jobs.map {
                let isForced = composition.arguments.has("force")
                return [.requested($0, isForced: isForced, parameters: parameters)]
            }
            ?? composition.sourcesSeen(file, monitor)
        let result: Scheduler.Report
        do throws(RunStoreError) {
            result = try await scheduler.run(until: .idle, first: first)
        } catch {
            throw CommandFailure(error)
        }
        reporter.display.writing {}
        try steering.check()
        let status = report(result.waiting, to: reporter, isDue: isDue)
        if !isDue { try sayWhoStarts(result.waiting, file) }
        if let signal = signals.received {
            signals.sayInterrupted(
                file.enabledJobs.filter { jobs?.contains($0.id) ?? true }, composition.console)
            return signal
        }
        return reporter.sayLost(of: result.runs) ? status.joined(with: .deferred) : status
    }

    /// Reports the runs that ended and those that wait, and returns the exit status.
    private func report(
        _ waiting: [Plan.Waiting], to reporter: RunReporter, isDue: Bool
    ) -> ExitStatus {
        reporter.summarize()
        // A pause is intended, so cron need not report it every time.
        let waits = waiting.filter { !isDue || !$0.isPaused }
        for waiting in waits { reporter.say(waiting) }
        return waits.isEmpty ? reporter.status : reporter.status.joined(with: .deferred)
    }

    /// Says who starts the runs that wait.
    private func sayWhoStarts(
        _ waiting: [Plan.Waiting], _ file: JobFile
    ) throws(CommandFailure) {
        // A job that is running got no other run.
        let runs = waiting.filter { !$0.isForItself }.compactMap(\.run)
        guard let first = runs.first else { return }
        let isOne = runs.count == 1
        let names = isOne ? "run \(first) stays" : "\(runs.count) runs stay"
        composition.console.note(
            "\(names): \(try composition.starter(file, isOne: isOne)) once \(isOne ? "it" : "each") may; "
                + "`clarity-jobs cancel \(runs.map { "\($0)" }.joined(separator: " "))` \(isOne ? "drops it" : "drops them")"
        )
    }

    private func requestedJobs(_ file: JobFile) throws(CommandFailure) -> [JobID] {
        let names = composition.arguments.operands
        // No job's id has a `=`.
        if let value = names.first(where: { $0.dropFirst().contains("=") }) {
            throw CommandFailure(
                .usage, "no job `\(value)` in the job file; did you mean `--set \(value)`?")
        }
        let ids = try composition.jobs(named: names, in: file)
        for id in ids { try file.requireEnabled(id) }
        return ids
    }
}

extension Composition {
    /// Who starts what waits, such as `the loop starts it`.
    fileprivate func starter(
        _ file: JobFile, isOne: Bool = true
    ) throws(CommandFailure) -> String {
        let history = try history(file)
        let loops = try askingStore { () throws(RunStoreError) in try history.loops() }
        let start = isOne ? "starts it" : "starts them"
        return loops.isEmpty ? "no loop runs, the next `run --due` \(start)" : "the loop \(start)"
    }
}

extension Plan.Waiting {
    /// Whether it only waits for a running run of its own job, and got no run.
    var isForItself: Bool { deferrals.allSatisfy { $0.subject == "overlap" && $0.group == nil } }
}

extension JobFile {
    /// Checks that a job is planned.
    ///
    /// - Throws: `CommandFailure` if it is disabled (usage), or held for its fault (faulty input).
    func requireEnabled(_ job: JobID) throws(CommandFailure) {
        guard disabled.contains(job) else { return }
        if let fault = held[job] { throw CommandFailure(.faultyInput, text: fault) }
        throw CommandFailure(.usage, "job `\(job)` has `enabled: false` in the job file")
    }
}

extension Composition {
    /// Returns the values that `--set` gives to parameters, which each of the jobs has and needs.
    func parameters(
        of jobs: [JobID], in file: JobFile
    ) throws(CommandFailure) -> [String: String] {
        var given: [String: String] = [:]
        for word in arguments.all("set") {
            guard let equals = word.firstIndex(of: "="), equals != word.startIndex else {
                throw CommandFailure(.usage, "--set wants NAME=VALUE, got `\(word)`")
            }
            let name = String(word[..<equals])
            guard given[name] == nil else {
                throw CommandFailure(.usage, "--set gives `\(name)` two values")
            }
            given[name] = String(word[word.index(after: equals)...])
        }
        for job in file.jobs where jobs.contains(job.id) {
            let text = job.options[Parameters.option] ?? ""
            let parameters = Parameters(optionText: text) ?? Parameters([])
            do throws(Parameters.Fault) {
                _ = try parameters.values(given)
            } catch {
                var failure = CommandFailure(.usage, "job `\(job.id)`: \(error.reason)")
                failure.lines += error.help(parameters)
                throw failure
            }
        }
        return given
    }

    /// Returns the job that a word on the command line names.
    func job(named name: String, in file: JobFile) throws(CommandFailure) -> Job {
        if let job = file.jobs.first(where: { $0.id.rawValue == name }) { return job }
        // With --account, the job's own name is enough.
        if file.account != nil,
            let job = file.jobs.first(where: { $0.id.declared.rawValue == name })
        {
            return job
        }
        // The pages and tokens name a job as it is: another one may not be theirs to run.
        if pagesViewer != nil { throw CommandFailure(.usage, "no job `\(name)` in the job file") }
        // A kind is accepted as a name if only one job has it.
        let ofKind = file.jobs.filter { $0.kind.rawValue == name }
        if ofKind.count == 1, let job = ofKind.first { return job }
        if let job = try job(withPart: name, in: file) { return job }
        let suggestion = didYouMean(name, among: file.jobs.map(\.id.rawValue))
        throw CommandFailure(.usage, "no job `\(name)` in the job file\(suggestion)")
    }

    /// Returns the only job whose id has this part, such as `upload` of `com.clarity.healthkit.upload`.
    ///
    /// - Throws: `CommandFailure` (usage) if several have it.
    func job(withPart part: String, in file: JobFile) throws(CommandFailure) -> Job? {
        let matches = file.jobs.filter { !part.isEmpty && $0.id.rawValue.contains(part) }
        guard matches.count > 1 else { return matches.first }
        let names = matches.prefix(4).map { "`\($0.id)`" }
        throw CommandFailure(
            .usage, "`\(part)` is part of \(matches.count) jobs, wanted one",
            "help: such as \(names.joined(separator: ", "))")
    }
}

extension Parameters.Fault {
    /// What to type instead, in at most one line.
    fileprivate func help(_ known: Parameters) -> [String] {
        let names = known.all.map { "`\($0.name)`" }
        return switch self {
        case .unknown:
            names.isEmpty
                ? ["help: declare it in the job file, below `params` of the job's `options`"]
                : ["help: it has \(names.joined(separator: ", "))"]
        case .missing(let parameter): ["help: --set \(parameter.name)=VALUE"]
        case .unfit: []
        }
    }
}

/// `cancel` and `retry`: act on runs, in whichever process they run.
struct RunRequests: ComposedCommand {
    let composition: Composition

    /// `cancel RUN|JOB...`: ends unfinished runs for good.
    func cancel() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        var runs: [RunID] = []
        for word in try words(of: "cancel") {
            if let run = try run(word, history) {
                guard !run.state.isFinished else {
                    throw CommandFailure(
                        .usage, "run \(run.id) has ended already: \(run.state.rawValue)")
                }
                runs.append(run.id)
            } else {
                // A job that left the job file may have an unfinished run still.
                let former = JobID(word).flatMap { ledger.openRuns(of: $0).isEmpty ? nil : $0 }
                let job =
                    composition.namedAccount == nil && former != nil
                    ? former : try composition.job(named: word, in: file).id
                let open = job.map { ledger.openRuns(of: $0) } ?? []
                guard !open.isEmpty else {
                    throw CommandFailure(
                        .usage, "job `\(job?.rawValue ?? word)` has no unfinished run")
                }
                runs += open
            }
        }
        let answer = try composition.submit(runs.map { .cancel($0) }, file)
        say(
            runs.map { run in
                // A run in another process is ended by that process.
                let word = answer.ledger.open[run].map { run in
                    "asked \(run.lease?.holder ?? "its scheduler") to end it"
                }
                return (run, word ?? "cancelled")
            })
        return .done
    }

    /// `retry RUN|JOB...`: repeats runs that failed, were cancelled or expired.
    func retry() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let history = try composition.history(file)
        var requests: [Planner.Event] = []
        for word in try words(of: "retry") {
            let found = try composition.run(named: word, in: file, history)
            guard file.jobs.contains(where: { $0.id == found.job }) else {
                throw CommandFailure(
                    .usage, "run \(found.id) is of job `\(found.job)`, which is not in the job file"
                )
            }
            guard found.state != .running, found.state != .succeeded else {
                throw CommandFailure(
                    .usage,
                    "run \(found.id) of `\(found.job)` \(found.state == .running ? "is" : "has") "
                        + found.state.rawValue,
                    "help: clarity-jobs run \(found.job)")
            }
            requests.append(
                found.state == .enqueued
                    ? .requested([found.job], isForced: false, parameters: found.parameters)
                    : .retry(found.id, of: found.job, parameters: found.parameters))
        }
        let answer = try composition.submit(requests, file)
        let expedited = answer.plan.changes.compactMap { change -> RunID? in
            if case .put(let run) = change, run.isExpedited { run.id } else { nil }
        }
        let starter = try composition.starter(file)
        say(expedited.map { ($0, "\(starter) once it may") })
        return .done
    }

    private func words(of command: String) throws(CommandFailure) -> [String] {
        let words = composition.arguments.operands
        guard !words.isEmpty else {
            throw CommandFailure(.usage, "`\(command)` wants runs or jobs")
        }
        return words
    }

    /// Returns the run with a number; `nil` if the word is not a number.
    private func run(
        _ word: String, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> Run? {
        guard let number = Int64(word) else { return nil }
        return try composition.run(numbered: number, in: history)
    }

    private func say(_ runs: [(id: RunID, words: String)]) {
        let isSilent = composition.console.form == .table && composition.console.isQuiet
        composition.console.results(
            runs.map { RequestedRun(run: $0.id, message: $0.words) },
            lines: isSilent ? [] : runs.map { "run \($0.id): \($0.words)" })
    }
}
