import ClarityScheduler
import Synchronization

/// The load of the machine without that of this program's own attempts.
///
/// Nobody can take the one from the other, so that while attempts run the load before them counts:
/// else a job that wants an idle machine would stop itself.
final class RestingLoad: Sendable {
    /// How old a load may be when the attempts are first seen that it is to stand for.
    static let longestRest: Duration = .seconds(5 * 60)

    private struct State {
        var atRest: (reading: Conditions.Reading<Bool>, at: Instant)?
        var isAtRest = true
    }

    private let state = Mutex(State())

    /// Whether the machine is idle, from what is measured while so many attempts of this process run.
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
                // What was measured hours before says nothing of the machine now.
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
