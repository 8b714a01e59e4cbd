import Synchronization

/// Collects events from anywhere for one consumer, which takes all of them at once.
///
/// Taking all at once groups commits: the events that arrive while a decision is being written are
/// handled together in the next one.
final class Inbox: Sendable {
    private struct State {
        var events: [Planner.Event] = []
        /// Events for the next decision that do not wake the consumer.
        var left: [Planner.Event] = []
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

    /// Leaves an event to be taken together with the next one that wakes the consumer.
    func leave(_ event: Planner.Event) {
        state.withLock { state in
            // Only the latest progress of each attempt counts.
            if case .progressed(let run, at: _) = event {
                state.left.removeAll {
                    if case .progressed(run, at: _) = $0 { true } else { false }
                }
            }
            state.left.append(event)
        }
    }

    /// Waits until there is at least one event, then takes all; posts a tick after `span` without
    /// one.
    func take(within span: Duration?, of clock: any WallClock) async -> [Planner.Event] {
        guard let span else { return await take() }
        // The timer has a task group of its own: once another event has come, the timer must be
        // cancelled, and a group cannot cancel a single child.
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await clock.sleep(for: span)
                if !Task.isCancelled { self.post(.tick) }
            }
            defer { group.cancelAll() }
            return await take()
        }
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
            defer { (state.left, state.events) = ([], []) }
            return state.left + state.events
        }
    }
}
