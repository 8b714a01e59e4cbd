import ClarityScheduler
import ClarityTestSupport
import Database
import Glibc
import Testing

@testable import ClarityHost

@Suite(
    "What becomes of leases in PostgreSQL",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct ServerTakeoverTests {
    /// A process that holds the lease of run 1, and a store that sees it.
    private struct Scene {
        let bed: PostgresRunStoreBed
        let holder: ChildProgram
        let other: any RunStore

        init() async throws {
            bed = try await PostgresRunStoreBed()
            holder = try ChildProgram(
                "\(ChildProgram.folder)/lease-holder",
                [bed.address.host, "5432", bed.address.database, "holder"], environment: [:])
            try #require(await holder.readLine() == "held")
            other = try bed.open().store
            #expect(try state() == .held)
        }

        func state() throws -> Lease.State? { try other.ledger().open[RunID(1)]?.lease?.state }

        /// Looks until the lease has lapsed, for at most ten seconds.
        func waitUntilLapsed() throws {
            let start = ContinuousClock.now
            while try state() != .lapsed, ContinuousClock.now - start < .seconds(10) {}
            #expect(try state() == .lapsed)
        }
    }

    /// The pulse of a loop that keeps its session also while the machine has no time for it.
    private static func patient() -> LoopPulse { LoopPulse(timeout: .seconds(20)) { $0() } }

    @Test func `the lease of a killed process lapses`() async throws {
        let scene = try await Scene()

        scene.holder.signal(SIGKILL)

        try scene.waitUntilLapsed()
    }

    @Test func `the lease of a killed process lapses whatever locks another role takes`()
        async throws
    {
        let scene = try await Scene()
        var address = scene.bed.address
        address.user = "clarity/eve"
        let stranger = try ServerConnection(address)
        let seen = try stranger.all(
            """
            SELECT classid::bigint << 32 | objid::bigint FROM pg_locks
            WHERE locktype = 'advisory' AND pid <> pg_backend_pid()
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        ) { $0.integer(0) }

        scene.holder.signal(SIGKILL)
        // The store that looks has some as well, and keeps them.
        for number in seen {
            #expect(throws: Never.self) {
                for _ in 0..<1000
                where try stranger.integer(
                    "SELECT pg_try_advisory_lock(?)", .integer(number)) == 1
                {
                    break
                }
            }
        }

        try scene.waitUntilLapsed()
        withExtendedLifetime(stranger) {}
    }

    @Test func `the lease of a frozen process lapses, and it writes nothing when it comes back`()
        async throws
    {
        let scene = try await Scene()

        scene.holder.signal(SIGSTOP)
        try scene.waitUntilLapsed()
        scene.holder.signal(SIGCONT)
        scene.holder.writeLine("renew")
        let answer = try #require(await scene.holder.readLine())

        #expect(answer.contains("has ended"), "\(answer)")
        #expect(try scene.state() == .lapsed)
    }

    @Test func `closing a store does not wait for a frozen server`() async throws {
        let bed = try await PostgresRunStoreBed()
        var store: PostgresRunStore? = try PostgresRunStore(at: bed.address, owner: "left")
        let connection = try ServerConnection(bed.address)
        let found = try connection.first(
            """
            SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND split_part(application_name, ' ', 2) = ?
            """, .text(SessionMark.of("left"))
        ) { $0.integer(0) }
        let backend = pid_t(try #require(found))
        try #require(kill(backend, SIGSTOP) == 0)
        defer { kill(backend, SIGCONT) }
        // Longer than the time between two beats: the session waits for an answer.
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(1) { try connection.run("SELECT 1") }
        withExtendedLifetime(store) {}

        let end = ContinuousClock.now
        store = nil

        #expect(ContinuousClock.now - end < .seconds(3))
    }

    @Test func `a process that lives keeps its lease while it waits`() async throws {
        let scene = try await Scene()

        // Longer than the silence after which the server ends a session.
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(3) { #expect(try scene.state() == .held) }
        scene.holder.writeLine("renew")

        #expect(await scene.holder.readLine() == "renewed")
    }

    @Test func `one loop is the leader, and another follows when it has ended`() async throws {
        let bed = try await PostgresRunStoreBed()
        var first: PostgresRunStore? = try PostgresRunStore(
            at: bed.address, owner: "first", pulse: Self.patient())
        for await _ in try #require(first).turn {}
        let second = try PostgresRunStore(
            at: bed.address, owner: "second", pulse: Self.patient())
        let (writing, owner) = try bed.open()
        let run = try RunStoreConformance.runningRun(1, owner)
        try writing.decide { _ in [.put(run)] }

        // It has asked for the lead before it hears anything.
        for await _ in second.changes { break }
        #expect(first?.isLeader == true && !second.isLeader)
        first = nil
        for await _ in second.turn {}

        #expect(second.isLeader)
    }

    @Test func `the next leader ends the decision in which the one before it was cut off`()
        async throws
    {
        let bed = try await PostgresRunStoreBed()
        func loop(_ owner: String) throws -> PostgresRunStore {
            try PostgresRunStore(
                at: bed.address, owner: owner, pulse: Self.patient(), patience: .seconds(20))
        }
        nonisolated(unsafe) let first = try loop("first")
        for await _ in first.turn {}
        nonisolated(unsafe) let next = try loop("next")
        nonisolated(unsafe) let admin = try ServerConnection(bed.address)

        let taken = try await blocking { () -> Result<Duration, any Error>? in
            var taken: Result<Duration, any Error>?
            #expect(throws: RunStoreError.self) {
                try first.decide { _ in
                    taken = Result {
                        // As if its beat did not arrive any more, while it holds the lock of decisions.
                        try admin.run(
                            """
                            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                            WHERE datname = current_database()
                                AND split_part(application_name, ' ', 2) = ?
                            """, .text(SessionMark.of("first")))
                        let start = ContinuousClock.now
                        while !next.isLeader, ContinuousClock.now - start < .seconds(20) {
                            usleep(10_000)
                        }
                        try next.decide { _ in [] }
                        return ContinuousClock.now - start
                    }
                    return []
                }
            }
            return taken
        }

        // Before the server ends an idle transaction by itself, after 5 s.
        #expect(try #require(try taken?.get()) < .seconds(4))
    }

    @Test func `a leader whose deciding thread is stuck loses the lead`() async throws {
        let bed = try await PostgresRunStoreBed()
        let stuck = try PostgresRunStore(
            at: bed.address, owner: "stuck",
            pulse: LoopPulse(longest: .milliseconds(1)) { _ in })
        for await _ in stuck.turn {}
        let second = try PostgresRunStore(
            at: bed.address, owner: "second", pulse: Self.patient())

        for await _ in second.turn {}

        #expect(second.isLeader)
        let error = #expect(throws: RunStoreError.self) { try stuck.ledger() }
        #expect("\(error as Any)".contains("leases has ended"), "\(error as Any)")
    }

    @Test func `a process does not wait for the lead of its own other store`() async throws {
        let bed = try await PostgresRunStoreBed()
        let pulse = Self.patient()
        let first = try PostgresRunStore(at: bed.address, owner: "first", pulse: pulse)
        for await _ in first.turn {}

        let second = try PostgresRunStore(at: bed.address, owner: "second", pulse: pulse)
        for await _ in second.turn {}

        #expect(second.isLeader)
        withExtendedLifetime(first) {}
    }

    @Test func `loops of which none decides are known as such`() async throws {
        let bed = try await PostgresRunStoreBed()
        let blocker = try ServerConnection(bed.address)
        try SessionMark.set("blocker", "mark", on: blocker)
        #expect(try ServerHistory.takeLead(as: "mark", blocker))
        let standby = try PostgresRunStore(
            at: bed.address, owner: "here/1-a", pulse: Self.patient())
        let looking = try ServerHistory.connect(to: bed.address)

        let waiting = try ServerHistory.loops(looking)
        blocker.close()
        for await _ in standby.turn {}
        let deciding = try ServerHistory.loops(looking)

        #expect(waiting.isLeaderless)
        #expect(deciding.count == 1 && !deciding.isLeaderless)
    }

    /// Its transaction would have the lock of the decisions, which another loop wants to take over.
    @Test func `a process that has lost its leases begins no decision`() async throws {
        let bed = try await PostgresRunStoreBed()
        let store = try PostgresRunStore(
            at: bed.address, owner: "lost", pulse: LoopPulse { $0() },
            patience: .seconds(2))
        for await _ in store.turn {}
        let admin = try ServerConnection(bed.address)
        try admin.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database()
                AND split_part(application_name, ' ', 2) = ?
            """, .text(SessionMark.of("lost")))
        for await _ in store.changes { break }
        let other = try ServerHistory.connect(to: bed.address)

        try other.transaction {
            _ = try other.integer("SELECT 1")
            // It would be told that the lock is not free.
            let error = #expect(throws: RunStoreError.self) {
                try store.decide { _ in
                    Issue.record("it decides")
                    return []
                }
            }
            #expect("\(error as Any)".contains("leases has ended"), "\(error as Any)")
        }
    }

    @Test func `a process hears what another has written`() async throws {
        let bed = try await PostgresRunStoreBed()
        let listening = try PostgresRunStore(at: bed.address, owner: "listening")
        let (writing, owner) = try bed.open()
        let run = try RunStoreConformance.runningRun(1, owner)
        try writing.decide { _ in [.put(run)] }

        for await _ in listening.changes { break }

        #expect(try listening.ledger().open[run.id] != nil)
    }
}
