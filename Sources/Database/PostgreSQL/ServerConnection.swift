/// A connection to a PostgreSQL server.
///
/// It is one session: what it has locked is free when it ends, and a session that has failed stays
/// failed. Its owner opens another.
public final class ServerConnection: Connection {
    private let link: PostgresLink
    private let server: PostgresEngine

    /// The owner of rows that a session reads and writes.
    public struct Owner: Hashable, Sendable {
        /// The column that has the owner, first in every key.
        public var column: String
        /// The owner's name or number.
        public var value: String

        public init(column: String, value: String) { (self.column, self.value) = (column, value) }

        /// The setting of the session from which the column's default and the row-level security
        /// take the owner.
        public var setting: String { "clarity.\(column)" }
    }

    /// Connects to a server.
    ///
    /// - Parameters:
    ///   - owner: whose rows the session sees; `nil` where rows have no owner.
    ///   - writeLock: the statement by which a transaction that writes first keeps out all others: a
    ///     lock on a row or a table that no role of others reaches. `nil` for none.
    ///   - schema: the schema in which the tables are.
    ///   - patience: how long the server may take to answer or to grant a lock.
    ///   - cutOff: after how long without a sign of life from this machine the server ends the
    ///     session, at least 1 s.
    /// - Throws: `DatabaseError`.
    public init(
        _ address: ServerAddress, owner: Owner? = nil, writeLock: String? = nil,
        schema: String = "public",
        patience: Duration = .seconds(30), cutOff: Duration = .seconds(9)
    ) throws(DatabaseError) {
        link = try PostgresLink(address, patience: patience)
        server = PostgresEngine(
            link, PostgresText(ownerColumn: owner?.column), writeLock: writeLock)
        super.init(server)
        // Whatever the texts depend on is set here, since an administrator may have set it for the
        // server, the database or the role. `default_transaction_read_only` stays as it is, and
        // `synchronous_commit` unless a commit would not even reach the server's own disk.
        //
        // A lock must time out before this side believes that the server has frozen. The server
        // frees the locks of a peer that has vanished, also in the middle of a query. It looks
        // twice a second for one that is gone, and finds one that is cut off by what it does not
        // acknowledge: a probe or an answer (tcp(7)).
        //
        // The transaction has a level of its own: a standby refuses to look at anything in a
        // serializable one, and could not be told from a server that has failed.
        let probe = max(1, Int64(cutOff / .seconds(3)))
        try execute(
            """
            BEGIN ISOLATION LEVEL READ COMMITTED;
            SET statement_timeout = 0;
            SELECT set_config('transaction_timeout', '0', false)
                WHERE current_setting('transaction_timeout', true) IS NOT NULL;
            SET idle_session_timeout = 0;
            SET idle_in_transaction_session_timeout = 0;
            SET exit_on_error = off;
            SET row_security = on;
            SET default_transaction_isolation = 'read committed';
            SET standard_conforming_strings = on;
            SET bytea_output = hex;
            SET extra_float_digits = 1;
            SELECT set_config('synchronous_commit', 'local', false)
                WHERE current_setting('synchronous_commit') = 'off';
            SET lock_timeout = \(patience * 0.9 / .milliseconds(1));
            SET search_path = \(schema), pg_catalog;
            SET client_connection_check_interval = 500;
            SET tcp_keepalives_idle = \(probe);
            SET tcp_keepalives_interval = \(probe);
            SET tcp_keepalives_count = \(cutOff < .seconds(3) ? 1 : 2);
            SET tcp_user_timeout = \(cutOff / .milliseconds(1));
            COMMIT;
            """)
        // One that only makes or looks at schemas may be of a pool or a replica.
        guard writeLock != nil || owner != nil else { return }
        let found = try first(
            """
            SELECT current_setting('session_replication_role'), pg_backend_pid()
                \(owner == nil ? "" : ", set_config(?, ?, false)")
            """, with: owner.map { [.text($0.setting), .text($0.value)] } ?? []
        ) { row in (replicationRole: row.text(0), processID: row.integer(1)) }
        // A pool names a process of its own invention to its clients.
        link.isPooled = found?.processID != link.processID
        // Only a superuser may set this one back.
        guard found?.replicationRole != "replica" else {
            throw DatabaseError(
                kind: .other,
                message: "`session_replication_role` is `replica` for this role or database, so "
                    + "that the server checks no foreign keys; reset it", code: "PostgreSQL")
        }
    }

