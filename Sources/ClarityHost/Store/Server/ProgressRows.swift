import ClarityScheduler
import Database
import Synchronization

/// How far the attempts of this process are, until its session tells the server.
final class ProgressBoard: Sendable {
    private struct State {
        var attempts: [RunID: (number: Int, progress: AttemptProgress)] = [:]
        var isNews = false
    }

    private let state = Mutex(State())

    func note(_ progress: AttemptProgress, of run: RunID, _ number: Int) {
        state.withLock {
            $0.attempts[run] = (number, progress); $0.isNews = true
        }
    }

    /// Forgets an attempt that has ended.
    func remove(_ run: RunID) {
        state.withLock { state in
            if state.attempts.removeValue(forKey: run) != nil { state.isNews = true }
        }
    }

    /// Returns a line for each attempt if one has changed since the last call.
    func news() -> String? {
        state.withLock { state in
            guard state.isNews else { return nil }
            state.isNews = false
            return state.attempts.sorted { $0.key < $1.key }.map { run, attempt in
                "\(run) \(attempt.number) \(attempt.progress.text)"
            }.joined()
        }
    }
}

/// The rows of `progress`: one for each process, which its own session writes, so that nobody waits
/// for anybody.
struct ProgressRows {
    private static let table = "\(ServerHistorySchema.name).progress"

    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// Writes how far the attempts of a process are. The commit waits for no disk: what a crash of
    /// the server takes is of attempts that end with it.
    func write(_ text: String, of owner: String) throws(DatabaseError) {
        try connection.run(
            """
            INSERT INTO \(ProgressRows.table) (owner, mark, attempts)
            SELECT ?, ?, ? FROM set_config('synchronous_commit', 'off', true)
            ON CONFLICT (owner) DO UPDATE SET attempts = excluded.attempts
            """, .text(owner), .text(SessionMark.of(owner)), .text(text))
    }

    /// Removes the row of a process, and those of processes that are gone.
    func remove(of owner: String) throws(DatabaseError) {
        try connection.run(
            "DELETE FROM \(ProgressRows.table) WHERE owner = ? OR mark NOT IN \(SessionMark.living)",
            .text(owner))
    }

    /// Returns how far an attempt is; `nil` if its process has not said.
    func progress(of run: RunID, _ number: Int) throws(DatabaseError) -> AttemptProgress? {
        let start = "\(run) \(number) "
        return try connection.all("SELECT attempts FROM progress") { $0.text(0) }
            .lazy.flatMap { $0.split(separator: "\n") }.first { $0.hasPrefix(start) }
            .flatMap { AttemptProgress(text: String($0.dropFirst(start.count))) }
    }
}
