import HealthModel
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite(.onBothEngines) struct OutboxCountsTests {
    private let folder = StateFolder()

    @Test func `every sample is in exactly one place of the sum`() throws {
        let store = try folder.open()
        func settle(_ id: String?, _ limit: Int) throws {
            let batch = try #require(
                try store.outbox.nextBatches(limit: limit, rules: [testRules()], at: noon).batch)
            try store.outbox.settle(batch, processingID: id, at: noon)
        }
        _ = try store.outbox.enqueue(heartRates(0..<28) + [sample(.steps, 0)])
        _ = try store.outbox.sortOut(by: [testRules(without: [.steps])], at: noon)
        try settle("p", 7)
        try store.outbox.confirm(store.outbox.openUploads()[0], at: noon)
        try settle("q", 6)
        try settle(nil, 5)
        _ = try store.outbox.split(
            try #require(try store.outbox.nextBatch(limit: 1, at: noon)), reason: "refused",
            at: noon)
        _ = try store.outbox.nextBatch(limit: 2, at: noon)

        let account = try store.outbox.counts()

        #expect(account.isBalanced)
        #expect(
            account.description
                == "29 samples = 7 confirmed + 6 accepted + 5 unconfirmed + 1 rejected + "
                + "1 set aside + 9 waiting")
    }

    @Test func `an empty outbox is balanced, and a sample in no place is noticed`() throws {
        let store = try folder.open()

        #expect(try store.outbox.counts() == OutboxCounts())
        #expect(OutboxCounts().isBalanced)
        #expect(!OutboxCounts(["elsewhere": 1]).isBalanced)
    }
}
