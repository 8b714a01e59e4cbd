import ClarityScheduler
import Synchronization

/// Finds the runs that are worth a line: each when an attempt of it has ended, or when it ends
/// without one.
///
/// A run that waits for its retry is also written when an occurrence is coalesced into it, which is
/// no news.
final class ReportedRuns: Sendable {
    /// The waiting runs as they were last written.
    private let waiting = Mutex<[RunID: Run]>([:])

    /// Returns the run that a change is news of; `nil` if there is none. Wants every change, in
    /// their order.
    func run(in change: LedgerChange) -> Run? {
        waiting.withLock { waiting in
            switch change {
            case .put(let run):
                waiting[run.id] = run.state == .enqueued && run.attempts > 0 ? run : nil
                return run.state.isFinished ? run : nil
            case .putAttempt(let attempt) where attempt.finishedAt != nil:
                // The run itself is written before its attempt.
                return waiting.removeValue(forKey: attempt.run)
            default: return nil
            }
        }
    }
}
