import ClarityScheduler
import Synchronization

/// The load of the machine without that of this program's own attempts.
///
/// Nobody can take the one from the other, so that while attempts run the load before them counts:
/// else a job that wants an idle machine would stop itself.
final class RestingLoad: Sendable {
    private let atRest = Mutex<Conditions.Reading<Bool>?>(nil)

    /// Whether the machine is idle, from what is measured while so many attempts of this process run.
    func idle(
        measured: Conditions.Reading<Bool>, attempts: Int, at now: Instant
    ) -> Conditions.Reading<Bool> {
        atRest.withLock { atRest in
            guard attempts > 0 else {
                atRest = measured
                atRest?.at = now
                return measured
            }
            return atRest ?? measured
        }
    }
}
