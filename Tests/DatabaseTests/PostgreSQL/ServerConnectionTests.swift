import ClarityTestSupport
import Glibc
import Testing

@testable import Database

@Suite(
    "A session with PostgreSQL",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct ServerConnectionTests {
    @Test func `a session that the server has ended fails at once from then on`() async throws {
        let address = try await PostgresServer.shared().makeDatabase()
        let connection = try ServerConnection(address)
        let pid = try #require(try connection.first("SELECT pg_backend_pid()") { $0.integer(0) })
        let other = try ServerConnection(address)
        try other.run("SELECT pg_terminate_backend(?)", .integer(pid))

        // The end may reach this side during one statement or before the next.
        let error = #expect(throws: DatabaseError.self) {
            for _ in 0..<1000 { try connection.run("SELECT 1") }
        }
        #expect(error?.kind == .gone)
        #expect(connection.hasFailed)
        #expect(throws: DatabaseError.self) { try connection.execute("SELECT 1") }
    }

    @Test func `a server that freezes costs the time of an answer and no more`() async throws {
        let address = try await PostgresServer.shared().makeDatabase()
        let connection = try ServerConnection(address, patience: .milliseconds(300))
        let pid = try #require(try connection.first("SELECT pg_backend_pid()") { $0.integer(0) })
        try #require(kill(pid_t(pid), SIGSTOP) == 0)
        defer { kill(pid_t(pid), SIGCONT) }

        let start = ContinuousClock.now
        let error = #expect(throws: DatabaseError.self) { try connection.run("SELECT 1") }

        #expect(error?.kind == .gone)
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(connection.hasFailed)
    }

    @Test func `a lock that another holds is busy when its time is over`() async throws {
        let address = try await PostgresServer.shared().makeDatabase()
        try ServerConnection(address).execute("CREATE TABLE t ()")
        let lock = "LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE"
        let holder = try ServerConnection(address, writeLock: lock)
        let waiting = try ServerConnection(
            address, writeLock: lock, patience: .milliseconds(500))
        try holder.transaction {
            // The lock is there once an answer is.
            _ = try holder.integer("SELECT 1")
            let error = #expect(throws: DatabaseError.self) { try waiting.transaction {} }
            #expect(error?.kind == .busy)
        }
        #expect(!waiting.hasFailed)
        try waiting.transaction {}
    }

    @Test func `a schema of a release is brought up to date while nobody uses it`() async throws {
        let server = try await PostgresServer.shared()
        var address = try server.makeDatabase()
        let old = ServerSchema("s", first: 3, of: "data")
        let new = ServerSchema(
            "s", first: 3,
            upgrades: ["ALTER TABLE t ADD COLUMN b int;", "ALTER TABLE t ADD COLUMN c int;"],
            of: "data")
        let owner = try ServerConnection(address)
        try owner.execute(old.statements(tables: "CREATE TABLE t (a int);"))
        address.user = "users_\(address.database)"
        try server.administrator().execute("CREATE ROLE \(address.user) LOGIN")
        func error(_ body: () throws -> Void) -> String? {
            #expect(throws: DatabaseError.self, performing: body)?.message
        }

        let before = error { try new.requireVersion(owner) }
        let session = try ServerConnection(address)
        let used = error { try owner.execute(new.upgrade(users: address.user)) }
        session.close()
        // The server ends a session a moment after its client.
        while try owner.integer(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = ?", .text(address.user)) != 0
        {}
        try owner.execute(new.upgrade(users: address.user))
        try new.requireVersion(owner)
        let columns = try owner.all(
            "SELECT attname FROM pg_attribute WHERE attrelid = 's.t'::regclass AND attnum > 0"
        ) { $0.text(0) }
        try owner.execute("UPDATE s.schema_version SET version = 2")
        let early = error { try new.requireVersion(owner) }
        let upgraded = error { try owner.execute(new.upgrade(users: address.user)) }

        #expect(before?.contains("the data has version 3, not 5; bring it up to date") == true)
        #expect(used?.contains("stop all loops and commands") == true)
        #expect(columns == ["a", "b", "c"])
        let tooOld = "the data has version 2, of a build before the first release with databases"
        #expect(early?.contains(tooOld) == true && upgraded?.contains(tooOld) == true)
    }

    /// As a pool shares it that gives each transaction any session.
    @Test func `a session that somebody else uses too is told with what a pool has to do`()
        async throws
    {
        let connection = try ServerConnection(try await PostgresServer.shared().makeDatabase())
        try connection.execute("PREPARE s0 AS SELECT 1")

        let error = #expect(throws: DatabaseError.self) { try connection.run("SELECT 1") }

        #expect(error?.message.contains("`pool_mode = session`") == true)
    }

    @Test func `who may not enter is told apart from who finds nobody`() async throws {
        let server = try await PostgresServer.shared()
        var address = try server.makeDatabase()
        func kind(_ address: ServerAddress) -> DatabaseError.Kind? {
            #expect(throws: DatabaseError.self) { try ServerConnection(address) }?.kind
        }

        address.database = "nosuch"
        #expect(kind(address) == .access)
        address.user = "nobody"
        #expect(kind(address) == .access)
        address.host = "/nosuch"
        #expect(kind(address) == .gone)
        // A name that this machine alone resolves, and a port where nobody listens.
        address.host = "127.0.0.1"
        address.port = 1
        #expect(kind(address) == .gone)
    }

    @Test(arguments: [
        ("/run/postgresql", false), ("localhost", false), ("127.0.0.1", false), ("::1", false),
        ("db.example.org", true), ("127.example.org", true), ("10.0.0.1", true),
    ])
    func `beyond this machine the server has to prove its name`(host: String, proves: Bool) {
        let address = ServerAddress(host: host, database: "d", user: "u")
        #expect(mode(address) == (proves ? "verify-full" : "prefer"))
    }

    @Test func `one host beyond this machine makes all of them prove their names`() {
        var address = ServerAddress(host: "/run/postgresql", database: "d", user: "u")
        address.hosts.append(ServerAddress.Host("db.example.org"))

        #expect(mode(address) == "verify-full")
    }

    private func mode(_ address: ServerAddress) -> String? {
        address.parameters(for: address.hosts[0]).first { $0.name == "sslmode" }?.value
    }

    @Test func `an error has no value`() async throws {
        let connection = try ServerConnection(
            try await PostgresServer.shared().makeDatabase())
        try connection.execute(
            """
            CREATE TABLE t (a bigint CONSTRAINT t_a CHECK (a < 5), b text UNIQUE, c bytea NOT NULL);
            INSERT INTO t VALUES (1, 'secret', '');
            """)
        let statements = [
            "INSERT INTO t VALUES (?, 'x', '')", "INSERT INTO t (a) VALUES (CAST(? AS bigint))",
            "INSERT INTO t VALUES (1, ?, '')", "INSERT INTO t VALUES (1, ?, NULL)",
            "SELECT CAST(CAST(? AS text) AS date)", "SELECT CAST(CAST(? AS text) AS json)",
        ]
        for sql in statements {
            let error = #expect(throws: DatabaseError.self) {
                try connection.run(sql, .text("secret"))
            }
            #expect("\(String(describing: error))".contains("secret") == false, "\(sql)")
        }
    }

    @Test func `a notification reaches the sessions that listen`() async throws {
        let address = try await PostgresServer.shared().makeDatabase()
        let listening = try ServerConnection(address)
        try listening.execute("LISTEN news")
        #expect(try listening.takeNotifications() == [])

        try ServerConnection(address).run("SELECT pg_notify('news', '')")

        var descriptor = pollfd(fd: listening.socket, events: Int16(POLLIN), revents: 0)
        #expect(poll(&descriptor, 1, 10_000) == 1)
        #expect(try listening.takeNotifications().map(\.channel) == ["news"])
    }
}