    /// The socket, which is readable when a notification has arrived.
    public var socket: Int32 { link.socket }

    /// Ends the session, whoever still refers to it: what is tried on it then fails.
    public func close() { link.close() }

    /// Whether the session has failed and never works again.
    public var hasFailed: Bool { link.fault != nil }

    /// Returns the notifications since the last call.
    public func takeNotifications() throws(DatabaseError) -> [ServerNotification] {
        try link.takeNotifications()
    }

    /// Has each transaction that writes run a statement once it has its lock. If the statement fails,
    /// so does the transaction.
    public func beginWrites(with sql: String, _ values: Value...) {
        server.condition = (sql, values)
    }

    /// Runs `body` in a transaction that writes, without the lock of its owner: for rows that the
    /// conditions of its statements protect.
    public func unlockedTransaction<Result>(_ body: () throws -> Result) throws -> Result {
        server.takesWriteLock = false
        defer { server.takesWriteLock = true }
        return try transaction(body)
    }
}

/// What a process sent to those that listen to a channel.
public struct ServerNotification: Hashable, Sendable {
    public var channel: String
    public var payload: String
}

/// The mark by which the sessions of one role know that another one lives.
///
/// It is in the name of the session (`application_name`), which ends with it. Every role may read
/// that name and take it, but no other role can have a session of this one, and only those count. An
/// advisory lock would do worse: any role may take its number, and then nobody else gets it.
public enum SessionMark {
    /// SQL: the marks of all sessions of this session's role in this database.
    public static let living = """
        (SELECT split_part(application_name, ' ', 2) FROM pg_stat_activity
        WHERE usename = current_user AND datname = current_database()
            AND split_part(application_name, ' ', 2) <> '')
        """

    /// Returns the mark that stands for a name.
    public static func of(_ name: String) -> String { String(name.utf8.fnv1a, radix: 36) }

    /// Marks a session in place of what it was marked with.
    ///
    /// - Parameters:
    ///   - kind: what the session is, without a space.
    ///   - mark: without a space, of at most 20 characters.
    ///   - note: for people who list the sessions.
    public static func set(
        _ kind: String, _ mark: String, note: String = "", on connection: Connection
    ) throws(DatabaseError) {
        try connection.run(
            "SELECT set_config('application_name', ?, false)",
            .text("\(kind) \(mark) \(note)"))
    }

    /// Whether a session with a mark lives.
    public static func isLiving(
        _ mark: String, _ connection: Connection
    ) throws(DatabaseError) -> Bool {
        try connection.integer("SELECT CAST(? AS text) IN \(living)", .text(mark)) == 1
    }
}

/// A schema of PostgreSQL with tables of this program, and the version that they have.
public struct ServerSchema: Sendable {
    public let name: String
    /// The newest version, which this program knows.
    public let version: Int
    /// What the tables hold, for messages: `history`, `health data`.
    let content: String
    /// The statements that made each of the last versions of the one before.
    private let upgrades: [String]

    /// - Parameters:
    ///   - first: the first version that a release had.
    ///   - upgrades: the statements that made each version since of the one before.
    public init(_ name: String, first: Int, upgrades: [String] = [], of content: String) {
        (self.name, version, self.content) = (name, first + upgrades.count, content)
        self.upgrades = upgrades
    }

    /// The statements that make it, in order, for a role that owns the database.
    public func statements(tables: String) -> String {
        """
        CREATE SCHEMA \(name);
        SET search_path = \(name), pg_catalog;
        CREATE TABLE schema_version (version bigint NOT NULL);
        INSERT INTO schema_version VALUES (\(version));
        \(PostgresSchema.functions)
        \(tables)
        """
    }

