import Synchronization

/// Collects events from anywhere for one consumer, which takes all of them at once.
///
/// Taking all at once is what groups commits: whatever arrives while a decision is being written
/// down is decided together in the next.
final class Inbox: Sendable {
    private struct State {
        var events: [Planner.Event] = []
        var consumer: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func post(_ event: Planner.Event) {
        let consumer = state.withLock { state in
            state.events.append(event)
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume()
    }

    /// Waits until there is at least one event, then takes all.
    func take() async -> [Planner.Event] {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                precondition(state.consumer == nil, "an inbox has one consumer, got a second")
                if state.events.isEmpty { state.consumer = continuation }
                return !state.events.isEmpty
            }
            if isReady { continuation.resume() }
        }
        return state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }
}
