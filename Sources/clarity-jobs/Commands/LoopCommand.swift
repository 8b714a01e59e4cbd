import ClarityHost
import ClarityScheduler

/// `loop`: runs jobs as they fall due, until a signal drains it.
struct LoopCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() async throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let store = try composition.store(file)
        let planner = composition.planner(
            file, owner: store.leaseLock.owner, scope: .everything)
        let console = composition.console
        let signals = TerminationSignals()
        let scheduler = try composition.scheduler(planner, store, file) { change in
            // Standard error is the journal here; standard output belongs to results.
            guard case .put(let run) = change, run.attempts > 0, run.state != .running else {
                return
            }
            console.note(RunText.line(run))
        }
        console.note("clarity-jobs: loop over \(planner.jobs.count) jobs")
        let sources = FileWatch(paths: composition.sourcePaths(file))
        let (events, continuation) = AsyncStream.makeStream(of: Planner.Event.self)
        let feeders = [
            Task { for await event in signals.events { continuation.yield(event) } },
            Task {
                for await _ in sources.changes() { continuation.yield(.happened(.sourceChanged)) }
            },
        ]
        defer { feeders.forEach { $0.cancel() } }
        _ = try await SchedulerThread.run(scheduler, until: .drained, events: events)
        return signals.received ?? .done
    }
}
