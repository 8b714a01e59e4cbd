import HealthModel
import Platform
import Database
import Synchronization
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite(.onBothEngines) struct OutboxIntakeTests {
    private let folder = StateFolder()

    @Test func `a portion is written only when it is committed, and then opens as it came`() throws
    {
        let store = try folder.open()
        let samples = heartRates(0..<50, source: "Invented watch") + [sample(.steps, 3, 17)]

        let portion = try store.outbox.prepare(samples)
        #expect(try store.outbox.counts().total == 0)
        let counts = try store.outbox.commit(portion)

        #expect(counts == EnqueueCounts(queued: 51, duplicates: 0))
        #expect(try folder.open().outbox.nextBatch(limit: 99, at: noon)?.samples == samples)
    }

    @Test(.timeLimit(.minutes(5)))
    func `while much is written, the next portion is made without waiting for this one`() throws {
        let store = try folder.open()
        let samples = heartRates(0..<20)
        let known = Mutex<Int64?>(nil)

        try store.outbox.inBulk {
            _ = try store.outbox.enqueue(heartRates(0..<10))
            try store.change { _ in
                // The thread is joined before the transaction ends: waiting for it would be a
                // deadlock.
                try withThreads(
                    [{ known.withLock { $0 = try? store.outbox.prepare(samples).known } }],
                    cancel: {}
                ) {}
            }
        }

        #expect(known.withLock { $0 } == 10)
        #expect(try store.outbox.enqueue(samples) == EnqueueCounts(queued: 10, duplicates: 10))
    }

    @Test func `a sample that comes twice in a portion is written once`() throws {
        let store = try folder.open()

        let portion = try store.outbox.prepare(
            heartRates(0..<10) + heartRates(5..<10, source: "other"))

        #expect(portion.rows.count == 10)
        #expect(portion.known == 5)
        #expect(try store.outbox.commit(portion) == EnqueueCounts(queued: 10, duplicates: 5))
    }

    @Test func `what is in the outbox is neither encrypted nor written again, in whatever state`()
        throws
    {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<30))
        let batch = try #require(try store.outbox.nextBatch(limit: 10, at: noon))
        try store.outbox.settle(batch, processingID: "p", at: noon)

        let portion = try store.outbox.prepare(heartRates(0..<32))

        #expect(portion.known == 30)
        #expect(portion.rows.map(\.start) == heartRates(30..<32).map(\.start.secondsSince1970))
        #expect(try store.outbox.commit(portion) == EnqueueCounts(queued: 2, duplicates: 30))
    }

    @Test func `two who prepared the same samples write them once`() throws {
        let first = try folder.open()
        let second = try folder.open()
        let portions = [
            try first.outbox.prepare(heartRates(0..<10)),
            try second.outbox.prepare(heartRates(5..<15)),
        ]

        let counts = [try first.outbox.commit(portions[0]), try second.outbox.commit(portions[1])]

        #expect(counts[0] == EnqueueCounts(queued: 10, duplicates: 0))
        #expect(counts[1] == EnqueueCounts(queued: 5, duplicates: 5))
        #expect(try first.outbox.states() == [.queued: 15])
    }

    @Test func `samples without an order are known too, among many that are not theirs`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<5000))

        // The span from the first to the last sample holds far more than is read at once.
        let mixed = heartRates(0..<1) + heartRates(4999..<5002) + [sample(.steps, 7)]
        let portion = try store.outbox.prepare(mixed)

        #expect(KnownSamples.limit(for: 4) < 5000)
        #expect(portion.known == 2)
        #expect(try store.outbox.commit(portion) == EnqueueCounts(queued: 3, duplicates: 2))
    }

    @Test func `equal times of other kinds and values are no duplicates`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue([sample(.steps, 1, 5)])
        var longer = sample(.steps, 1, 5)
        longer.end = longer.end + .seconds(60)

        let counts = try store.outbox.enqueue(
            [sample(.steps, 1, 6), sample(.distance, 1, 5), longer, sample(.steps, 1, 5)])

        #expect(counts == EnqueueCounts(queued: 3, duplicates: 1))
    }

    @Test(.onFilesAlone) func `the look at what is known reads the index alone`() throws {
        let plan = try folder.open().access { connection in
            try connection.all(
                """
                EXPLAIN QUERY PLAN SELECT start_s, end_s, tag FROM outbox
                WHERE kind = 'steps' AND start_s BETWEEN 1 AND 2 LIMIT 9
                """
            ) { $0.text(3) }
        }

        #expect(plan.count == 1 && plan[0].contains("USING COVERING INDEX outbox_sample"))
    }

    @Test func `a portion is one entry of the audit log, and one that is known is none`() throws {
        let store = try folder.open()
        let samples = heartRates(0..<3) + [sample(.steps, 1)]

        _ = try store.outbox.enqueue(samples)
        _ = try store.outbox.enqueue(samples)
        _ = try store.outbox.enqueue(samples + [sample(.steps, 2)])

        let entries = try store.audit.records(limit: 9).compactMap(\.entry)
        #expect(
            entries.map(\.counts) == [
                ["heart_rate": 3, "steps": 1], ["heart_rate": 3, "steps": 2],
            ])
        #expect(entries.map(\.detail) == ["from a source, all new", "from a source, 1 new"])
    }

    @Test func `nothing is written for somebody who was logged out`() throws {
        let store = try folder.open()
        let portion = try store.outbox.prepare(heartRates(0..<3))
        _ = try folder.open().wipe()

        #expect(throws: HealthStoreError.self) { try store.outbox.commit(portion) }
        #expect(try folder.open().outbox.counts().total == 0)
    }

    @Test(.onFilesAlone) func `in bulk the log grows longer, and afterwards is as before`() throws {
        let store = try folder.open()
        let pragma: (String) throws -> Int64? = { name in
            try store.access { try $0.first("PRAGMA \(name)") { $0.integer(0) } }
        }
        struct Broken: Error {}

        let limit = { try store.access { ($0 as? FileConnection)?.logLimit } }
        let during = try store.outbox.inBulk { try limit() }
        #expect(throws: Broken.self) { try store.outbox.inBulk { throw Broken() } }

        #expect(during == 16_384)
        #expect(try limit() == 1000)
        #expect(try pragma("cache_size") == -2000)
    }
}
