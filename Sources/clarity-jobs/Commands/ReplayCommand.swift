import ClarityHost
import ClarityScheduler
import JSON

/// `explain --replay RUN`: makes each decision about a run again, with its recorded inputs.
struct ReplayCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run(_ word: String) throws(CommandFailure) -> ExitStatus {
        guard let number = Int64(word) else {
            throw CommandFailure(.usage, "--replay wants a run's number, got `\(word)`")
        }
        let file = try composition.jobFile()
        let history = try composition.history(file)
        let (run, decisions) = try askingStore { () throws(RunStoreError) in
            (try history.run(RunID(number)), try history.decisions(of: RunID(number)))
        }
        guard let run else { throw CommandFailure(.usage, "no run \(number) in the history") }
        guard !decisions.isEmpty else {
            throw CommandFailure(.usage, "the history keeps no decision about run \(number)")
        }
        let jobs = try jobs(of: decisions, file, history)
        let text = ReplayText(
            run: run,
            replays: decisions.map { decision in
                (decision, decision.replay { jobs[$0] })
            })
        composition.console.results(text.lines, text.object)
        return text.agrees ? .done : .failed
    }

    /// The jobs of each origin whose text is kept, or is that of the present job file.
    private func jobs(
        of decisions: [Decision], _ file: JobFile, _ history: borrowing RunHistory
    ) throws(CommandFailure) -> [String: JobSet] {
        let path = try composition.jobFilePath()
        var jobs: [String: JobSet] = [:]
        for origin in Set(decisions.flatMap(\.origins)) {
            if origin == file.origin {
                jobs[origin] = composition.jobSet(file)
                continue
            }
            let text = try askingStore { () throws(RunStoreError) in try history.origin(origin) }
            guard let text else { continue }
            do throws(JobFileFaults) {
                jobs[origin] = composition.jobSet(
                    try composition.jobFileReader.read(text, path: path))
            } catch {
                // What cannot be read any more, as after a change of versions, is as good as gone.
                continue
            }
        }
        return jobs
    }
}
