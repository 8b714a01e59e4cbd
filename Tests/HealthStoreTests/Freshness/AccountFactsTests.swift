import HealthModel
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite("The facts of an account", .onBothEngines) struct AccountFactsTests {
    private let folder = StateFolder()

    @Test func `an empty store has goals without data, counts of zero and no login`() throws {
        let goals = [
            FreshnessGoal(.samples(.heartRate), within: .seconds(3600)),
            FreshnessGoal(.profile, within: .seconds(60)),
        ]

        let facts = try folder.open().accountFacts(for: goals, hasBackend: true, now: noon)

        #expect(
            facts.reported.map { "\($0.name) \($0.value.map { String($0) } ?? "-")" } == [
                "fresh_until.heart_rate -", "fresh_until.profile -", "waiting 0", "unconfirmed 0",
                "set_aside 0", "rejected 0", "logged_in 0", "last_reading -",
            ])
        #expect(facts.reported.allSatisfy { $0.at == noon })
    }

    @Test func `facts name when each goal stops to hold, and how many samples wait`() throws {
        let store = try folder.open()
        try put("queued", 0, in: store)
        try put("rejected", 0, in: store)
        try put("rejected", 60, in: store)
        try store.cache.storeProfile([1], syncedAt: noon)

        let facts = try store.accountFacts(
            for: [FreshnessGoal(.profile, within: .seconds(60))], hasBackend: true, now: noon)

        #expect(facts.freshUntil == [.profile: noon + .seconds(60)])
        #expect(facts.counts == [.waiting: 1, .unconfirmed: 0, .setAside: 0, .rejected: 2])
    }

    @Test func `facts come back from the history as they were reported`() {
        var facts = AccountFacts(at: noon)
        facts.freshUntil = [.samples(.steps): noon, .insights: Instant?.none]
        facts.counts = [.waiting: 1, .unconfirmed: 2, .setAside: 3, .rejected: 4]
        facts.isLoggedIn = true
        facts.lastReading = noon - .seconds(1)

        var read = AccountFacts(at: noon)
        for fact in facts.reported { read.add(fact.name, fact.value) }
        read.add("of_a_later_version", 7)

        #expect(read == facts)
    }

    private func put(_ state: String, _ seconds: Int64, in store: HealthStore) throws {
        let end = noon.secondsSince1970 + seconds
        try store.access { connection in
            try connection.run(
                """
                INSERT INTO outbox (kind, start_s, end_s, tag, state, reason, sealed)
                VALUES ('heart_rate', ?1, ?1, randomblob(8), ?2, 'r', x'00')
                """, .integer(end), .text(state))
        }
    }
}
