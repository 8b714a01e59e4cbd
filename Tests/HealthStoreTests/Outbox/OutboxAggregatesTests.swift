import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct OutboxAggregatesTests {
    private let folder = StateFolder()
    private let otherFolder = StateFolder()

    private func day(_ value: Double, _ minute: Int = 1) -> Sample { sample(.steps, minute, value) }

    private func enqueue(_ values: Double..., in store: HealthStore) throws -> [String] {
        try values.map { value in
            let counts = try store.outbox.enqueue(aggregates: [day(value)], asOf: noon)
            #expect(counts.metrics == 1 && counts.queued + counts.duplicates == 0)
            return switch (counts.metricsQueued, counts.metricsKnown, counts.replaced) {
            case (1, _, _): "queued"
            case (_, 1, _): "known"
            case (_, _, 1): "replaced"
            default: "corrected"
            }
        }
    }

    /// Returns all samples that would be sent.
    private func waiting(in store: HealthStore) throws -> [Sample] {
        try store.outbox.nextBatch(limit: 99, at: noon)?.samples ?? []
    }

    @Test func `a later value of a day takes the place of one that was not sent`() throws {
        let store = try folder.open()

        let outcomes = try enqueue(100, 200, 200, 300, in: store)

        #expect(outcomes == ["queued", "replaced", "known", "replaced"])
        #expect(try store.outbox.states() == [.queued: 1])
        #expect(try waiting(in: store) == [day(300)])
    }

    @Test func `another day and another kind are left as they are`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(
            aggregates: [day(1, 1), day(2, 2), sample(.distance, 1, 3)], asOf: noon)

        let counts = try store.outbox.enqueue(aggregates: [day(9, 1)], asOf: noon)

        #expect(counts.replaced == 1)
        #expect(
            Set(try waiting(in: store)) == [day(9, 1), day(2, 2), sample(.distance, 1, 3)])
    }

    @Test func `a later value of a day that is being sent, or was, follows as another`() throws {
        let store = try folder.open()
        _ = try enqueue(100, in: store)
        let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))

        #expect(try enqueue(200, 200, in: store) == ["corrected", "known"])
        try store.outbox.settle(batch, processingID: nil, duplicates: [0], at: noon)
        #expect(try enqueue(200, 300, 100, in: store) == ["known", "replaced", "replaced"])
        #expect(try store.outbox.states() == [.confirmed: 1])
        #expect(try enqueue(400, in: store) == ["corrected"])

        #expect(try waiting(in: store) == [day(400)])
    }

    @Test(arguments: [UploadRefusal.outOfRange, .inFuture, .kindNotAccepted])
    func `a day that our own rules kept back is replaced and checked again`(
        refusal: UploadRefusal
    ) throws {
        let store = try folder.open()
        _ = try enqueue(100, in: store)
        let refuses = testRules(
            without: refusal == .kindNotAccepted ? [.steps] : [],
            ranges: refusal == .outOfRange ? [.steps: 0...99] : [:],
            takesFuture: refusal != .inFuture)
        let before = Instant(secondsSince1970: 1_000_000_000)
        if refusal == .kindNotAccepted {
            _ = try store.outbox.sortOut(by: [refuses], at: noon)
        } else {
            let draw = try store.outbox.nextBatches(limit: 9, rules: [refuses], at: before)
            #expect(draw.batch == nil)
            #expect(draw.refused == [refusal: [.steps: 1]])
        }
        #expect(
            try store.outbox.states() == [refusal == .outOfRange ? .rejected : .setAside: 1])

        #expect(try enqueue(200, in: store) == ["replaced"])

        #expect(try store.outbox.states() == [.queued: 1])
        #expect(try waiting(in: store) == [day(200)])
    }

    @Test func `a day that the backend refused, or on which it broke, is replaced`() throws {
        let store = try folder.open()
        _ = try enqueue(100, in: store)
        var batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        _ = try store.outbox.split(batch, reason: "no", at: noon)
        #expect(try store.outbox.states() == [.rejected: 1])

        #expect(try enqueue(200, in: store) == ["replaced"])
        for _ in 0..<OutboxState.failureLimit {
            batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
            _ = try store.outbox.release(batch, reason: "broke", at: noon)
        }
        #expect(try store.outbox.states() == [.setAside: 1])
        #expect(try enqueue(300, in: store) == ["replaced"])

        #expect(try waiting(in: store) == [day(300)])
    }

    @Test func `a day that may have arrived is not sent again when a later value follows it`()
        throws
    {
        let store = try folder.open()
        let rules = testRules(isIdempotent: false)
        _ = try enqueue(100, in: store)
        let batch = try #require(
            try store.outbox.nextBatches(limit: 9, rules: [rules], at: noon).batch)
        _ = try store.outbox.release(batch, mayHaveArrived: true, reason: "broke", at: noon)

        #expect(try enqueue(200, in: store) == ["corrected"])

        #expect(try store.outbox.states() == [.queued: 1, .setAside: 1])
        #expect(try waiting(in: store) == [day(200)])
        #expect(
            try store.outbox.review().map(\.reason)
                == ["it may have arrived, and a later value has followed it"])
    }

    @Test func `a pruned day is known, and corrected by another value`() throws {
        let store = try folder.open()
        _ = try enqueue(100, in: store)
        let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        try store.outbox.settle(batch, processingID: nil, duplicates: [0], at: noon)
        _ = try store.prune(before: noon + .seconds(1))

        #expect(try enqueue(100, 200, in: store) == ["known", "corrected"])
    }

    @Test func `measurements and days of one portion are counted apart`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<2))
        _ = try store.outbox.enqueue(aggregates: [day(1)], asOf: noon)

        let counts = try store.outbox.commit(
            try store.outbox.prepare(
                heartRates(0..<5), aggregates: [(day(2), noon), (day(3, 2), noon)]))

        #expect(counts.queued == 3 && counts.duplicates == 2)
        #expect(counts.replaced == 1 && counts.metricsQueued == 1)
        #expect(counts.added == 5)
    }

    @Test func `a portion does the same as its days one after the other`() throws {
        func night(_ start: Int, _ minutes: Int, _ value: Double) -> Sample {
            var night = sample(.sleep, start, value)
            night.end = night.start + .seconds(Int64(minutes) * 60)
            return night
        }
        // Values that are repeated, replaced, and again what they were; nights whose bounds move.
        let later: [Sample] = [
            day(1), day(2), day(1), day(3, 2), day(4, 2), day(3, 2), night(0, 480, 8),
            night(30, 480, 7), night(2000, 400, 6), night(60, 470, 8), night(0, 480, 8),
        ]
        let stores = try [folder.open(), otherFolder.open()]
        for store in stores {
            _ = try store.outbox.enqueue(aggregates: [day(1), night(10, 480, 5)], asOf: noon)
            let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
            try store.outbox.settle(batch, processingID: nil, duplicates: [0], at: noon)
        }

        let atOnce = try stores[0].outbox.enqueue(aggregates: later, asOf: noon)
        let each = try later.reduce(EnqueueCounts()) { counts, sample in
            var sum = counts
            sum += try stores[1].outbox.enqueue(aggregates: [sample], asOf: noon)
            return sum
        }

        #expect(atOnce == each)
        #expect(try stores[0].outbox.states() == stores[1].outbox.states())
        #expect(try waiting(in: stores[0]) == waiting(in: stores[1]))
    }

    @Test(.onFilesAlone) func `the rows of a day are found by the index`() throws {
        let (spans, instants) = try folder.open().access { connection in
            (
                try connection.all(
                    "EXPLAIN QUERY PLAN \(FormerValues.spanQuery)", "steps", 1, 1
                ) { $0.text(3) },
                try connection.all(
                    "EXPLAIN QUERY PLAN \(FormerValues.instantsQuery)", "steps", "[1]"
                ) { $0.text(3) }
            )
        }

        for plan in [spans, instants] {
            #expect(plan.contains { $0.contains("USING INDEX outbox_sample") }, "\(plan)")
        }
    }
}
