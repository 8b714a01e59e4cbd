import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite(.onBothEngines) struct OutboxAnswersTests {
    private let folder = StateFolder()

    /// Opens the store anew for each step, as a process does after its predecessor was killed.
    private func reopened() throws -> HealthStore { try folder.open() }

    private func batch(_ limit: Int = 100) throws -> OutboxBatch {
        try #require(try reopened().outbox.nextBatch(limit: limit, at: noon))
    }

    @Test func `an accepted batch waits for its processing and is then confirmed`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<4))
        try reopened().outbox.settle(batch(), processingID: "p-1", at: noon + .seconds(1))
        let accepted = try reopened().outbox.states()
        let open = try reopened().outbox.openUploads()

        try reopened().outbox.confirm(open[0], at: noon + .seconds(9))

        #expect(accepted == [.accepted: 4])
        #expect(open.map(\.processingID) == ["p-1"])
        #expect(open.map(\.acceptedAt) == [noon + .seconds(1)])
        #expect(open.map(\.sampleCount) == [4])
        #expect(try reopened().outbox.states() == [.confirmed: 4])
        #expect(try reopened().outbox.openUploads() == [])
    }

    @Test func `what the backend had or refuses is told apart from what it took`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<6))

        try reopened().outbox.settle(
            batch(), processingID: "p-1", duplicates: [0, 5, 99],
            rejected: [2: "out of range", -1: ""],
            at: noon)

        #expect(try reopened().outbox.states() == [.accepted: 3, .confirmed: 2, .rejected: 1])
    }

    @Test func `a batch that the backend had as a whole is confirmed at once`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<3))

        try reopened().outbox.settle(batch(), processingID: "p-1", duplicates: [0, 1, 2], at: noon)

        #expect(try reopened().outbox.states() == [.confirmed: 3])
        #expect(try reopened().outbox.openUploads() == [])
    }

    @Test func `named samples are rejected and the others are sent next`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<5))
        let first = try batch()

        try reopened().outbox.refuse(first, [1: "out of range", 3: "out of range"], at: noon)
        let next = try batch()

        #expect(next.id != first.id)
        #expect(next.attempts == 1)
        let all = heartRates(0..<5)
        #expect(next.samples == [all[0], all[2], all[4]])
        #expect(try reopened().outbox.states() == [.sending: 3, .rejected: 2])
    }

    @Test func `one bad sample among 100 good ones is the only one rejected`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<101))
        let poison = heartRates(0..<101)[37]
        var requests = 0

        while let batch = try reopened().outbox.nextBatch(limit: 100, at: noon) {
            requests += 1
            if batch.samples.contains(poison) {
                _ = try reopened().outbox.split(batch, reason: "refused", at: noon)
            } else {
                try reopened().outbox.settle(batch, processingID: "p-\(requests)", at: noon)
            }
        }

        #expect(try reopened().outbox.states() == [.accepted: 100, .rejected: 1])
        #expect(requests <= 2 + 2 * 7)
    }

    @Test func `halves are sent before anything new`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<10))
        let first = try batch(6)

        let settled = try reopened().outbox.split(first, reason: "refused", at: noon)

        #expect(settled == Settlement())
        #expect(try batch(6).samples == Array(first.samples[..<3]))
        #expect(try reopened().outbox.states() == [.queued: 4, .sending: 6])
    }

    @Test func `an answer that leaves some open settles the named and halves the rest`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<6))

        let settled = try reopened().outbox.split(
            batch(), duplicates: [0], rejected: [1: "out of range"], reason: "unexplained",
            at: noon)

        #expect(settled.known == 1 && settled.rejected == 1)
        #expect(try batch().samples == heartRates(2..<4))
        #expect(try reopened().outbox.states() == [.sending: 4, .confirmed: 1, .rejected: 1])
    }

    @Test func `what was accepted without a way to ask for it is unconfirmed`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<2))

        try reopened().outbox.settle(batch(), processingID: nil, duplicates: [0], at: noon)

        #expect(try reopened().outbox.states() == [.confirmed: 1, .unconfirmed: 1])
        #expect(try reopened().outbox.openUploads() == [])
    }

    @Test func `a sample that makes every batch fail is alone before it is set aside`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<100))
        let poison = heartRates(0..<100)[61]
        var sizes: [Int] = []
        var requests = 0

        while let batch = try reopened().outbox.nextBatch(limit: 100, at: noon) {
            requests += 1
            try #require(requests < 200)
            if batch.samples.contains(poison) {
                sizes.append(batch.samples.count)
                _ = try reopened().outbox.release(batch, reason: "the backend broke", at: noon)
            } else {
                try reopened().outbox.settle(batch, processingID: "p", at: noon)
            }
        }

        #expect(sizes == [100, 25, 6, 1, 1])
        #expect(try reopened().outbox.states() == [.accepted: 99, .setAside: 1])
        #expect(try reopened().outbox.review().map(\.reason) == ["the backend broke"])
    }

    @Test func `the fifth failure sets a sample aside and says so`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<1))

        let counts = try (1...5).map { _ in
            try reopened().outbox.release(batch(), reason: "the backend broke", at: noon)
        }

        #expect(counts == [0, 0, 0, 0, 1])
        #expect(try reopened().outbox.states() == [.setAside: 1])
        #expect(try reopened().outbox.nextBatch(limit: 1, at: noon) == nil)
    }

    @Test func `a sample that was set aside starts anew when a person asks`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<1))
        for _ in 1...5 { _ = try reopened().outbox.release(batch(), reason: "broke", at: noon) }

        let count = try reopened().outbox.retry(OutboxSelection(state: .setAside))

        #expect(count == 1)
        #expect(try reopened().outbox.retry(OutboxSelection(state: .queued)) == 0)
        #expect(try reopened().outbox.states() == [.queued: 1])
        #expect(try reopened().outbox.release(batch(), reason: "broke", at: noon) == 0)
    }

    @Test func `every batch under way can be sent back at once`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<8))
        _ = try reopened().outbox.split(batch(), reason: "refused", at: noon)

        let setAside = try reopened().outbox.releaseAll(
            answered: batch(), reason: "refused without end", at: noon)

        #expect(setAside == 0)
        #expect(try reopened().outbox.states() == [.queued: 8])
    }

    @Test func `an upload that could not be processed goes back into the queue`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<3))
        try reopened().outbox.settle(batch(), processingID: "p", duplicates: [0], at: noon)
        let open = try reopened().outbox.openUploads()

        let sentBack = try reopened().outbox.returnToQueue(
            open[0], reason: "processing failed", at: noon)

        #expect(open.map(\.sampleCount) == [2])
        #expect(sentBack.requeued == 2 && sentBack.setAside + sentBack.removed == 0)
        #expect(try reopened().outbox.states() == [.queued: 2, .confirmed: 1])
        #expect(try reopened().outbox.openUploads() == [])
    }

    @Test func `a sample that was accepted again may be known the next time`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<3))
        for _ in 0..<2 {
            try reopened().outbox.settle(batch(), processingID: "p", at: noon)
            _ = try reopened().outbox.returnToQueue(
                try #require(reopened().outbox.openUploads().first), reason: "broke", at: noon)
        }
        try reopened().outbox.settle(batch(), processingID: nil, at: noon)
        _ = try reopened().outbox.retry(OutboxSelection(state: .unconfirmed))

        let settlement = try reopened().outbox.settle(
            batch(), processingID: nil, duplicates: [0, 1, 2], at: noon)

        #expect(settlement.known == 3 && settlement.requeued == 0)
        #expect(try reopened().outbox.states() == [.confirmed: 3])
    }

    @Test func `a sample that has failed waits for a run that takes samples that have`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<3))
        _ = try reopened().outbox.release(batch(), reason: "broke", at: noon)
        func size(mostFailures: Int64) throws -> Int? {
            try reopened().outbox.nextBatches(
                limit: 9, rules: [testRules()], at: noon, mostFailures: mostFailures
            ).batch?.samples.count
        }

        #expect(try size(mostFailures: 0) == nil)
        #expect(try size(mostFailures: 1) == 2)
    }

    @Test func `an upload that never finishes is unconfirmed and not sent again`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<3))
        try reopened().outbox.settle(batch(), processingID: "p", at: noon)

        try reopened().outbox.giveUp(
            reopened().outbox.openUploads()[0], reason: "no end in 7d", at: noon)

        #expect(try reopened().outbox.states() == [.unconfirmed: 3])
        #expect(try reopened().outbox.nextBatch(limit: 9, at: noon) == nil)
        #expect(try reopened().outbox.review().map(\.reason) == ["no end in 7d"])
    }

    @Test func `a batch that was settled already is left as it is`() throws {
        _ = try reopened().outbox.enqueue(heartRates(0..<2))
        let batch = try batch()
        try reopened().outbox.settle(batch, processingID: "p", at: noon)
        let open = try reopened().outbox.openUploads()
        try reopened().outbox.confirm(open[0], at: noon)

        try reopened().outbox.settle(batch, processingID: "q", rejected: [0: "late"], at: noon)
        try reopened().outbox.refuse(batch, [0: "late"], at: noon)
        _ = try reopened().outbox.split(batch, reason: "late", at: noon)
        _ = try reopened().outbox.release(batch, reason: "late", at: noon)
        _ = try reopened().outbox.returnToQueue(open[0], reason: "late", at: noon)
        try reopened().outbox.giveUp(open[0], reason: "late", at: noon)

        #expect(try reopened().outbox.states() == [.confirmed: 2])
    }
}
