import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// Tests batches and the upload routes that they take.
@Suite(.onBothEngines) struct OutboxRoutesTests {
    private let folder = StateFolder()

    private func draw(_ rules: UploadEndpoint..., limit: Int = 100) throws -> OutboxDraw {
        try folder.drawOnce(limit: limit, rules)
    }

    @Test func `a batch is repeated by the route by which it was made`() throws {
        _ = try folder.open().outbox.enqueue(heartRates(0..<5))
        let first = try draw(testRules(.metrics), testRules(.samples), limit: 3)

        let again = try draw(testRules(.samples), testRules(.metrics))
        try folder.open().outbox.settle(try #require(again.batch), processingID: "p", at: noon)
        let next = try draw(testRules(.samples), testRules(.metrics))

        #expect(first.batch?.route == .metrics)
        #expect(again.batch?.id == first.batch?.id)
        #expect(again.batch?.route == .metrics)
        #expect(again.batch?.samples == heartRates(0..<1) + heartRates(3..<5))
        #expect(next.batch?.route == .samples)
        #expect(try folder.open().outbox.openUploads().map(\.route) == [.metrics])
    }

    @Test func `halves and what is left of a refused batch keep its route`() throws {
        _ = try folder.open().outbox.enqueue(heartRates(0..<4))
        let first = try #require(try draw(testRules(.samples)).batch)
        _ = try folder.open().outbox.split(first, reason: "refused", at: noon)
        let half = try #require(try draw(testRules(.metrics), testRules(.samples)).batch)

        try folder.open().outbox.refuse(half, [0: "out of range"], at: noon)
        let other = try #require(try draw(testRules(.metrics), testRules(.samples)).batch)
        try folder.open().outbox.settle(other, processingID: "p", at: noon)
        let rest = try #require(try draw(testRules(.metrics), testRules(.samples)).batch)

        #expect([half, other, rest].map(\.route) == [.samples, .samples, .samples])
        #expect(rest.samples == heartRates(1..<2))
    }

    @Test func `of each type a batch holds what the rules allow, the newest first`() throws {
        let samples =
            (0..<3).map { sample(.heartRate, $0) } + (0..<2).map { sample(.steps, $0) }
            + [sample(.vo2Max, 0)]
        _ = try folder.open().outbox.enqueue(samples)
        let rules = testRules(perType: 1)

        var batches: [[Sample]] = []
        while let batch = try draw(rules).batch {
            batches.append(batch.samples)
            try folder.open().outbox.settle(batch, processingID: "p", at: noon)
        }

        #expect(
            batches == [
                [samples[2], samples[4], samples[5]], [samples[1], samples[3]], [samples[0]],
            ])
    }

    @Test func `a batch is no larger than a request may be`() throws {
        _ = try folder.open().outbox.enqueue(heartRates(0..<5))

        let batch = try draw(testRules(bytes: 2048 + 2 * 768)).batch

        #expect(batch?.samples == heartRates(3..<5))
        #expect(try folder.open().outbox.states() == [.sending: 2, .queued: 3])
    }

    /// The rules of today, by the difference to those by which the batch was made.
    private static let changedRules = [
        "one of each type": testRules(perType: 1), "two samples": testRules(samples: 2),
        "another route": testRules(.samples),
    ]

    @Test(arguments: changedRules.keys.sorted())
    func `a batch that the rules of today would lose from is made anew`(change: String) throws {
        let rules = try #require(Self.changedRules[change])
        _ = try folder.open().outbox.enqueue(heartRates(0..<3))
        let first = try #require(try draw(testRules()).batch)

        let again = try #require(try draw(rules).batch)

        #expect(again.id != first.id)
        #expect(again.attempts == 1)
        #expect(again.route == rules.route)
        #expect(rules.fits(again.samples, at: noon))
        #expect(try folder.open().outbox.counts()[.rejected] == 0)
        #expect(try folder.open().outbox.counts().waiting == 3)
    }

    @Test func `a smaller batch size leaves a batch that was made as it is`() throws {
        _ = try folder.open().outbox.enqueue(heartRates(0..<5))
        let first = try draw(testRules(), limit: 4).batch

        #expect(try draw(testRules(), limit: 2).batch?.samples == first?.samples)
    }

    @Test func `without any route nothing is taken`() throws {
        _ = try folder.open().outbox.enqueue(heartRates(0..<1))

        #expect(try draw().batch == nil)
        #expect(try folder.open().outbox.states() == [.queued: 1])
    }
}
