import ClarityScheduler
import Database

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
