import HealthModel
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// Samples that a person sends again although the backend has them, or because it does not.
@Suite(.onBothEngines) struct OutboxResendTests {
    private let folder = StateFolder()
    private let rules = testRules(.samples, isIdempotent: false)

    /// Makes a store whose samples the backend accepted.
    private func store(_ count: Int, isStored: Bool) throws -> HealthStore {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<count))
        try send(store, isStored: isStored)
        return store
    }

    private func send(_ store: HealthStore, isStored: Bool) throws {
        while let batch = try store.outbox.nextBatches(limit: 10, rules: [rules], at: noon).batch {
            try store.outbox.settle(
                TakenBatch(batch, processingID: "p", isStored: isStored), at: noon)
        }
    }

    @Test func `an answer that proves the storage leaves nothing to ask about`() throws {
        let store = try store(4, isStored: true)

        #expect(try store.outbox.states() == [.stored: 4])
        #expect(try store.outbox.openUploads() == [])
        #expect(try store.outbox.possiblyDoubled() == DoubledSamples())
        #expect(try store.outbox.prove().findings == [])
    }

    @Test(arguments: [false, true])
    func `stored samples are sent again if their state is named, packed or not`(
        isPacked: Bool
    ) throws {
        let store = try store(30, isStored: true)
        if isPacked { #expect(try store.outbox.pack(atLeast: 1, at: noon) == 30) }
        let named = OutboxSelection(state: .stored)

        let unnamed = try store.outbox.retry(OutboxSelection())
        let shares = try store.outbox.retryShares(named)
        let cost = try store.outbox.retryCost(named)
        let retried = try store.outbox.retry(named)
        let states = try store.outbox.states()
        let proof = try store.outbox.prove().findings
        try send(store, isStored: true)

        #expect(unnamed == 0 && retried == 30)
        #expect(shares.map(\.count) == [30] && shares.map(\.state) == [.stored])
        #expect(cost == Outbox.RetryCost(there: 30, doubled: 30))
        #expect(states == [.queued: 30] && proof == [])
        #expect(try store.outbox.states() == [.stored: 30])
        #expect(try store.outbox.possiblyDoubled().copies == 30)
        #expect(try store.outbox.arithmetic().isBalanced)
        #expect(try store.outbox.prove().findings == [])
    }

    @Test func `a part of the packed samples is sent again, and the rest stays packed`() throws {
        let store = try store(30, isStored: true)
        _ = try store.outbox.pack(atLeast: 1, at: noon)
        var selection = OutboxSelection(state: .stored)
        let starts = heartRates(0..<30).map(\.start).sorted()
        selection.before = starts[12]

        let retried = try store.outbox.retry(selection)

        #expect(retried == 12)
        #expect(try store.outbox.states() == [.queued: 12, .stored: 18])
        #expect(try store.outbox.prove().findings == [])
        #expect(try store.outbox.enqueue(heartRates(0..<30)).duplicates == 30)
    }

    @Test func `packed samples of which some are confirmed stay`() throws {
        let store = try store(10, isStored: true)
        _ = try store.outbox.enqueue(heartRates(10..<20))
        let batch = try #require(try store.outbox.nextBatch(limit: 10, at: noon))
        try store.outbox.settle(batch, processingID: "p", at: noon)
        try store.outbox.confirm(try store.outbox.openUploads()[0], at: noon)
        _ = try store.outbox.pack(atLeast: 1, at: noon)

        #expect(try store.outbox.retryShares(OutboxSelection(state: .stored)) == [])
        #expect(try store.outbox.retry(OutboxSelection(state: .stored)) == 0)
        #expect(try store.outbox.states() == [.stored: 10, .confirmed: 10])
    }

    @Test(arguments: [(Outbox.unknownReason, Int64(0)), ("the backend did not finish it", 4)])
    func `resending is a possible duplicate unless the upload is unknown`(
        reason: String, copies: Int64
    ) throws {
        let store = try store(4, isStored: false)
        try store.outbox.giveUp(try store.outbox.openUploads()[0], reason: reason, at: noon)
        let selection = OutboxSelection(state: .unconfirmed)

        let cost = try store.outbox.retryCost(selection)
        let retried = try store.outbox.retry(selection)
        try send(store, isStored: true)

        #expect(
            cost == Outbox.RetryCost(there: copies, doubled: copies, unknown: 4 - copies))
        #expect(retried == 4)
        #expect(try store.outbox.possiblyDoubled().copies == copies)
    }
}
