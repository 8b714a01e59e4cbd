import HealthModel
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// Tests unanswered uploads to a backend that does not deduplicate.
@Suite(.onBothEngines) struct OutboxInDoubtTests {
    private let folder = StateFolder()
    private let open = testRules(.samples, isIdempotent: false)
    private let holding = testRules(.samples, isIdempotent: false, resends: false)

    /// Opens the store anew for each step, as a process does after its predecessor was killed.
    private func store() throws -> HealthStore { try folder.open() }

    private func draw(_ rules: UploadEndpoint, limit: Int = 100) throws -> OutboxDraw {
        try folder.drawOnce(limit: limit, [rules])
    }

    private func batch(_ rules: UploadEndpoint, limit: Int = 100) throws -> OutboxBatch {
        try #require(try draw(rules, limit: limit).batch)
    }

    /// Returns how many samples may be stored twice, and how many extra copies of them.
    private func doubled() throws -> [Int64] {
        let doubled = try store().outbox.possiblyDoubled()
        return [doubled.samples, doubled.copies]
    }

    @Test func `a batch that is answered at the first send is not in doubt`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<3))
        let batch = try batch(open)

        let count = try store().outbox.settle(batch, processingID: "p", at: noon).doubled

        #expect(batch.possibleSends == 0)
        #expect(count == 0)
        #expect(try doubled() == [0, 0])
    }

    @Test func `each unanswered send is a possible duplicate`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<3))
        _ = try batch(open)
        let alone = try doubled()
        _ = try batch(open)
        let underWay = try doubled()
        let third = try batch(open)

        let count = try store().outbox.settle(third, processingID: "p", at: noon).doubled

        #expect(alone == [0, 0] && underWay == [3, 3])
        #expect(third.possibleSends == 2)
        #expect(count == 3)
        #expect(try doubled() == [3, 6])
        try store().outbox.confirm(store().outbox.openUploads()[0], at: noon)
        #expect(try doubled() == [3, 6])
    }

    @Test func `with deduplication, a repeated send is no possible duplicate`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<3))
        let rules = testRules()
        _ = try batch(rules)

        let count = try store().outbox.settle(try batch(rules), processingID: "p", at: noon).doubled

        #expect(count == 0)
        #expect(try doubled() == [0, 0])
    }

    @Test func `a send that did not arrive is no possible duplicate`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<3))
        try store().outbox.notArrived(try batch(open))

        let again = try batch(open)

        #expect(again.possibleSends == 0)
        #expect(again.attempts == 2)
        #expect(try store().outbox.settle(again, processingID: "p", at: noon).doubled == 0)
    }

    @Test func `a batch that may have arrived is set aside when it is not to be sent again`() throws
    {
        _ = try store().outbox.enqueue(heartRates(0..<3))
        _ = try batch(holding)

        let draw = try draw(holding)

        #expect(draw.batch == nil)
        #expect(
            draw.refused == [.inDoubt: [.heartRate: 3]])
        #expect(try store().outbox.states() == [.setAside: 3])
        #expect(
            try store().outbox.review().map(\.reason) == [
                "it may have arrived, and sending it again could double it"
            ])
        #expect(try doubled() == [0, 0])
        #expect(try store().outbox.sortOut(by: [holding], at: noon).requeued == 0)
    }

    @Test func `a batch in doubt is set aside whole, whatever else the rules of today refuse`()
        throws
    {
        // The first of the three is 50.
        let strict = testRules(
            .samples, isIdempotent: false, resends: false, ranges: [.heartRate: 51...99])
        let elsewhere = testRules(.metrics, resends: false)
        for rules in [[strict], [testRules(.samples, samples: 2, resends: false)], [elsewhere]] {
            let folder = StateFolder()
            _ = try folder.open().outbox.enqueue(heartRates(0..<3))
            _ = try folder.open().outbox.nextBatches(limit: 100, rules: [holding], at: noon)

            let draw = try folder.open().outbox.nextBatches(limit: 100, rules: rules, at: noon)

            #expect(draw.batch == nil)
            #expect(draw.refused == [.inDoubt: [.heartRate: 3]])
            #expect(try folder.open().outbox.states() == [.setAside: 3])
        }
    }

    @Test func `a sample in doubt that a person resends is a possible duplicate`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<3))
        let held = try store().outbox.hold(try batch(holding), at: noon)
        _ = try store().outbox.retry(OutboxSelection(state: .setAside))

        let count = try store().outbox.settle(try batch(holding), processingID: "p", at: noon)
            .doubled

        #expect(held == [.inDoubt: [.heartRate: 3]])
        #expect(count == 3)
        #expect(try doubled() == [3, 3])
    }

    @Test func `a refusal answers the last send and not those before it`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<4))
        _ = try batch(open)
        _ = try store().outbox.split(try batch(open), reason: "refused", at: noon)
        let half = try batch(open)
        try store().outbox.settle(half, processingID: "p", at: noon)
        let other = try batch(open)

        try store().outbox.refuse(other, [0: "out of range"], at: noon)
        try store().outbox.settle(try batch(open), processingID: "q", at: noon)

        // Each of the four was sent once without an answer; one of them was then refused.
        #expect(try doubled() == [3, 3])
        #expect(try store().outbox.states() == [.accepted: 3, .rejected: 1])
    }

    @Test func `samples requeued after a server error are possible duplicates`()
        throws
    {
        _ = try store().outbox.enqueue(heartRates(0..<4))
        _ = try store().outbox.release(
            try batch(open), mayHaveArrived: true, reason: "500", at: noon)
        let queued = try doubled()

        for _ in 0..<4 {
            try store().outbox.settle(try batch(open, limit: 4), processingID: "p", at: noon)
        }

        #expect(queued == [0, 0])
        #expect(try doubled() == [4, 4])
    }

    @Test func `of all batches under way only the refused one was answered`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<4))
        let first = try batch(open)
        _ = try store().outbox.split(first, reason: "refused", at: noon)
        let half = try batch(open)

        _ = try store().outbox.releaseAll(answered: half, reason: "refused", at: noon)
        for _ in 0..<4 {
            try store().outbox.settle(try batch(open, limit: 4), processingID: "p", at: noon)
        }

        #expect(try doubled() == [0, 0])
    }

    @Test func `samples that the backend could not process are possible duplicates`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<2))
        try store().outbox.settle(try batch(open), processingID: "p", at: noon)
        _ = try store().outbox.returnToQueue(
            store().outbox.openUploads()[0], reason: "failed", at: noon)

        while let batch = try draw(open, limit: 4).batch {
            try store().outbox.settle(batch, processingID: "q", at: noon)
        }

        #expect(try doubled() == [2, 2])
    }

    @Test func `an unconfirmed sample that is resent is a possible duplicate`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<2))
        try store().outbox.settle(try batch(open), processingID: "p", at: noon)
        try store().outbox.giveUp(store().outbox.openUploads()[0], reason: "no end", at: noon)
        _ = try store().outbox.retry(OutboxSelection(state: .unconfirmed))

        let count = try store().outbox.settle(try batch(open), processingID: "q", at: noon).doubled

        #expect(count == 2)
        #expect(try doubled() == [2, 2])
    }

    @Test func `the samples of a batch that is taken apart stay in doubt`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<2))
        _ = try batch(open)
        let smaller = testRules(.samples, samples: 1, isIdempotent: false)

        for _ in 0..<2 {
            try store().outbox.settle(try batch(smaller), processingID: "p", at: noon)
        }

        #expect(try doubled() == [2, 2])
    }

    @Test func `a sample that the backend had is there once`() throws {
        _ = try store().outbox.enqueue(heartRates(0..<2))
        _ = try batch(open)

        try store().outbox.settle(try batch(open), processingID: "p", duplicates: [0, 1], at: noon)

        #expect(try store().outbox.states() == [.confirmed: 2])
        #expect(try doubled() == [0, 0])
    }
}
