import HealthModel
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// Tests two attempts that send at the same time; each opens the store as its own process would.
@Suite(.onBothEngines) struct OutboxOwnersTests {
    private let folder = StateFolder()

    @Test(arguments: [true, false])
    func `a batch in flight belongs to one attempt`(resends: Bool) throws {
        let rules = testRules(.samples, isIdempotent: false, resends: resends)
        let (first, second) = (try folder.open(), try folder.open())
        _ = try first.outbox.enqueue(heartRates(0..<5))
        let batch = try #require(
            try first.outbox.nextBatches(limit: 5, rules: [rules], at: noon).batch)

        let other = try second.outbox.nextBatches(limit: 5, rules: [rules], at: noon)
        try first.outbox.settle(batch, processingID: "p", at: noon)

        #expect(other.batch == nil)
        #expect(other.refused == [:])
        #expect(try second.outbox.states() == [.accepted: 5])
        #expect(try second.outbox.possiblyDoubled() == DoubledSamples())
    }

    @Test func `each attempt sends what the other has not taken`() throws {
        let (first, second) = (try folder.open(), try folder.open())
        _ = try first.outbox.enqueue(heartRates(0..<5))

        let batches = try [first, second, first, second].map {
            try $0.outbox.nextBatches(limit: 3, rules: [testRules()], at: noon).batch
        }

        // Each attempt gets its own batch again until it has settled it.
        #expect(batches.map { $0?.samples.count } == [3, 2, 3, 2])
        #expect(batches[0]?.id == batches[2]?.id && batches[1]?.id == batches[3]?.id)
        #expect(batches[0]?.id != batches[1]?.id)
    }

    @Test func `the next upload takes over the batch of an attempt that has ended`() throws {
        let rules = testRules(.samples, isIdempotent: false)
        var killed: HealthStore? = try folder.open()
        _ = try killed?.outbox.enqueue(heartRates(0..<5))
        let batch = try #require(
            try killed?.outbox.nextBatches(limit: 5, rules: [rules], at: noon).batch)
        let next = try folder.open()
        let before = try next.outbox.nextBatches(limit: 5, rules: [rules], at: noon).batch

        killed = nil
        try folder.waitForEnd(of: batch.owner)
        let after = try next.outbox.nextBatches(limit: 5, rules: [rules], at: noon).batch

        #expect(before == nil)
        #expect(after?.id == batch.id)
        #expect(after?.possibleSends == 1)
    }
}
