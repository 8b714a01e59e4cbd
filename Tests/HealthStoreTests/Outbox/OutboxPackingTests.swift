import Database
import ClarityTestSupport
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// Tests the samples that need nothing more and are packed by kind and month.
@Suite(.onBothEngines) struct OutboxPackingTests {
    private let folder = StateFolder()
    private let user = "5f0c7e52-6a1d-4f0e-9b1e-2d8a4c3b7a10"

    /// Makes a store in which samples were sent and confirmed, and then packed.
    private func store(_ samples: [Sample], packs: Bool = true) throws -> HealthStore {
        let store = try folder.open()
        try store.sessions.save(
            Session(
                userID: user, email: "ada@example.com", accessToken: Secret("a"),
                refreshToken: Secret("r"), expiresAt: noon))
        _ = try store.outbox.enqueue(samples)
        try Self.confirm(store)
        if packs { try store.outbox.pack(atLeast: 1, at: noon) }
        return store
    }

    private static func confirm(_ store: HealthStore) throws {
        while let batch = try store.outbox.nextBatch(limit: 100, at: noon) {
            try store.outbox.settle(
                batch, processingID: nil, duplicates: Array(batch.samples.indices), at: noon)
        }
    }

    /// Invented heart rates of some months, one every six hours.
    private func months(_ range: Range<Int>) -> [Sample] {
        range.map { index in
            let start = Instant(secondsSince1970: 1_700_000_000 + Int64(index) * 21_600)
            return Sample(
                kind: .heartRate, start: start, end: start + .seconds(index % 3),
                value: .single(50 + Double(index % 400) / 10),
                source: index % 2 == 0 ? "Ada\u{2019}s watch" : nil)
        }
    }

    private static func rows(_ store: HealthStore) throws -> Int64? {
        try store.access { try $0.integer("SELECT count(*) FROM outbox") }
    }

    private func read(_ store: HealthStore) throws -> [Double] {
        var numbers: [Double] = []
        let span = Instant(secondsSince1970: 0)..<Instant(secondsSince1970: 4_000_000_000)
        let damaged = try store.cache.readMetrics(
            .heartRate, in: span, flatten: { _ in MetricNumbers() },
            each: { numbers += $0.numbers.entries.map(\.number) })
        #expect(damaged == [])
        return numbers
    }

    @Test func `packed samples leave the rows, are counted and are known in any order`() throws {
        let samples = months(0..<500)
        let store = try store(samples)

        #expect(try Self.rows(store) == 0)
        #expect(try store.outbox.counts()[.confirmed] == 500)
        #expect(try store.outbox.arithmetic().isBalanced)
        #expect(try store.outbox.prove().findings == [])
        let again = try store.outbox.enqueue(samples.shuffled() + months(500..<510))
        #expect(again.duplicates == 500 && again.queued == 10)
        #expect(try Self.rows(store) == 10)
    }

    @Test func `samples that no backend wants yet are packed, and are queued again once`() throws {
        let store = try folder.open()
        let samples = months(0..<500)
        _ = try store.outbox.enqueue(samples)

        try store.outbox.packKept(atLeast: 501, at: noon)
        let tooFew = try Self.rows(store)
        try store.outbox.packKept(atLeast: 1, at: noon)
        let rows = try Self.rows(store)
        let counts = try store.outbox.counts()
        let unsent = try store.outbox.unsentCount()
        let again = try store.outbox.enqueue(samples.shuffled() + months(500..<510))
        let numbers = try read(store)
        let proof = try store.outbox.prove()
        for month in try store.outbox.keptMonths() { try store.outbox.unpackKept(month) }
        let queued = try Self.rows(store)

        #expect(tooFew == 500 && rows == 0)
        #expect(counts[.queued] == 500 && counts.waiting == 500 && unsent == 500)
        #expect(again.duplicates == 500 && again.queued == 10)
        #expect(numbers.count == 510 && proof.findings == [])
        #expect(queued == 510)
        #expect(try store.outbox.keptMonths() == [])
        #expect(try store.outbox.prove().findings == [])
        #expect(try store.outbox.arithmetic().isBalanced)
        #expect(try read(store).sorted() == numbers.sorted())
    }

