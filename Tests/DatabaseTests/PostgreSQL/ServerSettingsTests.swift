import ClarityTestSupport
import Testing

@testable import Database

/// What an administrator may have set for a server, a database or a role.
@Suite(
    "A session with settings of the server", .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct ServerSettingsTests {
    private static let changed = [
        ("row_security", "off", "on"), ("statement_timeout", "7s", "0"),
        ("idle_session_timeout", "7s", "0"), ("idle_in_transaction_session_timeout", "7s", "0"),
        ("lock_timeout", "7s", "27s"), ("search_path", "nosuch", "public, pg_catalog"),
        ("default_transaction_isolation", "serializable", "read committed"),
        ("standard_conforming_strings", "off", "on"), ("bytea_output", "escape", "hex"),
        ("extra_float_digits", "-1", "1"), ("exit_on_error", "on", "off"),
        ("synchronous_commit", "off", "local"), ("client_encoding", "latin1", "UTF8"),
    ]

    /// Makes a database with settings of its own.
    private func database(
        _ settings: [(name: String, value: String)]
    ) async throws -> ServerAddress {
        let server = try await PostgresServer.shared()
        let address = try server.makeDatabase()
        let admin = try server.administrator()
        for setting in settings {
            try admin.execute(
                "ALTER DATABASE \(address.database) SET \(setting.name) = '\(setting.value)'")
        }
        return address
    }

    @Test(arguments: changed)
    func `a session sets what it depends on`(
        name: String, value: String, own: String
    ) async throws {
        let connection = try ServerConnection(try await database([(name, value)]))

        #expect(try connection.first("SHOW \(name)") { $0.text(0) } == own)
    }

    @Test func `values and policies are the same under all these settings`() async throws {
        let address = try await database(Self.changed.map { ($0.0, $0.1) })
        let owner = ServerConnection.Owner(column: "account", value: "ada")
        let connection = try ServerConnection(address, owner: owner)
        try connection.execute(
            PostgresSchema(ownerColumn: "account").translated(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, bytes BLOB, x REAL);"))
        try connection.run(
            "INSERT INTO t (id, name, bytes, x) VALUES (1, 'a\\b', x'00ff', ?)", .real(0.1 + 0.2))

        let found = try connection.all("SELECT name, bytes, x FROM t") { row in
            (row.text(0), row.blob(1), row.real(2))
        }

        #expect(found.map(\.0) == ["a\\b"])
        #expect(found.map(\.1) == [[0, 255]])
        #expect(found.map(\.2) == [0.1 + 0.2])
    }

    /// What else the server may send for a value, and what is read of it.
    private static let malformed = [
        ("convert_to('a', 'UTF8')", "SET bytea_output = escape"),
        (#"'\x00ff'::bytea"#, "SET bytea_output = escape"),
        ("''::bytea", "SET bytea_output = escape"),
    ]

    @Test(arguments: malformed)
    func `a value in another form is an error`(value: String, setting: String) async throws {
        let connection = try ServerConnection(try await database([]))
        try connection.execute(setting)

        let error = #expect(throws: DatabaseError.self) {
            try connection.first("SELECT \(value) AS sealed") { $0.blob(0) }
        }
        let next = try connection.integer("SELECT 7")

        #expect(
            error?.message
                == "the value of `sealed` is not in the form that this session has asked "
                + "for; a connection pool in between has to keep its settings")
        #expect(next == 7)
    }

    @Test func `a number that is none is an error`() async throws {
        let connection = try ServerConnection(try await database([]))

        #expect(throws: DatabaseError.self) { try connection.integer("SELECT 'ten'") }
        #expect(throws: DatabaseError.self) { try connection.first("SELECT 'x'") { $0.real(0) } }
        #expect(try connection.integer("SELECT true") == 1)
        #expect(try connection.integer("SELECT false") == 0)
        #expect(try connection.integer("SELECT sum(x) FROM (VALUES (1), (2)) AS v(x)") == 3)
        #expect(try connection.first("SELECT NULL::bytea") { $0.blob(0) } == [])
    }

    @Test(arguments: ["remote_write", "remote_apply", "on"])
    func `a commit waits for as much as the administrator wants`(level: String) async throws {
        let connection = try ServerConnection(try await database([("synchronous_commit", level)]))

        #expect(try connection.first("SHOW synchronous_commit") { $0.text(0) } == level)
    }

    @Test func `a server that takes no writes says so and by which setting`() async throws {
        let address = try await database([("default_transaction_read_only", "on")])
        let message =
            "the server takes no writes: `default_transaction_read_only` is on, or it is a standby"
        let connection = try ServerConnection(address)
        let writing = #expect(throws: DatabaseError.self) {
            try connection.execute("CREATE TABLE t (id bigint)")
        }
        var several = address
        several.target = .readWrite
        let entering = #expect(throws: DatabaseError.self) { try ServerConnection(several) }

        #expect(writing?.message == message)
        #expect(writing?.kind == .gone)
        #expect(entering == .init(kind: .gone, message: message, code: "PostgreSQL 25006"))
    }

    @Test func `a server without a free connection says how many are needed`() async throws {
        let server = try await PostgresServer.shared()
        let role = "few_\(try server.makeDatabase().database)"
        try server.administrator().execute("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 2")
        let address = server.address(of: "postgres", user: role)
        let sessions = [try ServerConnection(address), try ServerConnection(address)]

        let error = #expect(throws: DatabaseError.self) { try ServerConnection(address) }

        withExtendedLifetime(sessions) {
            #expect(
                error?.message == "too many connections for role \"\(role)\"; a loop needs 3 and "
                    + "each attempt up to 2: raise `max_connections`, or the `CONNECTION LIMIT` of "
                    + "the role or the database")
        }
    }

    @Test func `a session whose foreign keys are off is refused`() async throws {
        let address = try await database([("session_replication_role", "replica")])

        let error = #expect(throws: DatabaseError.self) {
            try ServerConnection(address, owner: .init(column: "account", value: "ada"))
        }

        #expect(
            error?.message == "`session_replication_role` is `replica` for this role or database, "
                + "so that the server checks no foreign keys; reset it")
    }
}
