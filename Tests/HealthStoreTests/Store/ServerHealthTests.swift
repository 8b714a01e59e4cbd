import Platform
import ClarityTestSupport
import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(
    "Health data in PostgreSQL",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct ServerHealthTests {
    /// Returns a state directory whose health data is on the server.
    private func folder() async throws -> StateFolder {
        HealthServer.$current.withValue(try await HealthServer.shared()) { StateFolder() }
    }

    /// Fills the tables, and returns the directory and the names of the tables.
    private func filled() async throws -> (folder: StateFolder, tables: [String]) {
        let folder = try HealthServer.$current.withValue(try await HealthServer.shared()) {
            try FilledStore().folder
        }
        let own = try folder.connect()
        // What `FilledStore` has no use for.
        try own.execute(
            """
            INSERT INTO account_key (id, wrapped) VALUES (1, '');
            INSERT INTO rotation (id, begun_at_ms, proof, new_in_file, former_in_file)
                VALUES (1, 0, '', 0, 0);
            INSERT INTO former_keys (generation, copy, sealed, retired_at_ms) VALUES (1, 1, '', 0);
            INSERT INTO form_upgrade (id) VALUES (1);
            INSERT INTO dialects (backend, name) VALUES ('a', 'b');
            INSERT INTO login_tries (tag, tried_at_ms) VALUES (zeroblob(16), 0);
            INSERT INTO restorations (made_at_ms, until_s, is_doubtful) VALUES (0, 0, 0);
            INSERT INTO batches (client_timestamp_ms) VALUES (0);
            INSERT INTO requests (route, sent_at_ms) VALUES ('a', 0);
            INSERT INTO closures (route, until_ms) VALUES ('a', 0);
            INSERT INTO metered_bytes (sent_at_ms, bytes) VALUES (0, 0);
            INSERT INTO missing_texts (insight_id, asked_count, last_asked_at_ms)
                VALUES ('a', 1, 0);
            INSERT INTO pruned_months (type, month) VALUES ('a', 0);
            INSERT INTO notices (kind, subject, text, raised_at_ms) VALUES ('a', 'b', 'c', 0);
            INSERT INTO notice_deliveries (notice, target, event, state)
                SELECT id, 'a', 'raised', 'pending' FROM notices;
            """)
        let tables = try own.all(
            """
            SELECT tablename FROM pg_tables
            WHERE schemaname = 'clarity_health'
                AND tablename NOT IN (
                    'schema_version', 'logins', 'count_changes',
                    'backend_turns', 'backend_connections')
            ORDER BY tablename
            """
        ) { $0.text(0) }
        return (folder, tables)
    }

    @Test func `a session that the server ends is told as a server out of reach`() async throws {
        let folder = try await folder()
        let store = try folder.open()
        let database = try #require(try folder.place()).address.database

        try await PostgresServer.shared().endSessions(of: database)

        let error = try #require(throws: HealthStoreError.self) {
            try store.access { connection in try connection.run("SELECT 1") }
        }
        #expect(error.failure.category == .unreachable)
    }

    @Test func `an answer that comes when the session has ended is recorded over a new one`()
        async throws
    {
        let folder = try await folder()
        let rules = testRules(.samples, isIdempotent: false)
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<5))
        func draw(_ store: HealthStore, besides: Set<Int64> = []) throws -> OutboxBatch? {
            try store.outbox.nextBatches(limit: 3, rules: [rules], at: noon, besides: besides).batch
        }
        func settle(_ batch: OutboxBatch) async throws {
            try await store.recording { () throws(HealthStoreError) in
                _ = try store.outbox.settle(batch, processingID: "p", at: noon)
            }
        }
        let first = try #require(try draw(store))
        let second = try #require(try draw(store, besides: [first.id]))
        let database = try #require(try folder.place()).address.database

        try await PostgresServer.shared().endSessions(of: database)
        try await settle(first)
        let reopened = try folder.open()

        #expect(try reopened.outbox.states() == [.accepted: 3, .sending: 2])
        // The other batch is still on its way, and still this store's.
        #expect(try draw(reopened) == nil)
        try await settle(second)
        #expect(try reopened.outbox.states() == [.accepted: 5])
    }

    @Test func `an answer is recorded however often the session ends meanwhile`() async throws {
        let folder = try await folder()
        let store = try folder.open()
        var calls = 0

        let recorded = try await store.recording { () throws(HealthStoreError) in
            try store.change { connection in
                calls += 1
                if calls < 4 {
                    try connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                }
                return calls
            }
        }

        #expect(recorded == 4)
    }

    @Test func `a store that waits for its server sleeps on its clock, for 30 s at most`()
        async throws
    {
        let folder = try await folder()
        let clock = ManualClock(noon)
        let store = try folder.open(clock: clock)
        let database = try #require(try folder.place()).address.database
        let server = try await PostgresServer.shared()
        let admin = try ServerConnection(server.address(of: "postgres", user: "admin"))
        try admin.execute("ALTER DATABASE \(database) CONNECTION LIMIT 0")
        try server.endSessions(of: database)

        let error = await #expect(throws: HealthStoreError.self) {
            try await store.recording { () throws(HealthStoreError) in
                try store.change { try $0.run("SELECT 1") }
            }
        }
        let sleeps = clock.sleeps
        try admin.execute("ALTER DATABASE \(database) CONNECTION LIMIT -1")
        let again = try await store.recording { () throws(HealthStoreError) in
            try store.change { try $0.integer("SELECT 7") }
        }

        #expect(error?.failure.category == .unreachable)
        #expect(sleeps == Array(repeating: .milliseconds(200), count: 150))
        #expect(again == 7)
    }

    @Test func `a move that ended before the login had left is completed by the next`()
        async throws
    {
        struct Ended: Error {}
        let folder = try await folder()
        let place = try #require(try folder.place())
        let files = StateFolder()
        let store = try files.open()
        let server = try HealthStore(
            in: place, key: HealthStore.key(of: HealthFile(in: files.path), [:]),
            actor: AuditActor(), clock: SystemClock())
        try store.sessions.save(
            Session(
                userID: "ada", email: "ada@example.com", accessToken: Secret("a"),
                refreshToken: Secret("b"), expiresAt: noon))
        _ = try store.outbox.enqueue(heartRates(0..<5))

        #expect(throws: (any Error).self) {
            try store.changeAnyway { source in
                try store.audit.record(.exported, [:], source)
                _ = try server.take(from: source)
                throw Ended()
            }
        }
        let outcome = try store.move(to: server)
        let again = try store.move(to: server)

        #expect(outcome == .same && again == .same)
        #expect(try store.sessions.load() == nil)
        #expect(try server.sessions.load() != nil)
        #expect(try server.outbox.states() == [.queued: 5])
    }

    @Test func `a role that takes every lock number it guesses or sees holds up no other account`()
        async throws
    {
        let folder = try await folder()
        let place = try #require(try folder.place())
        _ = try folder.open()
        var address = place.address
        address.user = "clarity/eve"
        let stranger = try ServerConnection(address)
        // The hashes of `account ada` and `login of ada`, by which one could guess.
        for number: Int64 in [7_609_326_900_623_069_136, -6_555_880_030_162_779_429] {
            try stranger.run("SELECT pg_advisory_lock(?)", .integer(number))
        }

        var store: HealthStore? = try folder.open()
        _ = try store?.outbox.enqueue(heartRates(0..<5))
        #expect(try store?.sessions.lock() != nil)
        #expect(try store?.outbox.nextBatch(limit: 3, at: noon)?.samples.count == 3)
        let seen = try stranger.all(
            """
            SELECT classid::bigint << 32 | objid::bigint FROM pg_locks
            WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        ) { $0.integer(0) }
        store = nil
        // Each is free once the server has noticed that the store is gone.
        for number in seen { try stranger.run("SELECT pg_advisory_lock(?)", .integer(number)) }

        // What the first one was sending is sent again, and the rest too.
        let next = try folder.open()
        var sent = 0
        while let batch = try next.outbox.nextBatch(limit: 3, at: noon) {
            sent += batch.samples.count
            try next.outbox.settle(batch, processingID: "p", at: noon)
        }
        #expect(sent == 5)
        #expect(try next.outbox.states() == [.accepted: 5])
        withExtendedLifetime(stranger) {}
    }

    @Test func `no table shows or gives a row to another account`() async throws {
        let (folder, tables) = try await filled()
        let place = try #require(try folder.place())
        let own = try folder.connect()
        func count(_ table: String, _ connection: Connection) throws -> Int64? {
            try connection.integer("SELECT count(*) FROM \(table)")
        }
        let known = HealthStore.wipedTables.map(\.0) + HealthStore.keptTables
        let ofServer = ["account_key", "locks"]
        #expect(Set(tables) == Set(known + ofServer).subtracting(["sqlite_sequence"]))

        // Each role with each account, but for the own account with its own role.
        for (role, account) in [
            ("ada", "eve"), ("ada", nil), ("eve", "ada"), ("eve", "eve"), ("eve", nil),
        ] {
            var address = place.address
            address.user = "clarity/\(role)"
            let stranger = try ServerConnection(
                address, owner: account.map { .init(column: "account", value: $0) },
                schema: ServerHealthSchema.name)
            for table in tables {
                let rows = try count(table, own)
                #expect(rows ?? 0 > 0, "\(table)")
                #expect(try count(table, stranger) == 0, "\(table)")
                #expect(try stranger.change("UPDATE \(table) SET account = account") == 0)
                #expect(try stranger.change("DELETE FROM \(table)") == 0)
                #expect(try count(table, own) == rows, "\(table)")
            }
            #expect(try count("samples", own) ?? 0 > 0)
            #expect(try count("samples", stranger) == 0)
            let error = #expect(throws: DatabaseError.self) {
                try stranger.run(
                    "INSERT INTO closures (account, route, until_ms) VALUES ('ada', 'x', 0)")
            }
            #expect(error?.kind == .access)
        }
    }

    @Test func `the server has neither the key nor a value`() async throws {
        let (folder, tables) = try await filled()
        let own = try folder.connect()
        let rows = try tables.flatMap { table in
            try own.all("SELECT CAST(\(table) AS text) FROM \(table)") { $0.text(0) }
        }.joined(separator: "\n")
        func hex(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { String($0, radix: 16) }.map { $0.count == 1 ? "0\($0)" : $0 }.joined()
        }
        let key = String(decoding: folder.bytes(of: "keys/master.key"), as: UTF8.self)
            .split(separator: "\n")[0]

        #expect(rows.contains("heart_rate"))
        #expect(!rows.contains(key))
        for secret in ["ada@example.com", "refresh", "Invented watch", "/home/ada", "Europe"] {
            #expect(!rows.contains(secret) && !rows.contains(hex(secret.utf8)), "\(secret)")
        }
    }

    @Test func `accounts of one database have the same numbers and know nothing of each other`()
        async throws
    {
        let folder = try await folder()
        let key = try MasterKey.random()
        let stores = try ["ada", "eve"].map { account in
            try HealthStore(
                in: try #require(try folder.place(of: account)), key: key, actor: AuditActor(),
                clock: SystemClock())
        }
        for (store, samples) in zip(stores, [heartRates(0..<5), heartRates(0..<7)]) {
            _ = try store.outbox.enqueue(samples)
        }
        let batches = try stores.map { try #require(try $0.outbox.nextBatch(limit: 3, at: noon)) }
        try stores[0].outbox.settle(batches[0], processingID: "p", at: noon)

        #expect(try stores[0].outbox.states() == [.accepted: 3, .queued: 2])
        #expect(try stores[1].outbox.states() == [.sending: 3, .queued: 4])
        #expect(throws: HealthStoreError.self) {
            try HealthStore(
                in: try #require(try folder.place()), key: try MasterKey.random(),
                actor: AuditActor(), clock: SystemClock())
        }
    }

    @Test func `each step of the file since the first server has an upgrade`() {
        #expect(HealthSchema.migrations.newest - 26 == ServerHealthSchema.schema.version - 28)
    }

    @Test func `a database without this version's health data is refused`() async throws {
        let empty = try await PostgresServer.shared().makeDatabase()
        let none = #expect(throws: HealthStoreError.self) {
            try HealthStore(
                in: HealthServerPlace(
                    address: empty, account: "ada", folder: "/nowhere", key: nil),
                key: try MasterKey.random(), actor: AuditActor(), clock: SystemClock())
        }
        #expect(none?.description.contains("there is no health data in this database") == true)

        let folder = try await folder()
        var owner = try #require(try folder.place()).address
        owner.user = "clarity"
        try ServerConnection(owner, schema: ServerHealthSchema.name)
            .run("UPDATE schema_version SET version = 99")
        let newer = #expect(throws: HealthStoreError.self) { try folder.open() }
        guard case .schema(.newer(found: 99, _), _) = newer else {
            Issue.record("\(String(describing: newer))")
            return
        }
    }
}
