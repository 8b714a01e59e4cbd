import ClarityScheduler
import Platform
import Synchronization

/// How far the attempts of this process are, until the server is told.
final class ProgressBoard: Sendable {
    private struct State {
        var attempts: [RunID: (number: Int, progress: AttemptProgress)] = [:]
        var isNews = false
        /// Whether an attempt has ended of which others still see how far it was.
        var hasEnded = false
        var toldAt: Duration?
    }

    private let state = Mutex(State())

    func note(_ progress: AttemptProgress, of run: RunID, _ number: Int) {
        state.withLock { state in
            state.attempts[run] = (number, progress)
            state.isNews = true
        }
    }

    /// Forgets an attempt that has ended.
    func remove(_ run: RunID) {
        state.withLock { state in
            guard state.attempts.removeValue(forKey: run) != nil else { return }
            (state.isNews, state.hasEnded) = (true, true)
        }
    }

    /// Passes a line for each attempt to `write` if one has ended since it was last written, or has
    /// gone on and that is two seconds ago.
    func tell<Fault: Error>(
        at now: Duration = SystemClock().elapsed, _ write: (String) throws(Fault) -> Void
    ) {
        let text: String? = state.withLock { state in
            let isDue = state.toldAt.map { now - $0 >= .seconds(2) } ?? true
            guard state.isNews, isDue || state.hasEnded else { return nil }
            (state.isNews, state.hasEnded, state.toldAt) = (false, false, now)
            return state.attempts.sorted { $0.key < $1.key }.map { run, attempt in
                "\(run) \(attempt.number) \(attempt.progress.text)"
            }.joined()
        }
        guard let text else { return }
        do throws(Fault) {
            try write(text)
        } catch {
            // What keeps it from being written fails the next decision, which says so.
            state.withLock { $0.isNews = true }
        }
    }
}
