import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// Tests the samples that the client's own rules hold back.
@Suite(.onBothEngines) struct OutboxHoldsTests {
    private let folder = StateFolder()

    private func draw(_ rules: UploadEndpoint) throws -> OutboxDraw {
        try folder.drawOnce(limit: 100, [rules])
    }

    /// Refuses heart rates above 60, and instants later than now.
    private let strict = testRules(ranges: [.heartRate: 0...60], takesFuture: false)

    @Test func `a kind that is not taken is set aside and comes back when it is`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue([sample(.steps, 0), sample(.vo2Max, 0), sample(.vo2Max, 1)])

        let first = try store.outbox.sortOut(by: [testRules(without: [.vo2Max])], at: noon)
        let review = try store.outbox.review()
        let states = try store.outbox.states()
        let again = try store.outbox.sortOut(by: [testRules(without: [.vo2Max])], at: noon)
        let other = try store.outbox.sortOut(by: [testRules(without: [.steps])], at: noon)

        #expect(first.requeued == 0)
        #expect(
            first.refused == [.kindNotAccepted: [.vo2Max: 2]])
        #expect(review.map(\.reason) == ["the backend does not accept this kind"])
        #expect(states == [.queued: 1, .setAside: 2])
        #expect(again == .init())
        #expect(other.requeued == 2)
        #expect(try store.outbox.states() == [.queued: 2, .setAside: 1])
    }

    @Test func `more of a kind than one transaction changes is set aside whole`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<20_001))

        let sorted = try store.outbox.sortOut(by: [testRules(without: [.heartRate])], at: noon)

        #expect(sorted.refused == [.kindNotAccepted: [.heartRate: 20_001]])
        #expect(try store.outbox.sortOut(by: [testRules()], at: noon).requeued == 20_001)
        #expect(try store.outbox.states() == [.queued: 20_001])
    }

    @Test func `what is out of range is rejected, what is of tomorrow waits, the rest is sent`()
        throws
    {
        let store = try folder.open()
        let tomorrow = Sample(
            kind: .heartRate, start: noon + .seconds(86_400), end: noon + .seconds(86_400),
            value: .single(50))
        _ = try store.outbox.enqueue([
            sample(.heartRate, 0, 55), sample(.heartRate, 1, 61), tomorrow, sample(.steps, 1, 7),
        ])

        let draw = try draw(strict)

        #expect(draw.batch?.samples == [sample(.heartRate, 0, 55), sample(.steps, 1, 7)])
        #expect(
            draw.refused == [
                .outOfRange: [.heartRate: 1], .inFuture: [.heartRate: 1],
            ])
        #expect(try store.outbox.states() == [.sending: 2, .rejected: 1, .setAside: 1])
    }

    @Test func `samples that were kept back are checked again by the rules of today`() throws {
        let store = try folder.open()
        let tomorrow = Sample(
            kind: .heartRate, start: noon + .seconds(86_400), end: noon + .seconds(86_400),
            value: .single(50))
        _ = try store.outbox.enqueue([sample(.heartRate, 0, 61), tomorrow])
        let none = try draw(strict).batch

        let unchanged = try store.outbox.sortOut(by: [strict], at: noon)
        let dayAfter = try store.outbox.sortOut(by: [strict], at: noon + .seconds(90_000))
        let wider = try store.outbox.sortOut(by: [testRules()], at: noon)

        #expect(none == nil)
        #expect([unchanged, dayAfter, wider].map(\.requeued) == [0, 1, 1])
        #expect(try store.outbox.states() == [.queued: 2])
    }

    @Test func `what the backend itself refused is not tried again by our rules`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<1))
        let batch = try #require(try draw(testRules()).batch)
        _ = try store.outbox.split(batch, reason: "refused", at: noon)

        #expect(try store.outbox.sortOut(by: [testRules()], at: noon).requeued == 0)
        #expect(try store.outbox.states() == [.rejected: 1])
    }

    @Test func `a whole outbox out of range ends rejected, batch after batch`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue((0..<250).map { sample(.heartRate, $0, 99) })

        let draw = try draw(strict)

        #expect(draw.batch == nil)
        #expect(draw.refused == [.outOfRange: [.heartRate: 250]])
        #expect(try store.outbox.states() == [.rejected: 250])
    }

    @Test func `a batch under way whose kind is no longer taken is taken apart`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue([sample(.steps, 0), sample(.vo2Max, 0)])
        _ = try draw(testRules())

        let draw = try draw(testRules(without: [.vo2Max]))

        #expect(draw.batch?.samples == [sample(.steps, 0)])
        #expect(draw.refused == [.kindNotAccepted: [.vo2Max: 1]])
        #expect(try store.outbox.states() == [.sending: 1, .setAside: 1])
    }

    @Test(arguments: [
        "hold = 'kind'", "hold = 'gone', state = 'setAside', reason = 'x'",
        "hold = 'range', state = 'setAside', reason = 'x'",
        "hold = 'future', state = 'rejected', reason = 'x'", "doubts = -1",
    ])
    func `the schema refuses holds that make no sense`(change: String) throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<1))

        #expect(throws: HealthStoreError.self) { try store.sql("UPDATE outbox SET \(change)") }
    }
}
