import ClarityHost
import HealthStore
import ClarityScheduler
import Platform

/// `loop`: runs jobs as they fall due, until a signal tells it to drain.
struct LoopCommand: ComposedCommand {
    let composition: Composition

    func run(on events: EventThread) async throws(CommandFailure) -> ExitStatus {
        try await composition.console.writingAside { () async throws(CommandFailure) in
            try await decide(on: events)
        }
    }

    private func decide(on events: EventThread) async throws(CommandFailure) -> ExitStatus {
        let memory = AccountMemory()
        // Watched before it is read, so that no edit in between goes unnoticed.
        let edits = FileWatch(paths: [composition.foundJobFilePath]).changes(on: events)
        let file = try composition.jobFileToRun(remembering: memory)
        let reports = ServiceReports(composition.serviceManager, clock: composition.clock)
        let console = composition.console
        let signals = TerminationSignals(on: events)
        let monitor = composition.conditions(file)
        defer { monitor.end() }
        let metrics = MetricsWriter()
        metrics.note()
        let inForce = JobFileInForce(file)
        let steering = LoopSteering()
        let reported = ReportedRuns()
        let election = LeaderElection(
            composition, inForce, monitor, reports, steering, on: events
        ) { change in
            metrics.note()
            reports.note(change)
            // Standard error is the journal here. Standard output is for results.
            guard let run = reported.run(in: change), !LoopCommand.isIdle(run) else { return }
            console.note(console.stamp + RunReport.line(run, isWhole: console.isVerbose))
        }
        // Opened before anything is said, so that a history that cannot be used is all that is
        // said.
        var first = try election.open()
        composition.reportHeld(file)
        composition.keepValid(file)
        console.note(LoopCommand.greeting("loop over", file))
        let reloads = Reloads(
            composition, inForce, memory, monitor, reports, edits: edits, on: events
        ) {
            steering.post($0)
        }
        let clock = events.clockChanges()
        let zones = FileWatch(paths: composition.localZonePaths).changes(on: events)
        let feeders = [
            Task(executorPreference: events) {
                for await _ in signals.events {
                    reports.stopping()
                    steering.stop()
                }
            },
            Task(executorPreference: events) {
                for await _ in clock { steering.post(.happened(.clockChanged)) }
            },
            Task(executorPreference: events) {
                for await _ in zones { reloads.reload("the local time zone changed") }
            },
            Task(executorPreference: events) { [composition] in
                await metrics.run(composition, on: events) { reloads.file }
            },
            Task(executorPreference: events) { await reports.show(on: events) },
            Task(executorPreference: events) { await reports.watch(on: events) },
        ]
        defer {
            feeders.forEach { $0.cancel() }
            composition.writeMetrics(reloads.file)
        }
        // The election owns it from here on.
        try await election.run(first.take())
        try steering.check()
        signals.sayInterrupted(inForce.file.distinctJobs, console)
        return signals.received ?? .done
    }

    /// Returns whether a run is an upload or an import that found nothing new and refused nothing.
    ///
    /// Such a run would print a line every hour that nobody needs. The history has it.
    private static func isIdle(_ run: Run) -> Bool {
        [.bulkUpload, .importing].contains(run.kind) && run.state == .succeeded
            && [
                "samples_sent", "samples_queued", "metrics_queued", "samples_new", "metrics_new",
                "samples_rejected", "samples_set_aside", "samples_refused", "files_rejected",
            ].allSatisfy { run.tally[$0] == 0 }
    }

    /// Returns a greeting such as `clarity-jobs: loop over 5 jobs`.
    static func greeting(_ words: String, _ file: JobFile) -> String {
        let accounts = file.accounts.map { accounts in
            " of \(counted(accounts.count { $0.isEnabled }, "accounts"))"
        }
        let held = file.held.count + (file.accounts ?? []).count { $0.fault != nil }
        return "clarity-jobs: \(words) \(counted(file.groupedJobCount, "jobs"))\(accounts ?? "")"
            + (held > 0 ? ", \(held) held for a fault" : "")
    }
}

/// `pause` and `resume`: stop jobs from starting for a while, and let them continue.
struct PauseCommands: ComposedCommand {
    let composition: Composition

    /// `pause JOB...|--all [--until TIME | --for SPAN] [--reason TEXT]`.
    func pause() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let jobs = try jobs(file, of: "pause")
        let until = try until()
        let reason = composition.arguments["reason"] ?? ""
        let answer = try composition.submit([.pause(jobs, until: until, reason: reason)], file)
        show(jobs, answer.ledger)
        return .done
    }

    /// `resume JOB...|--all`.
    func resume() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let jobs = try jobs(file, of: "resume")
        let history = try composition.history(file)
        let before = try askingStore { () throws(RunStoreError) in try history.ledger() }
        let answer = try composition.submit([.resume(jobs)], file)
        show(jobs, answer.ledger, before)
        return .done
    }

    private func show(_ jobs: [JobID], _ ledger: Ledger, _ before: Ledger? = nil) {
        let pauses = jobs.map { ($0, ledger.jobs[$0]?.pause) }
        let console = composition.console
        guard console.form == .table else {
            return console.results(pauses.map(PausedJob.init))
        }
        guard !console.isQuiet else { return }
        for (job, pause) in pauses {
            let words = pause.map { pause in
                (pause.until.map { "paused until \($0)" } ?? "paused until it is resumed")
                    + (pause.reason.isEmpty ? "" : ": \(pause.reason)")
            }
            let wasPaused = before.map { $0.jobs[job]?.pause != nil } ?? true
            console.show("\(job): \(words ?? (wasPaused ? "resumed" : "was not paused"))")
        }
    }

    private func jobs(_ file: JobFile, of command: String) throws(CommandFailure) -> [JobID] {
        let arguments = composition.arguments
        guard arguments.has("all") == arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`\(command)` wants either jobs or --all")
        }
        guard !arguments.has("all") else { return file.jobs.map(\.id) }
        return try composition.jobs(named: arguments.operands, in: file)
    }

    private func until() throws(CommandFailure) -> Instant? {
        let arguments = composition.arguments
        guard arguments["until"] == nil || arguments["for"] == nil else {
            throw CommandFailure(.usage, "`pause` wants --until or --for, got both")
        }
        let now = composition.clock.moment.wall
        if let until = try composition.time("until", isAhead: true) {
            guard until > now else {
                throw CommandFailure(.usage, "--until \(until) is over, it is \(now)")
            }
            return until
        }
        guard let text = arguments["for"] else { return nil }
        guard let span = Duration(text: text), span > .zero, span <= .seconds(3660 * 86_400) else {
            throw CommandFailure(.usage, "--for is a span such as `90m` or `7d`, got `\(text)`")
        }
        return now + span
    }
}
