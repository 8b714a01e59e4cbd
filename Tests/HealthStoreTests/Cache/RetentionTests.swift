import ClarityTestSupport
import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct RetentionTests {
    private let folder = StateFolder()

    private func settled(_ store: HealthStore, _ range: Range<Int>, at: Instant) throws {
        _ = try store.outbox.enqueue(heartRates(range))
        let batch = try #require(try store.outbox.nextBatch(limit: 1000, at: at))
        try store.outbox.settle(batch, processingID: "p", at: at)
    }

    @Test func `only what is confirmed and old loses its value, and stays known`() throws {
        let store = try folder.open()
        try settled(store, 0..<3, at: noon)
        try store.outbox.confirm(store.outbox.openUploads()[0], at: noon)
        try settled(store, 3..<5, at: noon)
        try store.outbox.confirm(store.outbox.openUploads()[0], at: noon + .seconds(100))
        try settled(store, 5..<7, at: noon)
        try store.outbox.giveUp(store.outbox.openUploads()[0], reason: "no end", at: noon)
        try settled(store, 7..<8, at: noon)
        _ = try store.outbox.enqueue(heartRates(8..<9))

        let counts = try store.prune(before: noon + .seconds(50))
        let again = try store.outbox.enqueue(heartRates(0..<9))

        #expect(counts[.samples].count == 3)
        #expect(counts[.batches].count == 1)
        #expect(again == EnqueueCounts(queued: 0, duplicates: 9))
        #expect(
            try store.outbox.states() == [.confirmed: 5, .unconfirmed: 2, .accepted: 1, .queued: 1])
        let values = try store.access { connection in
            try connection.first("SELECT count(*) FROM outbox WHERE sealed IS NULL") {
                $0.integer(0)
            }
        }
        #expect(values == 3)
        #expect(try store.prune(before: noon + .seconds(50)) == PruneReceipt())
    }

    @Test func `what is old goes in portions until nothing is left`() throws {
        let store = try folder.open()
        try settled(store, 0..<5, at: noon)
        try store.outbox.confirm(store.outbox.openUploads()[0], at: noon)
        for table in CachedTable.allCases {
            for version in 0..<2 {
                _ = try store.cache.upsert(
                    (0..<3).map {
                        CachedRow(
                            id: "\($0)", type: "t", timestamp: noon, json: [UInt8(version)])
                    }, into: table, syncedAt: noon)
            }
        }

        var counts: [PrunedKind: [Int64]] = [:]
        var receipt = PruneReceipt()
        for kind in PrunedKind.allCases {
            var cursor = PruneCursor()
            var isMore = true
            while isMore, counts[kind, default: []].count < 9 {
                let before = receipt[kind].count
                isMore = try store.prune(
                    kind, before: noon + .seconds(1), limit: 2, from: &cursor, into: &receipt)
                counts[kind, default: []].append(receipt[kind].count - before)
            }
        }

        #expect(
            counts == [
                .samples: [2, 2, 1], .batches: [1], .metrics: [2, 1], .insights: [2, 1],
                .versions: [2, 2, 2, 0], .analyses: [0], .auditEntries: [0],
                .records: [0], .files: [0],
            ])
        #expect(try store.audit.verify().broken == nil)
    }

    @Test func `the receipt is the same in one go and in portions, and another for other rows`()
        throws
    {
        func receipt(_ limit: Int, _ values: Range<Int>) throws -> PruneReceipt {
            let folder = StateFolder()
            // The same key, so that equal samples have equal blind indexes.
            let store = try folder.open(["CLARITY_JOBS_KEY": String(repeating: "0f", count: 32)])
            _ = try store.outbox.enqueue(heartRates(values))
            let batch = try #require(try store.outbox.nextBatch(limit: 1000, at: noon))
            try store.outbox.settle(batch, processingID: "p", at: noon)
            try store.outbox.confirm(store.outbox.openUploads()[0], at: noon)
            var receipt = PruneReceipt()
            for kind in PrunedKind.allCases {
                var cursor = PruneCursor()
                while try store.prune(
                    kind, before: noon + .seconds(1), limit: limit, from: &cursor, into: &receipt)
                {}
            }
            return receipt
        }

        let whole = try receipt(1000, 0..<5)

        #expect(try receipt(2, 0..<5) == whole)
        #expect(whole[.samples].count == 5 && whole[.samples].oldest == noon)
        #expect(try receipt(1000, 1..<6).digest != whole.digest)
        #expect(whole.digest.count == 64 && PruneReceipt().digest != whole.digest)
        #expect(whole.summary == "samples 5, batches 1")
    }

    @Test func `each removal has its entry, with the receipt as it is after it`() throws {
        let store = try folder.open()
        try settled(store, 0..<3, at: noon)
        try store.outbox.confirm(store.outbox.openUploads()[0], at: noon)
        let before = try store.audit.records(limit: 99).count

        let receipt = try store.prune(before: noon + .seconds(1))

        let entries = try store.audit.records(limit: 99).dropFirst(before).compactMap(\.entry)
        #expect(entries.map(\.counts) == [["samples": 3], ["batches": 1]])
        #expect(entries.last?.detail == "their retention is over, receipt \(receipt.digest)")
    }

    @Test func `an upload that nobody is in any more goes, one that is under way stays`() throws {
        let store = try folder.open()
        try settled(store, 0..<2, at: noon)
        try settled(store, 2..<4, at: noon)
        try store.access { connection in
            try connection.run("DELETE FROM outbox WHERE batch_id = 1")
        }

        let young = try store.prune(before: noon)
        let counts = try store.prune(before: noon + .seconds(1))

        #expect(young.count == 0)
        #expect(counts.parts.mapValues(\.count) == [.batches: 1])
        #expect(try store.outbox.openUploads().map(\.id) == [2])
    }

    @Test func `of the audit log only what was uploaded goes, and only from its old end`() throws {
        let clock = ManualClock(noon)
        let store = try folder.open(clock: clock)
        for second in [0, 100, 50, 300] {
            clock.set(noon + .seconds(second))
            try store.audit.record(.exported)
        }
        try store.audit.confirmUpload(through: 3)
        clock.set(noon + .seconds(400))

        // The second entry is too young. The third, from a clock that was set back, stays too.
        let first = try store.prune(before: noon + .seconds(60))
        let second = try store.prune(before: noon + .seconds(500))

        #expect(first.parts.mapValues(\.count) == [.auditEntries: 1])
        #expect(second.parts.mapValues(\.count) == [.auditEntries: 2])
        let proof = try store.audit.verify()
        #expect(proof.broken == nil && proof.anchor == 3)
        #expect(try store.audit.records(limit: 9).map(\.number) == [4, 5, 6])
    }

    @Test func `a pulled row goes when it is old and no longer listed`() throws {
        let store = try folder.open()
        let old = CachedRow(id: "old", type: "t", timestamp: noon - .seconds(500), json: [])
        let listed = CachedRow(id: "listed", type: "t", timestamp: noon - .seconds(500), json: [])
        let young = CachedRow(id: "young", type: "t", timestamp: noon, json: [])
        for table in CachedTable.allCases {
            _ = try store.cache.upsert([old, young], into: table, syncedAt: noon - .seconds(300))
            _ = try store.cache.upsert([listed], into: table, syncedAt: noon)
        }

        let counts = try store.prune(before: noon - .seconds(100))

        #expect(counts[.metrics].count == 1)
        #expect(counts[.insights].count == 1)
        for table in CachedTable.allCases {
            #expect(try store.cache.rows(of: table, limit: 9).map(\.row.id) == ["young", "listed"])
        }
    }

    /// Returns the number of rows in each portion, until there is no more.
    private func portions(
        of kind: PrunedKind, _ store: HealthStore, before cutoff: Instant, limit: Int
    ) throws -> [Int64] {
        var (cursor, receipt, counts) = (PruneCursor(), PruneReceipt(), [Int64]())
        var isMore = true
        while isMore, counts.count < 9 {
            let before = receipt[kind].count
            isMore = try store.prune(
                kind, before: cutoff, limit: limit, from: &cursor, into: &receipt)
            counts.append(receipt[kind].count - before)
        }
        return counts
    }

    @Test(arguments: [(CachedTable.metrics, PrunedKind.metrics), (.insights, .insights)])
    func `a portion looks at no more rows than it may remove`(
        table: CachedTable, kind: PrunedKind
    ) throws {
        let store = try folder.open()
        // The newest row is reached last; the stored ids of metrics keep no order.
        func row(_ number: Int) -> CachedRow {
            CachedRow(
                id: "a\(number)", type: "t", timestamp: noon - .seconds(500 - Int64(number)),
                json: [])
        }
        _ = try store.cache.upsert((0..<4).map(row), into: table, syncedAt: noon + .seconds(9))
        _ = try store.cache.upsert([row(4)], into: table, syncedAt: noon - .seconds(300))

        let counts = try portions(of: kind, store, before: noon, limit: 2)

        #expect(counts == [0, 0, 1])
        #expect(try store.cache.rows(of: table, limit: 9).count == 4)
    }

    @Test func `samples that stay are looked at in portions too`() throws {
        let store = try folder.open()
        try settled(store, 0..<3, at: noon)
        try store.outbox.giveUp(store.outbox.openUploads()[0], reason: "no end", at: noon)
        try settled(store, 3..<4, at: noon)
        try store.outbox.confirm(store.outbox.openUploads()[0], at: noon)

        #expect(
            try portions(of: .samples, store, before: noon + .seconds(1), limit: 2) == [0, 1, 0])
        #expect(
            try portions(of: .batches, store, before: noon + .seconds(1), limit: 1) == [0, 1, 0])
    }

    private func ids(_ table: String, _ store: HealthStore) throws -> [Int64] {
        try store.access { connection in
            try connection.all("SELECT id FROM \(table) ORDER BY id") { $0.integer(0) }
        }
    }

    @Test func `analyses that ended go with their requests, but not what still counts`() throws {
        let store = try folder.open()
        // The first analysis has an insight, the second a requested one, the third none.
        let analyses = try (0..<3).map { try completedAnalysis(store, 20_000 + 7 * $0) }
        let made = try #require(
            try store.analyses.queueInsight(of: analyses[0], testMatter, at: noon))
        try store.analyses.sending(made, at: noon)
        try store.analyses.complete(made, insight: "a", at: noon)
        let asked = try #require(
            try store.analyses.queueInsight(of: analyses[1], testMatter, at: noon))
        // The newest week failed, so the week before it has the newest result.
        let failed = try store.analyses.queue(
            of: CivilDay(daysSince1970: 20_021), as: .steps, knownMinutes: 9000, at: noon)
        try store.analyses.fail(failed, reason: "r", at: noon)

        let young = try store.prune(before: noon)
        let first = try store.prune(before: noon + .seconds(1))
        let left = (try ids("analyses", store), try ids("insight_requests", store))
        try store.analyses.fail(asked, reason: "r", at: noon + .seconds(60))
        let early = try store.prune(before: noon + .seconds(60))
        let second = try store.prune(before: noon + .seconds(61))

        #expect(young.count == 0 && early.count == 0)
        #expect(first.summary == "analyses 1")
        #expect(left == ([2, 3, 4], [2]))
        #expect(second.summary == "analyses 1")
        #expect(try ids("analyses", store) == [3, 4])
        #expect(try ids("insight_requests", store) == [])
        #expect(try store.analyses.latestResult()?.analysis.id == 3)
    }

    @Test func `the number of a request that is gone is no other's`() throws {
        let store = try folder.open()
        let analyses = try (0..<2).map { try completedAnalysis(store, 20_000 + 7 * $0) }
        let gone = try #require(
            try store.analyses.queueInsight(of: analyses[0], testMatter, at: noon))
        try store.analyses.fail(gone, reason: "r", at: noon)
        _ = try store.prune(before: noon + .seconds(1))

        let next = try store.analyses.queueInsight(of: analyses[1], testMatter, at: noon)

        #expect(next?.id == 2)
    }

    @Test func `what is known of a text that is missing goes with its insight`() throws {
        let store = try folder.open()
        for id in ["old", "young"] {
            let time = id == "old" ? noon - .seconds(500) : noon
            _ = try store.cache.upsert(
                [CachedRow(id: id, type: "t", timestamp: time, json: [])], into: .insights,
                syncedAt: time)
            try store.analyses.noteMissingText(of: id, at: noon)
        }
        try store.analyses.noteMissingText(of: "never listed", at: noon - .seconds(500))

        _ = try store.prune(before: noon - .seconds(100))

        let left = try store.access { connection in
            try connection.all("SELECT insight_id FROM missing_texts") { $0.text(0) }
        }
        #expect(left == ["young"])
    }

    @Test func `an archived version goes by when it was archived`() throws {
        let store = try folder.open()
        for version in 0..<3 {
            let at = noon + .seconds(version)
            _ = try store.cache.upsert(
                [CachedRow(id: "a", type: "t", timestamp: at, json: [UInt8(version)])],
                into: .metrics, syncedAt: at)
        }

        let counts = try store.prune(before: noon + .seconds(2))

        #expect(counts[.versions].count == 1)
    }

    @Test(.onFilesAlone) func `compacting empties the log and gives the space back`() throws {
        let store = try folder.open()
        try settled(store, 0..<1000, at: noon)
        try store.outbox.confirm(store.outbox.openUploads()[0], at: noon)
        _ = try store.cache.upsert(
            (0..<200).map {
                CachedRow(
                    id: "\($0)", type: "t", timestamp: noon,
                    json: [UInt8](repeating: 0, count: 2000))
            }, into: .metrics, syncedAt: noon)
        _ = try store.prune(before: noon + .seconds(1))

        let (freed, isMore) = try store.compact()

        #expect(freed > 400_000 && !isMore)
        #expect(folder.bytes(of: "health.db-wal").isEmpty)
        #expect(try store.compact().freed == 0)
    }
}
