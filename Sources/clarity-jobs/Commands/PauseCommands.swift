import ClarityHost
import ClarityScheduler
import Platform
import Reports

/// `pause` and `resume`: stop jobs from starting for a while, and let them continue.
struct PauseCommands {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

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
