import ClarityHost
import ClarityScheduler
import Platform
import Reports

/// `cancel` and `retry`: act on runs, in whichever process they run.
struct RunRequests {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

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
                let job = try composition.job(named: word, in: file).id
                let open = ledger.openRuns(of: job)
                guard !open.isEmpty else {
                    throw CommandFailure(.usage, "job `\(job)` has no unfinished run")
                }
                runs += open
            }
        }
        let answer = try composition.submit(runs.map { .cancel($0) }, file)
        say(
            runs.map { run in
                // A run in another process is ended by that process.
                let word = answer.ledger.open[run].map { run in
                    "asked \(run.lease?.owner ?? "its scheduler") to end it"
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
            let numbered = try run(word, history)
            let found = if let numbered { numbered } else { try last(of: word, file, history) }
            guard file.jobs.contains(where: { $0.id == found.job }) else {
                throw CommandFailure(
                    .usage, "run \(found.id) is of job `\(found.job)`, which is not in the job file"
                )
            }
            guard found.state != .running, found.state != .succeeded else {
                throw CommandFailure(
                    .usage, "run \(found.id) of `\(found.job)` is \(found.state.rawValue)",
                    "help: clarity-jobs run \(found.job)")
            }
            requests.append(
                found.state == .enqueued
                    ? .requested([found.job], isForced: false) : .retry(found.id, of: found.job))
        }
        let answer = try composition.submit(requests, file)
        let expedited = answer.plan.changes.compactMap { change -> RunID? in
            if case .put(let run) = change, run.isExpedited { run.id } else { nil }
        }
        say(expedited.map { ($0, "to be done at the next `run --due`, or by the loop") })
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

    private func last(
        of word: String, _ file: JobFile, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> Run {
        let job = try composition.job(named: word, in: file).id
        let runs: [Run]
        do throws(RunStoreError) {
            runs = try history.runs(of: job, limit: 1)
        } catch {
            throw CommandFailure(error)
        }
        guard let last = runs.first else {
            throw CommandFailure(.usage, "job `\(job)` has no run")
        }
        return last
    }

    private func say(_ runs: [(id: RunID, words: String)]) {
        let isSilent = composition.console.form == .table && composition.console.isQuiet
        composition.console.results(
            runs.map { RequestedRun(run: $0.id, message: $0.words) },
            lines: isSilent ? [] : runs.map { "run \($0.id): \($0.words)" })
    }
}
