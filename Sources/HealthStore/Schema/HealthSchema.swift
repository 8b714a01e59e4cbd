public import Database

/// The schema of `health.db`. A new file gets it at once, and one of an earlier release by the
/// steps that it lacks: whoever changes a table changes its text in this folder, and adds a step
/// that does the same. A step never changes.
///
/// ```
/// outbox:   queued -> sending -> accepted -> confirmed | stored | unconfirmed
///             ^          |           |
///             '----------+-----------'  failures + 1; at 5: setAside
///           sending -> confirmed (the backend had it) | rejected | setAside (doubt)
///           queued <-> setAside (kind, future) | rejected (range)     by our own rules
///           accepted, confirmed, stored -> unconfirmed -> rejected    by `outbox erase`
/// batches:  sending -> accepted -> confirmed | stored | unconfirmed, or failed from either
///
/// stored: the backend has it and says no more
/// ```
///
/// A sample of a batch shares the batch's state until an answer names it. Its row says `batched`
/// then, and the view `samples` says what that means.
enum HealthSchema {
    /// `CLRH`, so that no other program's file is mistaken for this one.
    static let applicationID: Int64 = 0x434C_5248

    static var migrations: Migrations {
        Migrations(
            applicationID: applicationID, schema: "\(tables)\n\(firstRows)", oldest: 24,
            steps: ["\(countTables)\n\(countedHead)", publicationTables], mark: mark)
    }

    /// The mark of the schema that `tables` make.
    static let mark: UInt64 = 0xdb40_9208_ace7_5a50

    /// The tables, indices, views and triggers of the newest version.
    static let tables = [
        keyTables, sessionTables, sourceTables, partialAggregateTables, outboxTables, sendingTables,
        packedTables, pulledTables, analysisTables, segmentTables, segmentDayTables, prunedTables,
        noticeTables, countTables, publicationTables,
    ].joined(separator: "\n")

    /// Which counts of rows belong to the head of the audit log.
    private static let countedHead = """
        ALTER TABLE audit_head ADD COLUMN count_generation INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE audit_head ADD COLUMN count_rows INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE audit_head ADD COLUMN count_sum INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE audit_head ADD COLUMN count_floor INTEGER NOT NULL DEFAULT 0;
        """
}

/// The schema of health data in PostgreSQL: the tables of the file by the map of types, and the
/// triggers, which the map leaves out.
public enum ServerHealthSchema {
    /// The column that has the account of a row, first in every key.
    static let ownerColumn = "account"

    /// The schema of PostgreSQL in which the tables are.
    static let name = "clarity_health"

    /// A step of the file's schema after version 26 has an upgrade here that does the same.
    public static let schema = ServerSchema(name, first: 28, of: "health data")

    /// The statements that make it, in order, for a role that owns the database.
    ///
    /// - Parameter users: the role of the schedulers. The role of an account has its name before a
    ///   `/`, and sees the rows of that account alone.
    public static func statements(users: String) -> String {
        let scheduler = ServerSchema.quoted(users)
        return schema.statements(
            tables: """
                \(map(users: users).translated(HealthSchema.tables))
                \(map(users: users).translated(keys))
                \(triggers)
                \(limitTables)
                \(countedTables(users: users))
                \(withoutStatistics)
                \(ServerSchema.rights(of: accountsRole(of: users), in: name))
                GRANT USAGE ON SCHEMA \(name) TO \(scheduler);
                GRANT SELECT ON schema_version TO \(scheduler);
                \(lockTables(users: users))
                """)
    }

    /// A worker that sets another account than that of its role sees nothing.
    private static func map(users: String) -> PostgresSchema {
        PostgresSchema(
            ownerColumn: ownerColumn, condition: condition(users: users))
    }

    private static func condition(users: String) -> String {
        "current_user = \(ServerSchema.literal(users + "/")) || \(ownerColumn)"
    }

    private static func countedTables(users: String) -> String {
        CountedTable.server(
            schema: name, owner: PostgresSchema.owner(in: ownerColumn),
            condition: condition(users: users))
    }

