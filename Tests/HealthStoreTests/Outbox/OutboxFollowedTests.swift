import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// Tests a day's former value whose batch comes back after a later value has arrived.
@Suite(.onBothEngines) struct OutboxFollowedTests {
    private let folder = StateFolder()

    private func day(_ value: Double) -> Sample { sample(.steps, 1, value) }

    /// Makes a store that is sending 100 while 200 waits, each with a heart rate beside it.
    private func storeWithBoth(
        _ rules: UploadEndpoint
    ) throws -> (store: HealthStore, batch: OutboxBatch) {
        let store = try folder.open()
        _ = try store.outbox.commit(
            try store.outbox.prepare(heartRates(0..<1), aggregates: [(day(100), noon)]))
        let batch = try #require(
            try store.outbox.nextBatches(limit: 9, rules: [rules], at: noon).batch)
        let counts = try store.outbox.commit(
            try store.outbox.prepare(
                heartRates(1..<2), aggregates: [(day(200), noon + .seconds(1))]))
        #expect(counts.corrected == 1)
        return (store, batch)
    }

    /// Sends everything that is left, and returns it.
    private func sent(by store: HealthStore, _ rules: UploadEndpoint) throws -> Set<Sample> {
        var sent: Set<Sample> = []
        while let batch = try store.outbox.nextBatches(limit: 9, rules: [rules], at: noon).batch {
            sent.formUnion(batch.samples)
            try store.outbox.settle(batch, processingID: nil, at: noon)
        }
        return sent
    }

    private var rest: Set<Sample> { Set(heartRates(0..<2) + [day(200)]) }

    @Test func `a failed batch leaves the former value behind`() throws {
        let rules = testRules()
        let (store, batch) = try storeWithBoth(rules)

        #expect(try store.outbox.release(batch, reason: "broke", at: noon) == 0)

        #expect(try store.outbox.states() == [.queued: 3])
        #expect(try store.outbox.counts().isBalanced)
        #expect(try sent(by: store, rules) == rest)
    }

    @Test func `all batches that fail leave the former value behind`() throws {
        let rules = testRules()
        let (store, batch) = try storeWithBoth(rules)

        #expect(try store.outbox.releaseAll(answered: batch, reason: "broke", at: noon) == 0)

        #expect(try store.outbox.states() == [.queued: 3])
    }

    @Test func `a batch that was stopped on its way leaves the former value behind`() throws {
        let rules = testRules()
        let (store, batch) = try storeWithBoth(rules)

        try store.outbox.putBack(batch, reason: "too large", at: noon)

        #expect(try store.outbox.states() == [.queued: 3])
        #expect(try sent(by: store, rules) == rest)
    }

    @Test func `a batch whose route is gone leaves the former value behind`() throws {
        let (store, _) = try storeWithBoth(testRules(.metrics))
        let rules = testRules(.samples)

        #expect(try sent(by: store, rules) == rest)
    }

    @Test func `an upload that was not processed leaves the former value behind`() throws {
        let rules = testRules()
        let (store, batch) = try storeWithBoth(rules)
        try store.outbox.settle(batch, processingID: "p", at: noon)

        let sentBack = try store.outbox.returnToQueue(
            try store.outbox.openUploads()[0], reason: "failed", at: noon)

        #expect(sentBack.requeued == 1 && sentBack.removed == 1 && sentBack.setAside == 0)
        #expect(try sent(by: store, rules) == rest)
    }

    @Test func `a former value that may have arrived is set aside for a person`() throws {
        let rules = testRules(isIdempotent: false)
        let (store, batch) = try storeWithBoth(rules)

        let setAside = try store.outbox.release(
            batch, mayHaveArrived: true, reason: "broke", at: noon)

        #expect(setAside == 1)
        #expect(try store.outbox.states() == [.queued: 3, .setAside: 1])
        #expect(try store.outbox.counts().isBalanced)
        #expect(
            try store.outbox.review().map(\.reason)
                == ["it may have arrived, and a later value has followed it"])
        #expect(try sent(by: store, rules) == rest)
    }

    @Test func `a value that nothing has followed goes back into the queue`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(aggregates: [day(100), sample(.steps, 2, 7)], asOf: noon)
        let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))

        _ = try store.outbox.release(batch, reason: "broke", at: noon)

        #expect(try store.outbox.states() == [.queued: 2])
    }

    @Test func `of both values in one batch the later one goes back`() throws {
        let (store, first) = try storeWithBoth(testRules())
        try store.outbox.notArrived(first)
        try store.sql("UPDATE outbox SET batch_id = \(first.id), state = 'batched'")

        _ = try store.outbox.release(first, reason: "broke", at: noon)

        #expect(try store.outbox.states() == [.queued: 3])
        #expect(try sent(by: store, testRules()) == rest)
    }
}
