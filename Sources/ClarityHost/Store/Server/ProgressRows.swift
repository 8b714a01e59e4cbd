import ClarityScheduler
import Database
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
    func tell(
        at now: Duration = SystemClock().elapsed, _ write: (String) throws(DatabaseError) -> Void
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
        do throws(DatabaseError) {
            try write(text)
        } catch {
            // What keeps it from being written fails the next decision, which says so.
            state.withLock { $0.isNews = true }
        }
    }
}

/// The rows of `progress`, one for each loop. Only the loop itself writes its row, so that nobody
/// waits for anybody.
struct ProgressRows {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// Writes how far the attempts of a loop are. The commit waits for no disk: what a crash of the
    /// server takes is of attempts that end with it.
    func write(_ text: String, of owner: String) throws(DatabaseError) {
        try connection.run(
            """
            INSERT INTO progress (owner, mark, attempts)
            SELECT ?, ?, ? FROM set_config('synchronous_commit', 'off', true)
            ON CONFLICT (owner) DO UPDATE SET attempts = excluded.attempts
            """, .text(owner), .text(SessionMark.of(owner)), .text(text))
    }

    /// Returns how far an attempt is, as the loop says that runs it; `nil` if it has not said.
    func progress(of run: RunID, _ number: Int) throws(DatabaseError) -> AttemptProgress? {
        let start = "\(run) \(number) "
        let lines = try connection.first(
            """
            SELECT progress.attempts FROM progress JOIN runs ON lease_owner = owner
            WHERE id = ? AND mark IN \(SessionMark.living)
            """, .integer(run.rawValue)
        ) { $0.text(0) }
        return lines?.split(separator: "\n").first { $0.hasPrefix(start) }
            .flatMap { AttemptProgress(text: String($0.dropFirst(start.count))) }
    }
}
