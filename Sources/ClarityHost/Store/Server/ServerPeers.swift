import ClarityScheduler
import Database

/// The processes, on any machine, that share one shard of a history in PostgreSQL.
///
/// A process holds an advisory lock with the key of its name for as long as its `LeaseSession`
/// lasts. What an attempt of this machine has locked here is held besides.
final class ServerPeers: HistoryPeers {
    let ownOwner: String?
    private let attemptLocks: AttemptLocks?
    /// As `ServerHistory.owner` begins.
    var machine: String? { ownOwner?.split(separator: "/").first.map(String.init) }
    /// How often another process was found to have written.
    private var foreignWrites: Int64 = 0
    /// The version of the shard that this process has seen or written.
    private var known: Int64?

    init(_ ownOwner: String?, _ attemptLocks: AttemptLocks? = nil) {
        (self.ownOwner, self.attemptLocks) = (ownOwner, attemptLocks)
    }

    func version(_ connection: Connection) throws(DatabaseError) -> Int64 {
        // The own lock is free if the session that held it has ended; others may have taken over.
        let state = try connection.first(
            """
            SELECT version, pg_try_advisory_xact_lock_shared(CAST(? AS bigint)) FROM shard_state
            """, .integer(ownOwner.map { ServerPeers.lockKey($0) })
        ) { (version: $0.integer(0), isLost: $0.integer(1) == 1) }
        guard let state else {
            throw DatabaseError(
                kind: .damage, message: "the shard does not exist", code: "PostgreSQL")
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
        let others = Set(attempts.map(\.owner)).subtracting([ownOwner].compactMap(\.self)).sorted()
        var gone: Set<String> = []
        if !others.isEmpty {
            // A lock that is free stays so until the end of the transaction, which shares what it
            // gets.
            let keys = others.map { "\(ServerPeers.lockKey($0))" }.joined(separator: ",")
            let areGone = try connection.all(
                """
                SELECT pg_try_advisory_xact_lock_shared(key)
                FROM unnest(CAST(string_to_array(?, ',') AS bigint[])) AS key
                """, .text(keys)
            ) { $0.integer(0) == 1 }
            gone = Set(zip(others, areGone).filter(\.1).map(\.0))
        }
        return Dictionary(
            uniqueKeysWithValues: attempts.map { attempt in
                let state: Lease.State =
                    attempt.owner == ownOwner
                    ? .mine
                    : gone.contains(attempt.owner)
                        ? attemptLocks?.state(of: attempt) ?? .lapsed : .held
                return (attempt.run, state)
            })
    }

    func noteWrite(_ connection: Connection) throws(DatabaseError) {
        // Nobody else has written since `version`, in the same transaction.
        try connection.run("UPDATE shard_state SET version = version + 1")
        known = known.map { $0 + 1 }
    }

    static let sessionHasEnded = DatabaseError(
        kind: .gone, message: "the session that holds this process's leases has ended",
        code: "PostgreSQL")

    /// The key of an owner's lock.
    static func lockKey(_ owner: String) -> Int64 { ServerConnection.lockKey(of: "owner \(owner)") }
}
