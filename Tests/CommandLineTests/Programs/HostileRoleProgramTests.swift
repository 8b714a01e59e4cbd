import ClarityTestSupport
import Database
import Glibc
@testable import ProgramTestSupport
import Testing

/// Somebody who has taken over the worker of one account, and with it the account's role in the
/// database, against the built programs.
@Suite(
    "The role of one account against the others", .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct HostileRoleProgramTests {
    @Test func `an account's role stops neither a loop nor the one that takes over`() async throws {
        let database = try await StateDatabase()
        let playground = try await Playground(sandboxOptions: nil, on: database)
        // The upload waits for a login, about which the loop asks the database.
        try playground.write { url, folder in
            """
            version: 1
            backend: { url: \(url) }
            sources: [{ kind: apple-health-export, path: "\(folder)/export.xml" }]
            jobs:
              - id: tick
                kind: command
                schedule: { every: 1s }
                options: { command: [/bin/true] }
              - { id: upload, kind: bulk-upload, schedule: { every: 1s } }

            """
        }
        let first = try playground.start(["loop"])
        try #require(try await starts(2, database))
        let attack = Task.detached { [address = database.address] in
            try await Intruder(address).takeAllUntilCancelled()
        }
        defer { attack.cancel() }

        #expect(try await starts(3, database), "a loop that runs starts nothing any more")
        let second = try playground.start(["loop"])
        #expect(try await starts(2, database))
        first.signal(SIGKILL)
        _ = await first.finish()
        #expect(try await starts(3, database), "no loop takes over from a killed one")

        second.signal(SIGTERM)
        #expect(await second.finish().status == 128 + SIGTERM)
        attack.cancel()
        let taken = try await attack.value
        // The attack took what there was to take.
        #expect(taken.numbers >= 3 && taken.tables >= 10 && taken.names >= 2, "\(taken)")
    }

    /// Waits until `count` more runs have succeeded; returns whether they did within 20 s.
    private func starts(_ count: Int64, _ database: StateDatabase) async throws -> Bool {
        let history = try database.history()
        let query = "SELECT count(*) FROM runs WHERE job_id = 'tick' AND state = 'succeeded'"
        let goal = try (history.integer(query) ?? 0) + count
        let deadline = ContinuousClock.now + .seconds(20)
        while try history.integer(query) ?? 0 < goal {
            guard ContinuousClock.now < deadline else { return false }
            try await Task.sleep(for: .milliseconds(20))
        }
        return true
    }
}

/// A session of the role `clarity/ada`, to which the server denies what it denies to any account.
private struct Intruder {
    private let address: ServerAddress
    private let session: ServerConnection
    /// A transaction sees the names of its beginning.
    private let looking: ServerConnection
    /// Sessions with the names that others have or had.
    private var namesakes: [String: ServerConnection] = [:]
    /// The numbers of advisory locks that it could guess or has seen.
    private var numbers = Set(
        ["account -", "login of -", "account ada"].map(fnv1a))

    init(_ database: ServerAddress) throws {
        var address = database
        address.user = "clarity/ada"
        self.address = address
        session = try ServerConnection(address)
        looking = try ServerConnection(address)
    }

    /// Takes every lock that the server gives it, and the name of each session, and keeps them.
    ///
    /// - Returns: how many numbers and tables it has locked, and how many names it has.
    func takeAllUntilCancelled() async throws -> (numbers: Int, tables: Int, names: Int) {
        var taken = self
        try session.execute("BEGIN")
        try session.execute(Intruder.takingTables)
        while !Task.isCancelled {
            try taken.takeNumbers()
            try taken.takeNames()
            usleep(2000)
        }
        let held = try session.first(
            """
            SELECT count(*) FILTER (WHERE locktype = 'advisory'),
                count(*) FILTER (WHERE mode = 'AccessExclusiveLock')
            FROM pg_locks WHERE pid = pg_backend_pid() AND granted
            """
        ) { (Int($0.integer(0)), Int($0.integer(1))) }
        return (held?.0 ?? 0, held?.1 ?? 0, taken.namesakes.count)
    }

    private mutating func takeNames() throws {
        let names = try looking.all(
            """
            SELECT DISTINCT application_name FROM pg_stat_activity
            WHERE datname = current_database() AND usename = 'clarity'
                AND application_name LIKE 'clarity-%'
            """
        ) { $0.text(0) }
        for name in names where namesakes[name] == nil {
            let namesake = try ServerConnection(address)
            try namesake.run("SELECT set_config('application_name', ?, false)", .text(name))
            namesakes[name] = namesake
        }
    }

    private mutating func takeNumbers() throws {
        let seen = try session.all(
            """
            SELECT classid::bigint << 32 | objid::bigint FROM pg_locks
            WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        ) { $0.integer(0) }
        numbers.formUnion(seen)
        for number in numbers.sorted() {
            _ = try session.integer("SELECT pg_try_advisory_lock(?)", .integer(number))
        }
    }

    private static let takingTables = """
        DO $$ DECLARE place record; BEGIN
            FOR place IN
                SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'clarity%'
            LOOP
                BEGIN
                    EXECUTE format('LOCK TABLE %I.%I IN ACCESS EXCLUSIVE MODE',
                        place.schemaname, place.tablename);
                EXCEPTION WHEN insufficient_privilege THEN NULL;
                END;
            END LOOP;
        END $$
        """

    /// The 64-bit FNV-1a hash, by which versions before this test made the numbers of names.
    private static func fnv1a(_ name: String) -> Int64 {
        Int64(
            bitPattern: name.utf8.reduce(0xCBF2_9CE4_8422_2325) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01B3
            })
    }
}
