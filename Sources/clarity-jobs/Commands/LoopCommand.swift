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
            guard case .put(let run) = change, run.state != .running,
                run.state.isFinished || run.attempts > 0
            else { return }
            console.note(RunText.line(run))
        }
        console.note(LoopCommand.greeting("loop over", file))
        let (events, continuation) = AsyncStream.makeStream(of: Planner.Event.self)
        let reloads = Reloads(composition, file) { continuation.yield($0) }
        let feeders = [
            Task { for await event in signals.events { continuation.yield(event) } },
            // Other processes tell of what they changed by touching the lock that this one holds.
            watch([store.leaseLock.path]) { continuation.yield(.tick) },
            watch(composition.localZonePaths) { reloads.reload("the local time zone changed") },
        ]
        defer { feeders.forEach { $0.cancel() } }
        _ = try await SchedulerThread.run(scheduler, until: .drained, events: events)
        return signals.received ?? .done
    }

    /// `clarity-jobs: loop over 5 jobs`.
    static func greeting(_ words: String, _ file: JobFile) -> String {
        let count = file.enabledJobs.count
        return "clarity-jobs: \(words) \(count) \(count == 1 ? "job" : "jobs")"
    }

    private func watch(_ paths: [String], _ act: @escaping @Sendable () -> Void) -> Task<
        Void, Never
    > {
        let changes = FileWatch(paths: paths).changes()
        return Task { for await _ in changes { act() } }
    }
}
