/// A schema of PostgreSQL with tables of this program, and the version that they have.
public struct ServerSchema: Sendable {
    public let name: String
    /// The newest version, which this program knows.
    public let version: Int
    /// What the tables hold, for messages: `history`, `health data`.
    let content: String

    public init(_ name: String, version: Int, of content: String) {
        (self.name, self.version, self.content) = (name, version, content)
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
    /// - Parameters:
    ///   - upgrades: the statements that made each of the last versions of the one before.
    ///   - users: the role of the schedulers.
    public func upgrade(by upgrades: [String], users: String) -> String {
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
        if found < version {
            throw DatabaseError(
                kind: .other,
                message: "the \(content) has version \(found), not \(version); bring it up to date "
                    + "with `clarity-jobs store migrate`", code: "PostgreSQL")
        }
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
