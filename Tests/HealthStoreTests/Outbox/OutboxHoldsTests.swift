import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// Tests the samples that the client's own rules hold back.
@Suite(.onBothEngines) struct OutboxHoldsTests {
    private let folder = StateFolder()

    private func draw(_ rules: BatchRules) throws -> OutboxDraw {
        try folder.drawOnce(limit: 100, [rules])
    }

    /// Makes rules that refuse values above 60 and instants after `now`.
    private func strict(now: Instant = noon) -> BatchRules {
        testRules { sample in
            if case .single(let value) = sample.value, value > 60 {
                return .init(.range, "out of range")
            }
            return sample.start > now ? .init(.future, "in the future") : nil
        }
    }

    @Test func `a kind that is not taken is set aside and comes back when it is`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue([sample(.steps, 0), sample(.vo2Max, 0), sample(.vo2Max, 1)])

        let first = try store.outbox.sortOut(by: [testRules(without: [.vo2Max])])
        let review = try store.outbox.review()
        let states = try store.outbox.states()
        let again = try store.outbox.sortOut(by: [testRules(without: [.vo2Max])])
        let other = try store.outbox.sortOut(by: [testRules(without: [.steps])])

        #expect(first.requeued == 0)
        #expect(
            first.refused.map { "\($0.key.kind) \($0.key.hold.rawValue) \($0.value)" } == [
                "vo2_max kind 2"
            ])
        #expect(review.map(\.reason) == ["its kind is not taken"])
        #expect(states == [.queued: 1, .setAside: 2])
        #expect(again == .init())
        #expect(other.requeued == 2)
        #expect(try store.outbox.states() == [.queued: 2, .setAside: 1])
    }

    @Test func `more of a kind than one transaction changes is set aside whole`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<20_001))

        let sorted = try store.outbox.sortOut(by: [testRules(without: [.heartRate])])

        #expect(sorted.refused.values.map { $0 } == [20_001])
        #expect(try store.outbox.sortOut(by: [testRules()]).requeued == 20_001)
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

        let draw = try draw(strict())

        #expect(draw.batch?.samples == [sample(.heartRate, 0, 55), sample(.steps, 1, 7)])
        #expect(
            draw.refused == [
                .init(kind: "heart_rate", hold: .range, reason: "out of range"): 1,
                .init(kind: "heart_rate", hold: .future, reason: "in the future"): 1,
            ])
        #expect(try store.outbox.states() == [.sending: 2, .rejected: 1, .setAside: 1])
    }

    @Test func `what was kept back is judged anew by the rules of today`() throws {
        let store = try folder.open()
        let tomorrow = Sample(
            kind: .heartRate, start: noon + .seconds(86_400), end: noon + .seconds(86_400),
            value: .single(50))
        _ = try store.outbox.enqueue([sample(.heartRate, 0, 61), tomorrow])
        let none = try draw(strict()).batch

        let unchanged = try store.outbox.sortOut(by: [strict()])
        let dayAfter = try store.outbox.sortOut(by: [strict(now: noon + .seconds(90_000))])
        let wider = try store.outbox.sortOut(by: [testRules()])

        #expect(none == nil)
        #expect([unchanged, dayAfter, wider].map(\.requeued) == [0, 1, 1])
        #expect(try store.outbox.states() == [.queued: 2])
    }

    @Test func `what the backend itself refused is not tried again by our rules`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<1))
        let batch = try #require(try draw(testRules()).batch)
        _ = try store.outbox.split(batch, reason: "refused", at: noon)

        #expect(try store.outbox.sortOut(by: [testRules()]).requeued == 0)
        #expect(try store.outbox.states() == [.rejected: 1])
    }

    @Test func `a whole outbox out of range ends rejected, batch after batch`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue((0..<250).map { sample(.heartRate, $0, 99) })

        let draw = try draw(strict())

        #expect(draw.batch == nil)
        #expect(draw.refused.values.map { $0 } == [250])
        #expect(try store.outbox.states() == [.rejected: 250])
    }

    @Test func `a batch under way whose kind is no longer taken is taken apart`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue([sample(.steps, 0), sample(.vo2Max, 0)])
        _ = try draw(testRules())

        let draw = try draw(testRules(without: [.vo2Max]))

        #expect(draw.batch?.samples == [sample(.steps, 0)])
        #expect(draw.refused.map(\.key.hold) == [.kind])
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
