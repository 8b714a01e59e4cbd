import Database
import HealthModel
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite(.onBothEngines) struct MeteredBudgetTests {
    private let folder = StateFolder()

    @Test(
        arguments: [
            (1000, [], 1000), (1000, [(0, 400), (1, 100)], 500), (1000, [(0, 1000)], 0),
            (1000, [(0, 5000)], 0), (1000, [(24 * 3600, 900), (24 * 3600 - 1, 10)], 990),
            (1000, [(-60, 300)], 700), (1000, [(0, Int64.max), (0, Int64.max)], 0),
        ] as [(Int64, [(Int64, Int64)], Int64)])
    func `what was sent within a day is taken from the budget`(
        budget: Int64, sent: [(ago: Int64, bytes: Int64)], room: Int64
    ) {
        let entries = sent.map { (at: noon - .seconds($0.ago), bytes: $0.bytes) }

        #expect(MeteredBudget(budget, after: entries, now: noon).room == room)
    }

    @Test(
        arguments: [
            // Enough is free now.
            (100, [(60, 900)], nil), (1000, [], nil),
            // Once the oldest entry, the two oldest, or all entries are a day old.
            (200, [(86_000, 500), (85_000, 500)], 400),
            (600, [(86_000, 500), (85_000, 500)], 1400),
            (1000, [(86_000, 1), (85_000, 1)], 1400), (501, [(85_000, 500), (86_000, 500)], 1400),
            // At most an hour, and not sooner after the clock was set back.
            (100, [(3600, 1000)], 3600), (100, [(-600, 1000)], 3600),
            // Amounts beyond the whole budget.
            (1001, [], 3600), (1001, [(86_000, 1)], 400), (1, [(86_000, .max), (9, .max)], 3600),
        ] as [(Int64, [(Int64, Int64)], Int64?)])
    func `the wait is until enough has left the day, at most an hour`(
        wanted: Int64, sent: [(ago: Int64, bytes: Int64)], wait: Int64?
    ) {
        let entries = sent.map { (at: noon - .seconds($0.ago), bytes: $0.bytes) }

        let found = MeteredBudget(1000, after: entries, now: noon).wait(for: wanted)

        #expect(found == wait.map { .seconds($0) })
    }

    @Test(arguments: [
        // The whole batch, if it is small.
        (100, 500, 500), (100, 100, 100),
        // A sixteenth of the budget, or the first sample if that is larger.
        (100, 5000, 1000), (1500, 5000, 1500), (1500, 1500, 1500),
    ])
    func `a batch that is cut short wants a sixteenth of the budget`(
        first: Int64, whole: Int64, wanted: Int64
    ) {
        let budget = MeteredBudget(16_000, after: [], now: noon)

        #expect(budget.wanted(first: first, whole: whole) == wanted)
    }

    private func draw(
        _ store: HealthStore, _ budget: Int64?, at now: Instant = noon
    ) throws -> OutboxDraw {
        try store.outbox.nextBatches(limit: 100, rules: [testRules()], at: now, metered: budget)
    }

    @Test func `a batch is as large as the budget leaves room, and no larger`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<100))
        let budget = Int64(UploadEndpoint.envelopeBytes + 10 * 768)

        let first = try draw(store, budget)
        let batch = try #require(first.batch)
        try store.outbox.sentMetered(batch, bytes: 3000)
        try store.outbox.settle(batch, processingID: nil, at: noon)
        let second = try draw(store, budget)

        #expect(batch.samples.count == 10 && first.meteredWait == nil)
        // The budget counts what was sent in steps of 4 KiB.
        #expect(second.batch?.samples.count == 4)
    }

    @Test func `nothing is made when not one sample fits, until a day has passed`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<100))
        let budget = Int64(UploadEndpoint.envelopeBytes + 10 * 768)
        let batch = try #require(try draw(store, budget).batch)
        try store.outbox.settle(batch, processingID: nil, at: noon)

        let full = try draw(store, budget)
        let later = try draw(store, budget, at: noon + .seconds(24 * 3600))

        #expect(full.batch == nil && full.meteredWait == .seconds(3600))
        #expect(later.batch?.samples.count == 10 && later.meteredWait == nil)
    }

    @Test func `a batch under way that does not fit stays as it is, and is not counted as sent`()
        throws
    {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<100))
        _ = try draw(store, nil)

        let held = try draw(store, 10_000)
        let free = try #require(try draw(store, nil).batch)

        #expect(held.batch == nil && held.meteredWait == .seconds(3600))
        #expect(free.samples.count == 100 && free.attempts == 2)
    }

    @Test func `without a budget nothing is counted`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<10))

        let batch = try #require(try draw(store, nil).batch)
        try store.outbox.sentMetered(batch, bytes: 5)

        let rows = try store.access {
            try $0.all("SELECT count(*) FROM metered_bytes") { $0.integer(0) }
        }
        #expect(rows == [0])
    }
}
