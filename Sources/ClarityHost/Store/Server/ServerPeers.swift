import ClarityScheduler
import Database

/// The processes, on any machine, that share a history in PostgreSQL.
///
/// A process lives for as long as its `LeaseSession`, which has the mark of its name. What an attempt
/// of this machine has locked here is held besides.
final class ServerPeers: HistoryPeers {
    let ownOwner: String?
    private let attemptLocks: AttemptLocks?
    /// As `ServerHistory.owner` begins.
    var machine: String? { ownOwner?.split(separator: "/").first.map(String.init) }
    /// How often another process was found to have written.
    private var foreignWrites: Int64 = 0
    /// The version of the history that this process has seen or written.
    private var known: Int64?

    init(_ ownOwner: String?, _ attemptLocks: AttemptLocks? = nil) {
        (self.ownOwner, self.attemptLocks) = (ownOwner, attemptLocks)
    }

    func version(_ connection: Connection) throws(DatabaseError) -> Int64 {
        // If the own session has ended, others may have taken over.
        let state = try connection.first(
            """
            SELECT version, CAST(? AS text) NOT IN \(SessionMark.living) FROM shard_state
            """, .text(ownOwner.map { SessionMark.of($0) })
        ) { (version: $0.integer(0), isLost: ownOwner != nil && $0.integer(1) == 1) }
        guard let state else {
            throw DatabaseError(
                kind: .damage, message: "`shard_state` has no row", code: "PostgreSQL")
        }
        guard !state.isLost else { throw ServerPeers.sessionHasEnded }
        if state.version != known { foreignWrites += 1 }
        known = state.version
        return foreignWrites
    }

    func lastRun(_ connection: Connection) throws(DatabaseError) -> Int64 {
        // Pruning notes the highest number that there was.
        try connection.first(
            """
            SELECT max(coalesce((SELECT max(id) FROM runs), 0),
                coalesce((SELECT through_run FROM prune_mark), 0))
            """
        ) { $0.integer(0) } ?? 0
    }

    func states(
        of attempts: [HeldAttempt], _ connection: Connection
    ) throws(DatabaseError) -> [RunID: Lease.State] {
        let others = Set(attempts.map(\.owner)).subtracting([ownOwner].compactMap(\.self))
        var gone: Set<String> = []
        if !others.isEmpty {
            // A session that is gone never comes back.
            let living = Set(
                try connection.all("SELECT * FROM \(SessionMark.living) AS marks") { $0.text(0) })
            gone = others.filter { !living.contains(SessionMark.of($0)) }
        }
        return attempts.reduce(into: [:]) { states, attempt in
            states[attempt.run] =
                attempt.owner == ownOwner
                ? .mine
                : gone.contains(attempt.owner)
                    ? attemptLocks?.state(of: attempt) ?? .lapsed : .held
        }
    }

    func noteWrite(_ connection: Connection) throws(DatabaseError) {
        // Nobody else has written since `version`, in the same transaction.
        try connection.run("UPDATE shard_state SET version = version + 1")
        known = known.map { $0 + 1 }
    }

    static let sessionHasEnded = DatabaseError(
        kind: .gone, message: "the session that holds this process's leases has ended",
        code: "PostgreSQL")
}
