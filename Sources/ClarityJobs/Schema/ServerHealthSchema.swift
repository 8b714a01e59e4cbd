import Database

/// The schema of health data in PostgreSQL: the tables of the file by the map of types, and the
/// triggers, which the map leaves out.
enum ServerHealthSchema {
    /// The column that has the account of a row, first in every key.
    static let ownerColumn = "account"

    /// The schema of PostgreSQL in which the tables are.
    static let name = "clarity_health"

    static var schema: ServerSchema {
        ServerSchema(name, version: HealthSchema.version, of: "health data")
    }

    /// The statements that make it, in order, for a role that owns the database.
    ///
    /// - Parameter users: the role of the schedulers. The role of an account has its name before a
    ///   `/`, and sees the rows of that account alone.
    static func statements(users: String) -> String {
        // A worker that sets another account than that of its role sees nothing.
        let map = PostgresSchema(
            ownerColumn: ownerColumn, ownerType: "text",
            condition: "current_user = \(ServerSchema.literal(users + "/")) || \(ownerColumn)")
        let scheduler = ServerSchema.quoted(users)
        return schema.statements(
            tables: """
                \(map.translated(HealthSchema.tables))
                \(triggers)
                \(ServerSchema.rights(of: accountsRole(of: users), in: name))
                -- Who is logged in, and no more.
                GRANT USAGE ON SCHEMA \(name) TO \(scheduler);
                GRANT SELECT ON schema_version TO \(scheduler);
                GRANT SELECT (\(ownerColumn)) ON session TO \(scheduler);
                CREATE POLICY session_logins ON session FOR SELECT TO \(scheduler) USING (true);
                """)
    }

    /// The role of which those of all accounts are members.
    static func accountsRole(of users: String) -> String { "\(users)_accounts" }

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
