import HealthModel
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// Tests batches that are taken, and settled, in one transaction.
@Suite(.onBothEngines) struct SeveralBatchesTests {
    private let folder = StateFolder()

    @Test func `several batches are taken, and no sample is in two`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<9))

        let draw = try store.outbox.nextBatches(3, limit: 2, rules: [testRules()], at: noon)
        let rest = try store.outbox.nextBatches(
            3, limit: 2, rules: [testRules()], at: noon, besides: Set(draw.batches.map(\.id)))

        #expect(draw.batches.map(\.samples.count) == [2, 2, 2])
        #expect(rest.batches.map(\.samples.count) == [2, 1])
        let samples = (draw.batches + rest.batches).flatMap(\.samples)
        #expect(Set(samples.map(\.start)).count == 9)
        #expect(try store.outbox.states() == [.sending: 9])
    }

    @Test func `the batches of a transaction share the requests of the hour`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<9))

        let draw = try store.outbox.nextBatches(
            4, limit: 2, rules: [testRules(perHour: 3)], at: noon)

        #expect(draw.batches.count == 3)
        #expect(try store.outbox.states() == [.sending: 6, .queued: 3])
    }

    @Test func `a route that keeps every copy has one batch in a transaction`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<9))
        let rules = testRules(.samples, isIdempotent: false)

        let draw = try store.outbox.nextBatches(4, limit: 2, rules: [rules], at: noon)

        #expect(draw.batches.count == 1)
        #expect(try store.outbox.states() == [.sending: 2, .queued: 7])
    }

    @Test func `a later value of a day is in no transaction with the former one`() throws {
        let (former, later) = (sample(.steps, 1, 100), sample(.steps, 1, 200))
        _ = try folder.open().outbox.enqueue(aggregates: [former], asOf: noon)
        _ = try folder.drawOnce(limit: 5, [testRules()])
        let store = try folder.open()
        _ = try store.outbox.enqueue(aggregates: [later], asOf: noon + .seconds(3600))

        let draw = try store.outbox.nextBatches(4, limit: 5, rules: [testRules()], at: noon)

        #expect(draw.batches.map(\.samples) == [[former]])
        #expect(try store.outbox.states() == [.sending: 1, .queued: 1])
    }

    @Test func `what is refused on the way to a later batch is told`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue([
            sample(.heartRate, 0, 61), sample(.heartRate, 9, 50), sample(.heartRate, 8, 50),
        ])

        let draw = try store.outbox.nextBatches(
            4, limit: 1, rules: [testRules(ranges: [.heartRate: 0...60])], at: noon)

        #expect(draw.batches.map(\.samples.count) == [1, 1])
        #expect(draw.refused == [.outOfRange: [.heartRate: 1]])
    }

    @Test func `batches that were taken are settled with the next ones, each once`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<9))
        let first = try store.outbox.nextBatches(2, limit: 3, rules: [testRules()], at: noon)
        let taken = first.batches.map { TakenBatch($0, processingID: "p\($0.id)") }

        let next = try store.outbox.nextBatches(
            2, limit: 3, rules: [testRules()], at: noon, after: taken)
        let again = try store.outbox.settle(taken, at: noon)

        #expect(next.settlements.map(\.accepted) == [3, 3])
        #expect(next.batches.map(\.samples.count) == [3])
        #expect(again == [Settlement(), Settlement()])
        #expect(try store.outbox.states() == [.accepted: 6, .sending: 3])
    }
}
