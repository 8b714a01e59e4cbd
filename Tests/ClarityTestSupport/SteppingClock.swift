public import ClarityScheduler
import Synchronization

/// A clock that stands still until a test moves it. A task that sleeps on it waits for that.
public final class SteppingClock: WallClock {
    private struct Sleeper {
        var end: Duration
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var wall = Instant.noon
        var elapsed = Duration.zero
        var next = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        /// Resumed with `false` when a sleeper arrives, so that they check again.
        var watchers: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Mutex(State())

    /// Creates a clock that shows `Instant.noon`.
    public init() {}

    public var now: Instant { state.withLock { $0.wall } }
    public var elapsed: Duration { state.withLock { $0.elapsed } }

    public func sleep(for span: Duration) async {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isOver, watchers) = state.withLock { state in
                    if state.cancelled.contains(id) || span <= .zero {
                        return (true, [CheckedContinuation<Bool, Never>]())
                    }
                    state.sleepers[id] = Sleeper(
                        end: state.elapsed + span, continuation: continuation)
                    defer { state.watchers = [] }
                    return (false, state.watchers)
                }
                if isOver { continuation.resume() }
                watchers.forEach { $0.resume(returning: false) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.cancelled.insert(id)
                return state.sleepers.removeValue(forKey: id)
            }
            sleeper?.continuation.resume()
        }
    }

    /// Returns once a task sleeps until exactly `span` from now.
    public func waitForSleeper(until span: Duration) async {
        var isThere = false
        while !isThere {
            isThere = await withCheckedContinuation { answer in
                let found: Bool? = state.withLock { state in
                    if state.sleepers.values.contains(where: { $0.end == state.elapsed + span }) {
                        return true
                    }
                    state.watchers.append(answer)
                    return nil
                }
                if let found { answer.resume(returning: found) }
            }
        }
    }

    /// Moves the clock to the end of the next sleep, again and again, until the task is cancelled.
    /// A sleeper that plans again meanwhile and sleeps until another instant does not confuse it.
    public func passToEachSleeper() async {
        while !Task.isCancelled {
            let span = state.withLock { state in
                state.sleepers.values.map(\.end).min().map { $0 - state.elapsed }
            }
            if let span { advance(by: span) } else { await sleeperComes() }
        }
    }

    /// Returns once there is a sleeper, or when the task is cancelled.
    private func sleeperComes() async {
        await withTaskCancellationHandler {
            _ = await withCheckedContinuation { answer in
                let isOver = state.withLock { state in
                    guard state.sleepers.isEmpty, !Task.isCancelled else { return true }
                    state.watchers.append(answer)
                    return false
                }
                if isOver { answer.resume(returning: false) }
            }
        } onCancel: {
            let watchers = state.withLock { state in
                defer { state.watchers = [] }
                return state.watchers
            }
            watchers.forEach { $0.resume(returning: false) }
        }
    }

    /// Advances both clocks, and wakes the sleepers whose time has come.
    public func advance(by span: Duration) {
        let due = state.withLock { state in
            state.wall = state.wall + span
            state.elapsed += span
            let due = state.sleepers.filter { $0.value.end <= state.elapsed }
            due.keys.forEach { state.sleepers[$0] = nil }
            return due.values.map(\.continuation)
        }
        due.forEach { $0.resume() }
    }
}