    @Test func `kept samples beside sent ones keep their values, and they alone are queued`() throws
    {
        let store = try store(months(0..<200))
        _ = try store.outbox.enqueue(months(100..<300))
        try store.outbox.packKept(atLeast: 1, at: noon)
        var (cursor, receipt) = (PruneCursor(), PruneReceipt())

        while try store.prune(
            .samples, before: noon + .seconds(60), from: &cursor, into: &receipt)
        {}
        let selection = OutboxSelection(state: .stored)
        let stored = try store.outbox.retryShares(selection)
        for month in try store.outbox.keptMonths() { try store.outbox.unpackKept(month) }

        #expect(receipt[.samples].count == 200)
        #expect(try read(store).count == 100 && stored == [])
        #expect(try store.outbox.counts()[.confirmed] == 200)
        #expect(try Self.rows(store) == 100)
        #expect(try store.outbox.prove().findings == [])
        let batch = try store.outbox.nextBatch(limit: 1000, at: noon)
        #expect(batch?.samples.count == 100 && batch?.possibleSends == 0)
    }

    @Test func `a kept sample waits where there is a backend, and has arrived where there is none`()
        throws
    {
        let store = try folder.open()
        let samples = months(0..<40)
        let last = try #require(samples.last)
        _ = try store.outbox.enqueue(samples)
        try store.outbox.packKept(atLeast: 1, at: noon)
        let goal = FreshnessGoal(.samples(.heartRate), within: .seconds(3600))
        let now = last.start + .seconds(60)

        let sending = try store.freshness(of: goal, hasBackend: true, now: now)
        let keeping = try store.freshness(of: goal, hasBackend: false, now: now)

        #expect(sending.newest == nil && sending.elsewhere == [.waiting: last.end])
        #expect(keeping.newest == last.end && keeping.elsewhere.isEmpty)
        #expect(
            try store.accountFacts(for: [goal], hasBackend: true, now: now).freshUntil
                == [goal.subject: Instant?.none])
    }

    @Test func `packing meanwhile counts no sample twice and leaves none out`() async throws {
        let store = try store(months(0..<2000), packs: false)
        let other = try folder.open()
        let more = (2...60).map { months(($0 * 1000)..<($0 * 1000 + 100)) }
        async let packing: Void = blocking {
            while try other.outbox.pack(atLeast: 1, at: noon) > 0 {}
            for samples in more {
                _ = try other.outbox.enqueue(samples)
                try OutboxPackingTests.confirm(other)
                try other.outbox.pack(atLeast: 1, at: noon)
            }
        }
        let (counts, stocks) = try await blocking {
            var counts: [Int64] = []
            var stocks: [Int64] = []
            while try (counts.last ?? 0) < 7900 || Self.rows(store) ?? 0 > 0 {
                counts.append(try store.outbox.counts().total)
                stocks.append(try store.cache.metricStocks().map(\.count).reduce(0, +))
            }
            return (counts, stocks)
        }
        try await packing

        #expect(counts == counts.sorted() && counts.allSatisfy { $0 % 100 == 0 })
        #expect(stocks == stocks.sorted() && stocks.allSatisfy { $0 % 100 == 0 })
    }

    @Test func `what a batch became decides whether its samples are packed`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(months(0..<50))
        var batches: [OutboxBatch] = []
        for _ in 0..<5 {
            let batch = try #require(try store.outbox.nextBatch(limit: 10, at: noon))
            try store.outbox.settle(
                batch, processingID: "p", duplicates: batches.count == 2 ? [0] : [], at: noon)
            batches.append(batch)
        }
        let open = try store.outbox.openUploads()
        try store.outbox.confirm(open[0], at: noon)
        try store.outbox.store(open[1], at: noon)
        try store.outbox.giveUp(open[2], reason: "no end", at: noon)
        _ = try store.outbox.returnToQueue(open[3], reason: "broke", at: noon)
        let before = try store.outbox.states()

        let packed = try store.outbox.pack(atLeast: 1, at: noon)

        #expect(
            before == [.confirmed: 11, .stored: 10, .unconfirmed: 9, .queued: 10, .accepted: 10])
        #expect(try packed == 21 && Self.rows(store) == 29)
        #expect(try store.outbox.states() == before)
        #expect(try store.outbox.prove().findings == [])
    }

    @Test func `another value at the time of a packed sample is another sample`() throws {
        let samples = months(0..<4)
        let store = try store(samples)
        var other = samples[2]
        other.value = .single(199)
        var longer = samples[2]
        longer.end = longer.end + .seconds(1)
        var renamed = samples[2]
        renamed.source = "another name"

        let counts = try store.outbox.enqueue([other, longer, renamed])

        #expect(counts.queued == 2 && counts.duplicates == 1)
    }

    @Test func `more samples are packed into the same months`() throws {
        let store = try store(months(0..<100))
        _ = try store.outbox.enqueue(months(100..<200))
        try Self.confirm(store)
        #expect(try store.outbox.pack(atLeast: 101, at: noon) == 0)
        #expect(try store.outbox.pack(atLeast: 100, at: noon) == 100)

        #expect(try store.outbox.enqueue(months(0..<200)).duplicates == 200)
        #expect(try read(store).count == 200)
        #expect(try store.outbox.prove().findings == [])
    }

    @Test func `what may need more stays a row`() throws {
        let start = Instant(secondsSince1970: 1_700_000_000)
        let store = try store(
            [
                Sample(
                    kind: .bloodPressure, start: start, end: start,
                    value: .pressure(systolic: 120, diastolic: 80)),
                sample(.heartRate, 1),
            ], packs: false)
        _ = try store.outbox.enqueue(aggregates: [sample(.steps, 2, 100)], asOf: noon)
        try Self.confirm(store)
        _ = try store.outbox.enqueue([sample(.heartRate, 3), sample(.heartRate, 4)])
        let batch = try #require(try store.outbox.nextBatch(limit: 1, at: noon))
        try store.outbox.settle(batch, processingID: "p", at: noon)

        #expect(try store.outbox.pack(atLeast: 1, at: noon) == 1)
        #expect(try Self.rows(store) == 4)
        #expect(try store.outbox.counts().total == 5)
    }

    @Test func `a sample that the backend may have twice stays a row`() throws {
        let store = try store(months(0..<3), packs: false)
        try store.access { try $0.execute("UPDATE outbox SET doubts = 1 WHERE id = 2") }

        #expect(try store.outbox.pack(atLeast: 1, at: noon) == 2)
        #expect(try Self.rows(store) == 1)
    }

    @Test func `an aggregate that equals a packed sample is known`() throws {
        let store = try store([sample(.steps, 2, 100)])

        let counts = try store.outbox.enqueue(
            aggregates: [sample(.steps, 2, 100), sample(.steps, 3, 100)], asOf: noon)

        #expect(counts.metricsKnown == 1 && counts.metricsQueued == 1)
    }

    @Test func `a portion that was prepared before the packing adds nothing twice`() throws {
        let store = try store(months(0..<10), packs: false)
        let portion = try store.outbox.prepare(months(10..<12))
        _ = try store.outbox.enqueue(months(10..<11))
        try Self.confirm(store)
        try store.outbox.pack(atLeast: 1, at: noon)

        let counts = try store.outbox.commit(portion)

        #expect(counts.queued == 1 && counts.duplicates == 1)
    }

    @Test func `a packed sample is one metric, whether it was fetched before or after`() throws {
        let samples = months(0..<9)
        let store = try store(samples, packs: false)
        func pull(_ samples: [Sample]) throws {
            let rows = samples.map { sample in
                CachedRow(
                    id: MetricID(userID: user, sample: sample).description, type: "heart_rate",
                    timestamp: sample.start, json: Array("{}".utf8),
                    numbers: MetricNumbers(sample))
            }
            _ = try store.cache.upsert(rows, into: .metrics, syncedAt: noon)
        }
        try pull(Array(samples[0..<3]))
        try store.outbox.pack(atLeast: 1, at: noon)
        #expect(try store.cache.metricStocks().map(\.count) == [9])
        try pull(Array(samples[2..<5]))

        #expect(try read(store).count == 9)
        let stock = try #require(try store.cache.metricStocks().first)
        #expect(stock.count == 9 && stock.first == samples[0].start)
        #expect(stock.last == samples[8].start)
    }

    @Test func `every number comes back as it was`() throws {
        let numbers: [Double] = [
            0, -0.0, 1, -1, 0.1, 0.1 + 0.2, 72.5, 1e-7, 1e15, 1e16, 1.5e300, -273.15, .pi,
            123_456_789.123_456_78, Double(1 << 53) + 2, .leastNonzeroMagnitude,
        ]
        let samples = numbers.enumerated().map { sample(.bodyTemperature, $0.offset, $0.element) }
        let store = try store(samples, packs: true)

        let read = try store.access { connection in
            try PackedSamples(cipher: store.cipher, connection: connection)
                .samples(of: .bodyTemperature, in: TypeMonth.month(of: 1_700_000_000)).sound
                .compactMap { $0.sample(.bodyTemperature) }
        }

        #expect(read == samples)
        #expect(read.map(\.value).contains { $0 == .single(.leastNonzeroMagnitude) })
    }

    @Test func `packed samples without their values stay known and are no metrics`() throws {
        let samples = months(0..<500)
        let old = samples.filter { $0.start.secondsSince1970 < 1_704_067_200 }  // before 2024
        let store = try store(old)
        _ = try store.outbox.enqueue(samples)
        try Self.confirm(store)
        try store.outbox.pack(atLeast: 1, at: noon + .seconds(9))
        func remove(before cutoff: Instant) throws -> Int64 {
            try store.prune(before: cutoff)[.samples].count
        }

        #expect(try remove(before: noon) == 0)
        #expect(try remove(before: noon + .seconds(1)) == Int64(old.count))
        #expect(try remove(before: noon + .seconds(1)) == 0)

        #expect(try read(store).count == 500 - old.count)
        #expect(try store.cache.metricStocks().map(\.count) == [Int64(500 - old.count)])
        #expect(try store.cache.metricStocks().first?.first == samples[old.count].start)
        #expect(try store.outbox.enqueue(samples).duplicates == 500)
        #expect(try store.outbox.prove().findings == [])
        #expect(try remove(before: noon + .seconds(99)) == Int64(500 - old.count))
        #expect(try store.cache.metricStocks().map(\.count) == [])
        #expect(try store.outbox.enqueue(samples.shuffled()).duplicates == 500)
    }

    @Test func `a damaged month is named, and what it may have had counts as in doubt`()
        throws
    {
        let samples = months(0..<200)
        let store = try store(samples)
        try store.access {
            try $0.run("UPDATE packed_samples SET sealed = zeroblob(99) WHERE id = 1")
        }

        let findings = try store.outbox.prove().findings
        #expect(findings.map(\.rule) == [.packed, .packed])
        #expect(findings[0].what == "packed samples of heart_rate in 2023-11 are damaged")
        let counts = try store.outbox.enqueue(samples)
        #expect(counts.queued > 0 && counts.queued + counts.duplicates == 200)
        let inDoubt = try store.access {
            try $0.integer("SELECT count(*) FROM outbox WHERE doubts = 1")
        }
        #expect(inDoubt == counts.queued)
    }

    @Test func `totals that do not fit the segments are found`() throws {
        let store = try store(months(0..<200))
        let former = try store.access { connection in
            try connection.first("SELECT sealed FROM packed_totals") { $0.blob(0) }
        }
        _ = try store.outbox.enqueue(months(200..<210))
        try Self.confirm(store)
        try store.outbox.pack(atLeast: 1, at: noon)
        try store.access {
            try $0.run("UPDATE packed_totals SET sealed = ?", .blob(try #require(former)))
        }

        #expect(
            try store.outbox.prove().findings.map(\.what).first
                == "210 packed samples of heart_rate open, of 200")
    }

    @Test func `damaged totals are named, and counted anew`() throws {
        let samples = months(0..<200)
        let store = try store(samples)
        try store.access { try $0.run("UPDATE packed_totals SET sealed = zeroblob(99)") }

        #expect(try store.outbox.counts()[.confirmed] == 200)
        #expect(try store.cache.metricStocks().first?.last == samples[199].start)
        #expect(
            try store.outbox.prove().findings.map(\.what)
                == ["the number of packed samples of heart_rate is damaged"])
        _ = try store.outbox.enqueue(months(200..<210))
        try Self.confirm(store)
        try store.outbox.pack(atLeast: 1, at: noon)
        #expect(try store.outbox.prove().findings == [])
        #expect(try store.outbox.counts()[.confirmed] == 210)
    }

    @Test func `packed samples count for goals and for the context of insights`() throws {
        let samples = months(0..<40)
        let store = try store(samples)
        let last = try #require(samples.last)

        let facts = try store.freshness(
            of: FreshnessGoal(.samples(.heartRate), within: .seconds(3600)), hasBackend: true,
            now: last.start + .seconds(60))
        let counts = try store.analyses.sampleCounts(
            from: samples[10].start, to: samples[30].start)

        #expect(facts.newest == last.end)
        #expect(try store.arrivedSubjects().contains(.samples(.heartRate)))
        #expect(counts[.heartRate] == 20)
    }
}
