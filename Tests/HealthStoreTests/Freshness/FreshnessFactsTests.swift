import HealthModel
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite("What the store knows of a goal", .onBothEngines) struct FreshnessFactsTests {
    private let folder = StateFolder()
    private let goal = FreshnessGoal(.samples(.heartRate), within: .seconds(3600))

    /// Stores one sample in a state; it ends this many seconds after `noon`.
    private func put(
        _ state: String, _ seconds: Int64, kind: String = "heart_rate", asOf: Int64? = nil,
        in store: HealthStore
    ) throws {
        let end = noon.secondsSince1970 + seconds
        try store.access { connection in
            try connection.run(
                """
                INSERT INTO batches (id, state, client_timestamp_ms, processing_id, accepted_at_ms,
                    finished_at_ms)
                VALUES (1, 'sending', 0, NULL, NULL, NULL), (2, 'accepted', 0, 'p', 0, NULL),
                    (3, 'unconfirmed', 0, 'p', 0, 0), (4, 'confirmed', 0, 'p', 0, 0)
                ON CONFLICT (id) DO NOTHING
                """)
            try connection.run(
                """
                INSERT INTO outbox (kind, start_s, end_s, tag, state, batch_id, reason, sealed, as_of_s)
                VALUES (?1, ?2, ?2, randomblob(8),
                    iif(?3 IN ('queued', 'rejected', 'setAside'), ?3, 'batched'),
                    iif(?3 IN ('queued', 'rejected', 'setAside'), NULL,
                        (SELECT id FROM batches WHERE state = ?3)), 'r', x'00', ?4)
                """, .text(kind), .integer(end), .text(state),
                .integer(asOf.map { noon.secondsSince1970 + $0 }))
        }
    }

    private func facts(
        _ store: HealthStore, _ goal: FreshnessGoal? = nil
    ) throws -> FreshnessFacts {
        let facts = try store.freshness(of: goal ?? self.goal, hasBackend: true, now: noon)
        #expect(try store.newest(of: (goal ?? self.goal).subject) == facts.newest)
        return facts
    }

    @Test func `nothing is known of an empty store`() throws {
        let store = try folder.open()

        #expect(try facts(store) == FreshnessFacts())
        #expect(
            try facts(store, FreshnessGoal(.insights, within: .seconds(1))) == FreshnessFacts())
    }

    @Test func `the newest accepted, waiting and unconfirmed samples are found`()
        throws
    {
        let store = try folder.open()
        try put("confirmed", -900, in: store)
        try put("accepted", -600, in: store)
        try put("queued", -300, in: store)
        try put("sending", -200, in: store)
        try put("unconfirmed", -100, in: store)
        try put("setAside", -7200, in: store)
        try put("rejected", -50, kind: "steps", in: store)

        let facts = try facts(store)

        #expect(facts.newest == noon - .seconds(600))
        #expect(
            facts.elsewhere == [
                .waiting: noon - .seconds(200), .unconfirmed: noon - .seconds(100),
            ])
    }

    @Test func `without a fresh confirmed sample, the newest one is found`() throws {
        let store = try folder.open()
        try put("confirmed", -90 * 86_400, in: store)
        try put("confirmed", -80 * 86_400, in: store)
        for second in 0..<50 { try put("queued", Int64(-second), in: store) }

        #expect(try facts(store).newest == noon - .seconds(80 * 86_400))
    }

    @Test func `of what waits the newest is found, however old it is`() throws {
        let store = try folder.open()
        try put("rejected", -60 * 86_400, in: store)
        try put("queued", -80 * 86_400, in: store)
        try put("sending", -90 * 86_400, in: store)

        #expect(try facts(store).elsewhere == [.waiting: noon - .seconds(80 * 86_400)])
    }

    @Test func `a day counts for the kinds in it, as of its time`() throws {
        let store = try folder.open()
        try put("accepted", 7200, kind: "activity", asOf: -500, in: store)

        let steps = FreshnessGoal(.samples(.steps), within: .seconds(3600))
        let sleep = FreshnessGoal(.samples(.sleep), within: .seconds(3600))

        #expect(try facts(store, steps).newest == noon - .seconds(500))
        #expect(try facts(store, sleep).newest == nil)
        #expect(try facts(store).newest == nil)
    }

    @Test func `readings, insights and the profile are known by their times`() throws {
        let store = try folder.open()
        try store.access { connection in
            try connection.run(
                "INSERT INTO sources (tag, stamp, read_at_ms) VALUES (randomblob(16), 's', ?)",
                .integer(noon.millisecondsSince1970 - 5000))
        }
        let insight = CachedRow(
            id: "a", type: "t", timestamp: noon - .seconds(70), json: [])
        _ = try store.cache.upsert([insight], into: .insights, syncedAt: noon)
        try store.cache.storeProfile([1], syncedAt: noon - .seconds(8))

        let noted = try facts(store).lastReading
        try store.access { connection in
            try connection.run(
                "INSERT INTO readings (tag, state, begun_at_ms, finished_at_ms) VALUES "
                    + "(randomblob(16), 'ended', 0, ?1), (randomblob(16), 'interrupted', 0, ?2)",
                .integer(noon.millisecondsSince1970 - 3000),
                .integer(noon.millisecondsSince1970 - 1000))
        }

        #expect(noted == noon - .seconds(5))
        #expect(try facts(store).lastReading == noon - .seconds(3))
        let day = Duration.seconds(86_400)
        #expect(
            try facts(store, FreshnessGoal(.insights, within: day)).newest
                == noon - .seconds(70))
        #expect(
            try facts(store, FreshnessGoal(.profile, within: day)).newest == noon - .seconds(8))
    }

    @Test func `the backlog is what the backend does not have`() throws {
        let store = try folder.open()
        for (number, state) in [
            "confirmed", "accepted", "queued", "sending", "unconfirmed", "rejected", "setAside",
            "setAside",
        ].enumerated() {
            try put(state, Int64(number), in: store)
        }

        let backlog = try store.outbox.backlog()

        #expect(backlog.waiting == 2 && backlog[.accepted] == 1 && backlog.forPerson == 4)
    }
}
