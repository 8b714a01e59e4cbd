import ClarityHost
import ClarityScheduler
import Synchronization

/// Passes what happens to the scheduler of a loop, and ends its pauses when the loop is to stop.
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
