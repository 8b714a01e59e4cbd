import ClarityScheduler
import Database

/// The processes, on any machine, that share one shard of a history in PostgreSQL.
///
/// A process holds an advisory lock with the key of its name for as long as its `LeaseSession`
/// lasts. Leases expire by the server's clock: machines' clocks may differ.
final class ServerPeers: HistoryPeers {
    let ownOwner: String?
    let clock = "server"
    /// As `ServerHistory.owner` begins.
    var machine: String? { ownOwner?.split(separator: "/").first.map(String.init) }
    /// The server's clock at the last look, in milliseconds since 1970.
    private var now: Int64 = 0
    /// How often another process was found to have written.
    private var foreignWrites: Int64 = 0
    /// The version of the shard that this process has seen or written.
    private var known: Int64?

    init(_ ownOwner: String?) { self.ownOwner = ownOwner }

    var nextExpiry: Int64 { now + Planner.leaseTerm.milliseconds }

    func version(_ connection: Connection) throws(DatabaseError) -> Int64 {
        // The own lock is free if the session that held it has ended; others may have taken over.
        let state = try connection.first(
            """
            SELECT version, (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                pg_try_advisory_xact_lock_shared(CAST(? AS bigint))
            FROM shard_state
            """, .integer(ownOwner.map { ServerPeers.lockKey($0) })
        ) { (version: $0.integer(0), now: $0.integer(1), isLost: $0.integer(2) == 1) }
        guard let state else {
            throw DatabaseError(
                kind: .damage, message: "the shard does not exist", code: "PostgreSQL")
        }
        guard !state.isLost else { throw ServerPeers.sessionHasEnded }
        now = state.now
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
        _ terms: [String: LedgerRows.LeaseTerms], _ connection: Connection
    ) throws(DatabaseError) -> [String: Lease.State] {
        var states: [String: Lease.State] = [:]
        if let ownOwner, terms[ownOwner] != nil { states[ownOwner] = .mine }
        let others = terms.keys.filter { $0 != ownOwner }
        guard !others.isEmpty else { return states }
        // A lock that is free stays so until the end of the transaction, which shares what it gets.
        let keys = others.map { "\(ServerPeers.lockKey($0))" }.joined(separator: ",")
        let areGone = try connection.all(
            """
            SELECT pg_try_advisory_xact_lock_shared(key)
            FROM unnest(CAST(string_to_array(?, ',') AS bigint[])) AS key
            """, .text(keys)
        ) { $0.integer(0) == 1 }
        for (owner, isGone) in zip(others, areGone) {
            let hasExpired = terms[owner].map { $0.expires <= now } ?? true
            states[owner] = isGone || hasExpired ? .lapsed : .held
        }
        return states
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