    /// The statements that bring it up to date from any version that a server had, for a role that
    /// owns the database. They do nothing where it is up to date, and fail while a process of this
    /// program is connected: one of a version before would go by other locks.
    ///
    /// - Parameter users: the role of the schedulers.
    public func upgrade(users: String) -> String {
        let steps = upgrades.enumerated().map { place, upgrade in
            """
                IF found = \(version - upgrades.count + place) THEN
            \(upgrade)
                    found := found + 1;
                END IF;

            """
        }
        return """
            DO $upgrade$ DECLARE found bigint; BEGIN
                SET LOCAL search_path = \(name), pg_catalog;
                SELECT version INTO found FROM schema_version;
                IF found >= \(version) THEN RETURN; END IF;
                IF found < \(version - upgrades.count) THEN
                    RAISE \(ServerSchema.literal(tooOld(found: "%"))), found;
                END IF;
                -- Whoever connects from here on waits, and finds the new version.
                LOCK TABLE schema_version IN ACCESS EXCLUSIVE MODE;
                IF EXISTS (
                    SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                        AND split_part(usename::text, '/', 1) = \(ServerSchema.literal(users))
                ) THEN
                    RAISE 'processes of clarity-jobs are connected; stop all loops and commands';
                END IF;
            \(steps.joined())    UPDATE schema_version SET version = found;
            END $upgrade$;
            """
    }

    /// Returns the version of a database; `nil` if it has no such schema, or hides it.
    public func version(of connection: Connection) throws(DatabaseError) -> Int? {
        let isThere = try connection.integer(
            "SELECT to_regclass('\(name).schema_version') IS NOT NULL")
        guard isThere == 1 else { return nil }
        return Int(try connection.integer("SELECT version FROM \(name).schema_version") ?? 0)
    }

    /// - Throws: `DatabaseError` without the schema, and for one of an older version;
    ///   `SchemaFault.newer` for one of a newer version.
    public func requireVersion(_ connection: Connection) throws {
        guard let found = try version(of: connection) else {
            throw DatabaseError(
                kind: .other,
                message:
                    "there is no \(content) in this database; make it with `clarity-jobs store "
                    + "init`", code: "PostgreSQL")
        }
        if found > version { throw SchemaFault.newer(found: found, known: version) }
        if found < version - upgrades.count {
            throw DatabaseError(
                kind: .other, message: tooOld(found: "\(found)"), code: "PostgreSQL")
        }
        if found < version {
            throw DatabaseError(
                kind: .other,
                message: "the \(content) has version \(found), not \(version); bring it up to date "
                    + "with `clarity-jobs store migrate`", code: "PostgreSQL")
        }
    }

    private func tooOld(found: String) -> String {
        "the \(content) has version \(found), of a build before the first release with databases; "
            + "take it to files with that build (`store copy --to files`), and make it anew"
    }

    /// The statements that give a role the right to read and write all tables of a schema.
    public static func rights(of role: String, in schema: String) -> String {
        let name = quoted(role)
        return """
            GRANT USAGE ON SCHEMA \(schema) TO \(name);
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(name);
            GRANT USAGE ON ALL SEQUENCES IN SCHEMA \(schema) TO \(name);
            REVOKE INSERT, UPDATE, DELETE ON \(schema).schema_version FROM \(name);
            """
    }

    /// Returns a name as SQL has it.
    public static func quoted(_ name: String) -> String {
        "\"\(doubling("\"", in: name))\""
    }

    /// Returns a text as SQL has it.
    public static func literal(_ text: String) -> String {
        "'\(doubling("'", in: text))'"
    }

    /// Doubles each quote, also one before a combining mark, which is a part of its character.
    private static func doubling(_ quote: Unicode.Scalar, in text: String) -> String {
        var doubled = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == quote { doubled.append(quote) }
            doubled.append(scalar)
        }
        return String(doubled)
    }
}

/// The channels on which processes tell each other of changes (`NOTIFY`).
public enum ServerChannel {
    /// Somebody has logged in.
    public static let logins = "clarity_logins"

    /// The history was written.
    public static let history = "clarity_1"
}
