import ClarityTestSupport
import Testing

@testable import Database

@Suite(
    "A session through a connection pool", .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"),
    .enabled(if: ConnectionPool.isAvailable, "\(ConnectionPool.need)"))
struct ConnectionPoolTests {
    private let owner = ServerConnection.Owner(column: "account", value: "ada")
    private let database: ServerAddress

    init() async throws {
        database = try await PostgresServer.shared().makeDatabase()
        try ServerConnection(database).execute("CREATE SCHEMA s; CREATE TABLE s.t (id bigint)")
    }

    private func connect(_ address: ServerAddress) throws -> ServerConnection {
        try ServerConnection(address, owner: owner, schema: "s")
    }

    @Test func `a table that another session lacks is told with what a pool has to do`()
        async throws
    {
        let pool = try await ConnectionPool(before: database, mode: "transaction")
        let connection = try connect(pool.address(of: database))
        #expect(try connection.integer("SELECT count(*) FROM t") == 0)

        // While somebody else has the session of the server, the pool opens another one.
        let other = try ServerConnection(pool.address(of: database))
        try other.execute("BEGIN")
        let error = #expect(throws: DatabaseError.self) {
            try connection.run("SELECT id FROM t")
        }

        #expect(
            error?.message == "relation \"t\" does not exist; a connection pool in between has to "
                + "give each client a session of its own (`pool_mode = session` in pgbouncer)")
    }

    @Test func `a pool that refuses transactions is told with what it has to do`() async throws {
        let pool = try await ConnectionPool(before: database, mode: "statement")
        let connection = try connect(pool.address(of: database))

        let error = #expect(throws: DatabaseError.self) {
            try connection.transaction { _ = try connection.integer("SELECT 1") }
        }

        #expect(
            error?.message == "transaction blocks not allowed in statement pooling mode; a "
                + "connection pool in between has to give each client a session of its own "
                + "(`pool_mode = session` in pgbouncer)")
    }

    @Test func `a pool of sessions works, and a missing table is just that`() async throws {
        let pool = try await ConnectionPool(before: database, mode: "session")
        let connection = try connect(pool.address(of: database))

        #expect(try connection.integer("SELECT count(*) FROM t") == 0)
        try connection.transaction { try connection.run("INSERT INTO t VALUES (1)") }
        let error = #expect(throws: DatabaseError.self) {
            try connect(database).run("SELECT 1 FROM u")
        }
        #expect(error?.message == "relation \"u\" does not exist")
    }
}
