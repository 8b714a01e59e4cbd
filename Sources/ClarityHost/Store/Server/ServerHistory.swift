public import ClarityScheduler
public import Database
import Glibc
import Platform

/// A history in PostgreSQL as a whole.
public enum ServerHistory {
    /// The schema that has its tables.
    public static var schema: ServerSchema { ServerHistorySchema.schema }

    /// What the server's list of sessions names the session by which a loop proves that it lives,
    /// before its mark.
    static let loopKind = "clarity-loop"

    /// The statements that make the schema, for a role that owns the database.
    ///
    /// - Parameter users: the role of the schedulers, which gets all rights but that of the owner.
    public static func statements(users: String? = nil) -> String {
        let rights = users.map { ServerSchema.rights(of: $0, in: ServerHistorySchema.name) }
        return [ServerHistorySchema.statements, rights].compactMap(\.self).joined(separator: "\n")
    }

    /// Connects to the history.
    ///
    /// - Throws: `RunStoreError.unusable` without the schema, `.otherVersion` for one of a newer
    ///   version; `DatabaseError`.
    static func connect(
        to address: ServerAddress, patience: Duration = .seconds(30),
        cutOff: Duration = .seconds(9)
    ) throws -> ServerConnection {
        let connection = try ServerConnection(
            address, writeLock: ServerHistorySchema.decisionLock, schema: ServerHistorySchema.name,
            patience: patience, cutOff: cutOff)
        do {
            try ServerHistorySchema.schema.requireVersion(connection)
        } catch let error as DatabaseError where error.kind == .other {
            throw RunStoreError.unusable("cannot use history `\(address)`: \(error.message)")
        }
        return connection
    }

    /// Returns the name of a process that no other has or had, as its leases name it.
    public static func owner(_ lock: LeaseLock) -> String { "\(HostIdentity.name)/\(lock.owner)" }

    /// Takes the lead unless a session that lives has it.
    ///
    /// - Parameter mark: that of the caller's session, which has it already.
    /// - Returns: whether the session has the lead, which ends with it.
    static func takeLead(
        as mark: String, _ connection: Connection
    ) throws(DatabaseError) -> Bool {
        // A session has its mark before its lead, and a mark that is gone never comes back. So what
        // is read first is certain when it is compared.
        let found = try connection.first(
            """
            SELECT leader, leader IN \(SessionMark.living)
            FROM \(ServerHistorySchema.name).lead
            """
        ) { (leader: $0.text(0), lives: $0.integer(1) == 1) }
        guard let found, !found.lives else { return false }
        let isTaken =
            try connection.change(
                "UPDATE \(ServerHistorySchema.name).lead SET leader = ? WHERE leader = ?",
                .text(mark), .text(found.leader)) == 1
        if isTaken { try endDecision(of: found.leader, connection) }
        return isTaken
    }

    /// Gives a loop's session for decisions the name by which the next leader ends it.
    static func nameDecisions(of owner: String, _ connection: Connection) throws(DatabaseError) {
        try connection.run(
            "SELECT set_config('application_name', ?, false)",
            .text(decisionKind + SessionMark.of(owner)))
    }

    /// Without a space, so that the session is not one that proves that its loop lives.
    private static let decisionKind = "clarity-decisions/"

    /// Ends the decision in which a loop was cut off or frozen, which holds up everybody else.
    static func endDecision(
        of mark: String, _ connection: Connection
    ) throws(DatabaseError) {
        try connection.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE usename = current_user AND datname = current_database() AND application_name = ?
            """, .text(decisionKind + mark))
    }

    /// Returns the loops that are connected, the oldest first. If none decides, looks again after
    /// two seconds: one may be about to take over.
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
            SELECT split_part(application_name, ' ', 3),
                (extract(epoch FROM backend_start) * 1000)::bigint,
                split_part(application_name, ' ', 2) = leader
            FROM pg_stat_activity, \(ServerHistorySchema.name).lead
            WHERE usename = current_user AND datname = current_database()
                AND application_name LIKE '\(loopKind) %'
            ORDER BY backend_start
            """
        ) { row -> RunningLoop? in
            // As `LeaseSession` writes it.
            let parts = row.text(0).split(separator: "/", maxSplits: 1)
            guard parts.count == 2, let process = Int32(parts[1]) else { return nil }
            return RunningLoop(
                machine: String(parts[0]), process: process,
                since: row.instant(1),
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
            try ServerHistory.connect(to: server)
        }
        self.init(
            connection, at: "\(server)", ServerPeers(nil),
            loops: { try ServerHistory.loops($0) })
    }
}

/// Copies a history from the file of a state directory to a server, or back, while nobody uses
/// either.
public final class HistoryCopy {
    private let file: String
    private let server: ServerAddress
    private let lock: FileLock
    /// Has the lead of the loop that decides, so that no loop begins to.
    private let turn: ServerConnection

    /// Keeps all others from both places.
    ///
    /// - Parameter path: the state directory, which is created if it is missing.
    /// - Throws: `RunStoreError.unreachable` if others use one of them.
    public init(
        inDirectory path: String, and server: ServerAddress
    ) throws(RunStoreError) {
        self.server = server
        file = "\(path)/history.db"
        let alone: FileLock?
        do throws(StateDirectoryError) {
            alone = try StateDirectory(path: path).alone(patience: .seconds(2))
        } catch {
            throw RunStoreError(error)
        }
        guard let alone else {
            throw .unreachable("the state in `\(path)` is in use; stop the loop meanwhile")
        }
        lock = alone
        turn = try rethrowing(server: "\(server)") {
            let turn = try ServerHistory.connect(to: server)
            let mark = String(UInt64.random(in: .min ... .max), radix: 36)
            try SessionMark.set("clarity-copy", mark, on: turn)
            guard try ServerHistory.takeLead(as: mark, turn) else {
                throw RunStoreError.unreachable("a loop uses `\(server)`; stop all loops meanwhile")
            }
            return turn
        }
    }

    /// Copies the history into the database.
    public func intoServer() throws(RunStoreError) -> TableCopy.Outcome {
        guard access(file, F_OK) == 0 else { return .empty }
        return try copy { file, target in try run(from: file, to: target) }
    }

    /// Copies the history into the file, which is created if there is none.
    public func intoFile() throws(RunStoreError) -> TableCopy.Outcome {
        try copy { file, source in
            let outcome = try run(from: source, to: file)
            guard case .copied = outcome else { return outcome }
            // The file remembers the highest number apart from the runs.
            try file.run(
                """
                UPDATE sqlite_sequence SET seq = max(seq, (SELECT through_run FROM prune_mark))
                WHERE name = 'runs' AND EXISTS (SELECT 1 FROM prune_mark)
                """)
            return outcome
        }
    }

    private func run(
        from source: Connection, to target: Connection
    ) throws -> TableCopy.Outcome {
        try TableCopy(from: source, to: target).runOnce(marks: ["runs", "prune_mark"])
    }

    /// Calls `body` in a transaction of both places.
    private func copy(
        _ body: (FileConnection, ServerConnection) throws -> TableCopy.Outcome
    ) throws(RunStoreError) -> TableCopy.Outcome {
        try rethrowing(server: "\(server)") {
            let path = file
            let file = try FileConnection(path: path)
            _ = try historyMigrations.version(of: file)
            try file.useWriteAheadLog()
            try migrateHistory(file, at: path)
            let remote = try ServerHistory.connect(to: server)
            return try remote.transaction { try file.transaction { try body(file, remote) } }
        }
    }
}