    /// What processes of all machines and accounts send to a backend together (`ServerLimits`).
    private static let limitTables = """
        CREATE TABLE backend_turns (backend text PRIMARY KEY, next_at timestamptz NOT NULL);
        CREATE TABLE backend_connections (
            backend text, number bigint, PRIMARY KEY (backend, number)
        );
        """

    // MARK: Locks

    /// An account locks its own rows of `locks`, which no other role reaches. Who is logged in, and
    /// no more, the schedulers read in a table that no account may lock (`LOCK TABLE`).
    private static func lockTables(users: String) -> String {
        let accounts = ServerSchema.quoted(accountsRole(of: users))
        return """
            \(map(users: users).translated(lockTable))
            GRANT SELECT, INSERT, UPDATE, DELETE ON locks TO \(accounts);
            CREATE TABLE logins (\(ownerColumn) text PRIMARY KEY);
            GRANT SELECT ON logins TO \(ServerSchema.quoted(users));
            CREATE FUNCTION note_login() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
            SET search_path = \(name), pg_catalog, pg_temp AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    INSERT INTO logins VALUES (NEW.\(ownerColumn)) ON CONFLICT DO NOTHING;
                ELSE
                    DELETE FROM logins WHERE \(ownerColumn) = OLD.\(ownerColumn);
                END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER session_noted AFTER INSERT OR DELETE ON session FOR EACH ROW
            EXECUTE FUNCTION note_login();
            """
    }

    private static let lockTable = "CREATE TABLE locks (name TEXT PRIMARY KEY) STRICT;"

    /// What each account has, besides `HealthSchema.firstRows`.
    static let firstRows =
        "INSERT INTO locks (name) VALUES ('write'), ('login') ON CONFLICT (name) DO NOTHING"

    /// Keeps out all other writers of the account until the end of the transaction. Fails without
    /// the row.
    static let writeLock =
        "SELECT 1 / count(*) FROM (SELECT FROM locks WHERE name = 'write' FOR UPDATE) AS held"

    /// Locks the renewal of the login until the end of the transaction, and selects 1; selects 0 if
    /// another session has the lock.
    static let tryingLoginLock = """
        SELECT count(*) FROM (
            SELECT FROM locks WHERE name = 'login' FOR UPDATE SKIP LOCKED
        ) AS held
        """

    // MARK: Roles and triggers

    /// The role of which those of all accounts are members.
    public static func accountsRole(of users: String) -> String { "\(users)_accounts" }

    /// Each account's own key, wrapped; a file has it beside it.
    private static let keys = """
        CREATE TABLE account_key (
            id INTEGER PRIMARY KEY CONSTRAINT account_key_one CHECK (id = 1),
            wrapped BLOB NOT NULL
        ) STRICT;
        """

    /// Keeps the server from copying encrypted values and keys into its statistics, where they
    /// would stay when the rows are gone. Blind indexes are searched for, and are no encrypted
    /// values.
    private static let withoutStatistics = """
        DO $$ DECLARE found record; BEGIN
            FOR found IN SELECT attrelid::regclass AS place, attname FROM pg_attribute
                JOIN pg_class ON pg_class.oid = attrelid
                WHERE relnamespace = '\(name)'::regnamespace AND relkind = 'r'
                    AND atttypid = 'bytea'::regtype AND attname <> 'tag'
            LOOP
                EXECUTE format(
                    'ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', found.place, found.attname);
            END LOOP;
        END $$;
        """

    /// As in `HealthSchema.pulledTables`.
    private static let triggers = """
        CREATE FUNCTION forget_replaced_sample() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE metrics SET sample = NULL WHERE sample = OLD.id;
            RETURN NULL;
        END $$;
        CREATE TRIGGER outbox_replaced AFTER UPDATE OF as_of_s ON outbox FOR EACH ROW
        WHEN (NEW.tag IS DISTINCT FROM OLD.tag)
        EXECUTE FUNCTION forget_replaced_sample();

        CREATE FUNCTION leave_row() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RETURN NULL; END $$;
        CREATE TRIGGER insights_stay_full BEFORE UPDATE ON insights FOR EACH ROW
        WHEN (OLD.type = 'insight_full' AND NEW.type = 'insight'
            AND NEW.timestamp_ms <= OLD.timestamp_ms)
        EXECUTE FUNCTION leave_row();
        """
}
