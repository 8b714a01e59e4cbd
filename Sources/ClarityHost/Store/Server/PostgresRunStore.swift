public import ClarityScheduler
public import Database

/// Stores runs in PostgreSQL, where any number of processes on any number of machines share them.
///
/// A decision is one transaction under the shard's lock, as it is one under the file's write lock in
/// `SQLiteRunStore`, and both read and write by the same statements.
public final class PostgresRunStore: RunStore {
    private let connection: ServerConnection
    private var shared: SharedLedger
    private let channel: String
    private let place: String
    private let session: LeaseSession
    /// Yields when another process has written, so that this one looks, and when the session that
    /// proves this process's leases has ended.
    public let changes: AsyncStream<Void>
    /// What this process's leases are held as.
    public let owner: String

    /// Connects to the shard of a server.
    ///
    /// - Parameters:
    ///   - owner: a name that no other process has or had.
    ///   - patience: how long the server may take to answer.
    /// - Throws: `RunStoreError` if the server cannot be reached, or has no such shard.
    public init(
        at address: ServerAddress, shard: Int64, owner: String, patience: Duration = .seconds(30)
    ) throws(RunStoreError) {
        self.owner = owner
        let place = "\(address)"
        let channel = "clarity_\(shard)"
        let (changes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (connection, shared, session) = try rethrowing(server: place) {
            let connection = try ServerConnection(
                address,
                owner: .init(column: ServerHistorySchema.ownerColumn, value: "\(shard)"),
                schema: ServerHistorySchema.name, patience: patience)
            try ServerHistory.requireVersion(connection)
            let session = try LeaseSession(at: address, owner: owner, channel: channel) {
                continuation.yield()
            }
            return (connection, SharedLedger(connection, ServerPeers(owner)), session)
        }
        (self.place, self.channel, self.changes) = (place, channel, changes)
    }

    deinit { session.end() }

    public func decide(_ decide: (Ledger) -> [LedgerChange]) throws(RunStoreError) {
        try rethrowing(server: place) {
            let written = try shared.decide(decide)
            guard written.isNews else { return }
            do throws(DatabaseError) {
                // After the commit: within the transaction it would make all commits wait for each
                // other.
                try connection.run("SELECT pg_notify(?, '')", .text(channel))
            } catch {
                // The decision stands. The others look by themselves before long, and what failed
                // here fails again at the next decision, which says so.
            }
        }
    }

    public func ledger() throws(RunStoreError) -> Ledger {
        try rethrowing(server: place) { try shared.ledger() }
    }

    /// Does nothing: the server tidies up by itself.
    public func tidy() {}
}

/// Runs `body`, and rethrows every failure of a server as a `RunStoreError`.
///
/// A damaged database on a server has no backup in a state directory that could be restored.
private func rethrowing<Result>(
    server place: String, _ body: () throws -> Result
) throws(RunStoreError) -> Result {
    try rethrowing(place) {
        do {
            return try body()
        } catch let error as DatabaseError where error.isDamage {
            throw RunStoreError.unusable("cannot use history `\(place)`: \(error)")
        }
    }
}

/// A history in PostgreSQL as a whole.
public enum ServerHistory {
    /// Makes the schema and the shards in an empty database, for a role that owns it.
    ///
    /// - Throws: `RunStoreError`; then nothing was made.
    public static func make(
        at address: ServerAddress, shards: Range<Int64>
    ) throws(RunStoreError) {
        try rethrowing(server: "\(address)") {
            let connection = try ServerConnection(address)
            try connection.transaction {
                try connection.execute(ServerHistorySchema.statements)
                for shard in shards {
                    try connection.execute(
                        """
                        SET LOCAL clarity.shard = '\(shard)';
                        INSERT INTO shard_state (id) VALUES (1);
                        """)
                }
            }
        }
    }

    /// - Throws: `RunStoreError.unusable` without the schema, `.newer` for one of a newer version.
    static func requireVersion(_ connection: ServerConnection) throws {
        let known = historyMigrations.steps.count
        let isThere = try connection.first(
            "SELECT to_regclass('\(ServerHistorySchema.name).schema_version') IS NOT NULL"
        ) { $0.integer(0) == 1 }
        guard isThere == true else {
            throw RunStoreError.unusable("there is no history in this database")
        }
        let found =
            try connection.first("SELECT version FROM schema_version") { $0.integer(0) } ?? 0
        if found > known { throw Migrations.Fault.newer(found: Int(found), known: known) }
        if found < known {
            throw RunStoreError.unusable("the history has version \(found), not \(known)")
        }
    }
}
