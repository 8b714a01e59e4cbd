public import ClarityScheduler
public import Database
import Glibc

/// A history in PostgreSQL as a whole.
public enum ServerHistory {
    /// The schema that has its tables.
    public static var schema: ServerSchema { ServerHistorySchema.schema }

    /// What the server's list of sessions names a loop, before its owner's name.
    static let loopMark = "clarity-jobs loop "

    /// The key of the lock that the loop has which decides a shard.
    static func turnKey(of shard: Int64) -> Int64 {
        ServerConnection.lockKey(of: "loop of shard \(shard)")
    }

    /// The statements that make the schema and the shards, for a role that owns the database.
    ///
    /// - Parameter users: the role of the schedulers, which gets all rights but that of the owner.
    public static func statements(shards: Range<Int64> = 1..<2, users: String? = nil) -> String {
        let rights = users.map { ServerSchema.rights(of: $0, in: ServerHistorySchema.name) }
        return
            ([ServerHistorySchema.statements]
            + shards.map { shard in
                """
                SET LOCAL clarity.shard = '\(shard)';
                INSERT INTO shard_state (id) VALUES (1);
                """
            } + [rights].compactMap(\.self)).joined(separator: "\n")
    }

    /// Makes the schema and the shards in an empty database, for a role that owns it.
    ///
    /// - Throws: `RunStoreError`; then nothing was made.
    public static func make(
        at address: ServerAddress, shards: Range<Int64>
    ) throws(RunStoreError) {
        try rethrowing(server: "\(address)") {
            let connection = try ServerConnection(address)
            try connection.transaction { try connection.execute(statements(shards: shards)) }
        }
    }

    /// Connects to a shard.
    ///
    /// - Throws: `RunStoreError.unusable` without the schema, `.newer` for one of a newer version;
    ///   `DatabaseError`.
    static func connect(
        to address: ServerAddress, _ shard: Int64, _ patience: Duration = .seconds(30),
        cutOff: Duration = .seconds(9)
    ) throws -> ServerConnection {
        let connection = try ServerConnection(
            address, owner: .init(column: ServerHistorySchema.ownerColumn, value: "\(shard)"),
            schema: ServerHistorySchema.name, patience: patience, cutOff: cutOff)
        do {
            try ServerHistorySchema.schema.requireVersion(connection)
        } catch let error as DatabaseError where error.kind == .other {
            throw RunStoreError.unusable("cannot use history `\(address)`: \(error.message)")
        }
        return connection
    }

    /// Returns the name of a process that no other has or had, as its leases name it.
    public static func owner(_ lock: LeaseLock) -> String { "\(HostIdentity.name)/\(lock.owner)" }

    /// Returns the loops that are connected, the oldest first. If none decides, looks again after two
    /// seconds: one may be about to take over.
    public static func loops(_ connection: Connection) throws(DatabaseError) -> [RunningLoop] {
        let loops = try loopsNow(connection)
        guard loops.isLeaderless else { return loops }
        usleep(2_000_000)
        return try loopsNow(connection)
    }

    private static func loopsNow(
        _ connection: Connection
    ) throws(DatabaseError) -> [RunningLoop] {
        try connection.all(
            """
            SELECT substr(application_name, \(loopMark.count + 1)),
                (extract(epoch FROM backend_start) * 1000)::bigint,
                EXISTS (SELECT 1 FROM pg_locks
                    WHERE locktype = 'advisory' AND pid = pg_stat_activity.pid AND granted
                        AND (classid::bigint << 32 | objid::bigint) = CAST(? AS bigint))
            FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE '\(loopMark)%'
            ORDER BY backend_start
            """, .integer(turnKey(of: 1))
        ) { row -> RunningLoop? in
            // As `owner` makes it; the server shortens what is longer than 63 bytes.
            let parts = row.text(0).split(separator: "/", maxSplits: 1)
            guard parts.count == 2,
                let process = parts[1].split(separator: "-").first.flatMap({ Int32($0) })
            else { return nil }
            return RunningLoop(
                machine: String(parts[0]), process: process,
                since: Instant(millisecondsSince1970: row.integer(1)),
                isStandby: row.integer(2) == 0)
        }
    }
}

extension RunHistory {
    /// Opens the history on a server for reading.
    ///
    /// - Throws: `RunStoreError` if it cannot be read.
    public init(at server: ServerAddress) throws(RunStoreError) {
        let connection = try rethrowing(server: "\(server)") {
            try ServerHistory.connect(to: server, 1)
        }
        self.init(
            connection, at: "\(server)", ServerPeers(nil),
            loops: { try ServerHistory.loops($0) })
    }
}
