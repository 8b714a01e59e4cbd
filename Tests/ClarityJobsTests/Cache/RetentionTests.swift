import SQLite
import Testing

@testable import ClarityJobs
@testable import ClarityScheduler

@Suite struct RetentionTests {
    private let folder = StateFolder()

    private func settled(_ store: HealthStore, _ range: Range<Int>, at: Instant) throws {
        _ = try store.enqueue(heartRates(range))
        let batch = try #require(try store.nextBatch(limit: 1000, at: at))
        try store.settle(batch, processingID: "p", at: at)
    }

    @Test func `only what is confirmed and old loses its value, and stays known`() throws {
        let store = try folder.open()
        try settled(store, 0..<3, at: noon)
        try store.confirm(store.openUploads()[0], at: noon)
        try settled(store, 3..<5, at: noon)
        try store.confirm(store.openUploads()[0], at: noon + .seconds(100))
        try settled(store, 5..<7, at: noon)
        try store.giveUp(store.openUploads()[0], reason: "no end", at: noon)
        try settled(store, 7..<8, at: noon)
        _ = try store.enqueue(heartRates(8..<9))

        let counts = try store.prune(before: noon + .seconds(50))
        let again = try store.enqueue(heartRates(0..<9))

        #expect(counts.samples == 3)
        #expect(counts.batches == 1)
        #expect(again == EnqueueCounts(queued: 0, duplicates: 9))
        #expect(
            try store.states() == [.confirmed: 5, .unconfirmed: 2, .accepted: 1, .queued: 1])
        let values = try store.access { connection in
            try connection.first("SELECT count(*) FROM outbox WHERE sealed IS NULL") {
                $0.integer(0)
            }
        }
        #expect(values == 3)
        #expect(try store.prune(before: noon + .seconds(50)) == PruneCounts())
    }

    @Test func `what is old goes in portions until nothing is left`() throws {
        let store = try folder.open()
        try settled(store, 0..<5, at: noon)
        try store.confirm(store.openUploads()[0], at: noon)
        for table in CachedTable.allCases {
            for version in 0..<2 {
                _ = try store.upsert(
                    (0..<3).map {
                        CachedRow(
                            id: "\($0)", type: "t", timestamp: noon, json: [UInt8(version)])
                    }, into: table, syncedAt: noon)
            }
        }

        var counts: [PruneCounts] = []
        while counts.last != PruneCounts(), counts.count < 9 {
            counts.append(try store.prune(before: noon + .seconds(1), limit: 2))
        }

        #expect(counts.map(\.samples) == [2, 2, 1, 0])
        #expect(counts.map(\.batches) == [0, 0, 1, 0])
        #expect(counts.map(\.metrics) == [2, 1, 0, 0])
        #expect(counts.map(\.insights) == [2, 1, 0, 0])
        #expect(counts.map(\.archived) == [2, 2, 2, 0])
    }

    @Test func `a pulled row goes when it is old and no longer listed`() throws {
        let store = try folder.open()
        let old = CachedRow(id: "old", type: "t", timestamp: noon - .seconds(500), json: [])
        let listed = CachedRow(id: "listed", type: "t", timestamp: noon - .seconds(500), json: [])
        let young = CachedRow(id: "young", type: "t", timestamp: noon, json: [])
        for table in CachedTable.allCases {
            _ = try store.upsert([old, young], into: table, syncedAt: noon - .seconds(300))
            _ = try store.upsert([listed], into: table, syncedAt: noon)
        }

        let counts = try store.prune(before: noon - .seconds(100))

        #expect(counts.metrics == 1)
        #expect(counts.insights == 1)
        for table in CachedTable.allCases {
            #expect(try store.rows(of: table, limit: 9).map(\.row.id) == ["young", "listed"])
        }
    }

    @Test func `an archived version goes by when it was archived`() throws {
        let store = try folder.open()
        for version in 0..<3 {
            let at = noon + .seconds(version)
            _ = try store.upsert(
                [CachedRow(id: "a", type: "t", timestamp: at, json: [UInt8(version)])],
                into: .metrics, syncedAt: at)
        }

        let counts = try store.prune(before: noon + .seconds(2))

        #expect(counts.archived == 1)
    }

    @Test func `compacting empties the log and gives the space back`() throws {
        let store = try folder.open()
        try settled(store, 0..<1000, at: noon)
        try store.confirm(store.openUploads()[0], at: noon)
        _ = try store.upsert(
            (0..<200).map {
                CachedRow(
                    id: "\($0)", type: "t", timestamp: noon,
                    json: [UInt8](repeating: 0, count: 2000))
            }, into: .metrics, syncedAt: noon)
        _ = try store.prune(before: noon + .seconds(1))

        let freed = try store.compact()

        #expect(freed > 400_000)
        #expect(folder.bytes(of: "health.db-wal").isEmpty)
        #expect(try store.compact() == 0)
    }
}
