import Database

/// The schema of health data in PostgreSQL: the tables of the file by the map of types, and the
/// triggers, which the map leaves out.
enum ServerHealthSchema {
    /// The column that has the account of a row, first in every key.
    static let ownerColumn = "account"

    /// The schema of PostgreSQL in which the tables are.
    static let name = "clarity_health"

    private static let map = PostgresSchema(ownerColumn: ownerColumn, ownerType: "text")

    /// The statements that make it, in order, for a role that owns the database.
    static var statements: String {
        """
        CREATE SCHEMA \(name);
        SET search_path = \(name), pg_catalog;
        CREATE TABLE schema_version (version bigint NOT NULL);
        INSERT INTO schema_version VALUES (\(HealthSchema.version));
        \(PostgresSchema.functions)
        \(map.translated(HealthSchema.tables))
        \(triggers)
        """
    }

    /// Makes the schema in a database that has none.
    ///
    /// - Throws: `DatabaseError`; then nothing was made.
    static func make(at address: ServerAddress) throws {
        let connection = try ServerConnection(address)
        try connection.transaction { try connection.execute(statements) }
    }

    /// - Throws: `DatabaseError` without the schema, or for one of another version.
    static func requireVersion(_ connection: Connection) throws {
        let isThere = try connection.integer(
            "SELECT to_regclass('\(name).schema_version') IS NOT NULL")
        guard isThere == 1 else {
            throw DatabaseError(
                kind: .other, message: "there is no health data in this database",
                code: "PostgreSQL")
        }
        let known = HealthSchema.version
        let found = Int(try connection.integer("SELECT version FROM schema_version") ?? 0)
        if found > known { throw Migrations.Fault.newer(found: found, known: known) }
        if found < known {
            throw DatabaseError(
                kind: .other, message: "the health data has version \(found), not \(known)",
                code: "PostgreSQL")
        }
    }

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
