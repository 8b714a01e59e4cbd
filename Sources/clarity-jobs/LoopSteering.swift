import ClarityHost
import ClarityScheduler
import Synchronization

/// Passes what happens to a scheduler, and ends the pauses of a loop when it is to stop.
///
/// A loop on a server has one scheduler after the other: none while another loop decides or the
/// server does not answer.
final class LoopSteering: Sendable {
    private struct State {
        var scheduler: AsyncStream<Planner.Event>.Continuation?
        var pause: Task<Void, Never>?
        var isStopping = false
    }

    private let state = Mutex(State())

    /// Whether the loop is to stop.
    var isStopping: Bool { state.withLock(\.isStopping) }

    /// Passes an event to the scheduler, if there is one: the next one looks at everything anyway.
    func post(_ event: Planner.Event) { state.withLock { _ = $0.scheduler?.yield(event) } }

    /// Makes the scheduler drain, and those that come later.
    func stop() {
        state.withLock { state in
            state.isStopping = true
            state.scheduler?.yield(.drain)
            state.pause?.cancel()
        }
    }

    /// Returns the events for a new scheduler.
    func events() -> AsyncStream<Planner.Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Planner.Event.self)
        state.withLock { state in
            state.scheduler = continuation
            if state.isStopping { continuation.yield(.drain) }
        }
        return stream
    }

    /// Waits for `body`, which ends when its task is cancelled, or until the loop is to stop.
    func pause(on events: EventThread, _ body: @escaping @Sendable () async -> Void) async {
        let task = Task(executorPreference: events) { await body() }
        let isStopping = state.withLock { state in
            state.scheduler = nil
            state.pause = task
            return state.isStopping
        }
        if isStopping { task.cancel() }
        await task.value
        state.withLock { $0.pause = nil }
    }
}

/// A scheduler, and what makes it look.
struct SteeredScheduler {
    private var scheduler: Scheduler
    let jobs: JobSet
    private let happenings: AsyncStream<Planner.Event>
    private let feeders: [Task<Void, Never>]

    init(
        _ scheduler: Scheduler, _ jobs: JobSet, _ happenings: AsyncStream<Planner.Event>,
        _ feeders: [Task<Void, Never>]
    ) {
        (self.scheduler, self.jobs) = (scheduler, jobs)
        (self.happenings, self.feeders) = (happenings, feeders)
    }

    /// Decides until `end`, beginning with `first`.
    mutating func run(
        until end: Scheduler.End, first: [Planner.Event]
    ) async throws(RunStoreError) -> Scheduler.Report {
        try await scheduler.run(until: end, first: first, events: happenings)
    }

    /// Stops listening.
    func end() { feeders.forEach { $0.cancel() } }
}

extension Composition {
    /// Makes the scheduler look when another process has changed something, until the tasks are
    /// cancelled.
    ///
    /// - Parameter paths: other files whose changes concern it.
    func heed(
        _ history: SharedHistory, besides paths: [String] = [], _ steering: LoopSteering,
        on events: EventThread
    ) -> [Task<Void, Never>] {
        // Others announce a change by touching the lock that this process holds, or through the
        // server, and a login creates its mark.
        let files = FileWatch(paths: [history.leaseLock.path] + paths).changes(on: events)
        return [files, history.server?.changes].compactMap(\.self).map { changes in
            Task(executorPreference: events) {
                for await _ in changes { steering.post(.tick) }
            }
        }
    }
}
