import ClarityScheduler
import Synchronization

/// The load of the machine without the load of this program's own attempts.
///
/// The two cannot be separated, so while attempts run, the load from before them counts. Otherwise
/// a job that wants an idle machine would stop itself.
final class RestingLoad: Sendable {
    /// How old the load from before may be when attempts are first seen.
    static let longestRest: Duration = .seconds(5 * 60)

    private struct State {
        var atRest: (reading: Conditions.Reading<Bool>, at: Instant)?
        var isAtRest = true
    }

    private let state = Mutex(State())

    /// Returns whether the machine is idle, from the current measurement and the number of attempts
    /// that this process runs.
    func idle(
        measured: Conditions.Reading<Bool>, attempts: Int, at now: Instant
    ) -> Conditions.Reading<Bool> {
        state.withLock { state in
            guard attempts > 0 else {
                var reading = measured
                reading.at = now
                state = State(atRest: (reading, now))
                return measured
            }
            if state.isAtRest {
                state.isAtRest = false
                // A load from hours before says nothing about the machine now.
                if let last = state.atRest,
                    last.at > now || now - last.at > RestingLoad.longestRest
                {
                    state.atRest = nil
                }
            }
            return state.atRest?.reading ?? measured
        }
    }
}
