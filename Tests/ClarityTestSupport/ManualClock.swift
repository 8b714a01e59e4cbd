public import ClarityScheduler
import Synchronization

/// A wall clock that moves only when a test moves it or a task sleeps on it.
///
/// `sleep` advances the clock by the whole span and returns at once, so a test sees every wait and
/// spends none. The sleep of a cancelled task is recorded, but moves nothing.
public final class ManualClock: WallClock {
    private struct State {
        var now: Instant
        var elapsed = Duration.zero
        var sleeps: [Duration] = []
    }

    private let state: Mutex<State>

    /// Creates a clock that shows `now`.
    public init(_ now: Instant = Instant(secondsSince1970: 1_795_219_200)) {
        state = Mutex(State(now: now))
    }

    public var now: Instant { state.withLock { $0.now } }

    public var elapsed: Duration { state.withLock { $0.elapsed } }

    /// The spans of all sleeps, in order.
    public var sleeps: [Duration] { state.withLock { $0.sleeps } }

    /// Sets the clock to `instant`, which may be earlier or later.
    public func set(_ instant: Instant) { state.withLock { $0.now = instant } }

    /// Advances the clock by `span`.
    public func advance(by span: Duration) {
        state.withLock { state in
            state.now = state.now + span
            state.elapsed += span
        }
    }

    public func sleep(for span: Duration) async {
        let isCancelled = Task.isCancelled
        state.withLock { state in
            state.sleeps.append(span)
            if !isCancelled {
                state.now = state.now + span
                state.elapsed += span
            }
        }
    }
}
