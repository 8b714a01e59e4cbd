import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct MetricReadingTests {
    private let folder = StateFolder()
    private let user = "5f0c7e52-6a1d-4f0e-9b1e-2d8a4c3b7a10"
    private let start = Instant(secondsSince1970: 1_700_000_000)

    private func store() throws -> HealthStore {
        let store = try folder.open()
        try store.sessions.save(
            Session(
                userID: user, email: "ada@example.com", accessToken: Secret("a"),
                refreshToken: Secret("r"), expiresAt: noon))
        return store
    }

    /// Returns the row that the backend lists for an uploaded sample.
    private func listed(_ sample: Sample, isFlat: Bool = true) -> CachedRow {
        CachedRow(
            id: MetricID(userID: user, sample: sample).description,
            type: MetricGroup(kind: sample.kind)?.types.first ?? "", timestamp: sample.start,
            json: Array("{}".utf8), numbers: isFlat ? MetricNumbers(sample) : nil)
    }

    /// Returns a row that another program has uploaded.
    private func row(_ id: String, _ number: Double, minute: Int) -> CachedRow {
        var numbers = MetricNumbers()
        numbers[.heartRate] = number
        return CachedRow(
            id: id, type: "heart_rate", timestamp: start + .seconds(60 * minute),
            json: Array("{}".utf8), numbers: numbers)
    }

    private func read(
        _ store: HealthStore, _ group: MetricGroup = .heartRate, from minute: Int = 0,
        to end: Int = 100
    ) throws -> (numbers: [Double], damaged: [EncryptionError]) {
        var numbers: [Double] = []
        let span = start + .seconds(60 * minute)..<start + .seconds(60 * end)
        let damaged = try store.cache.readMetrics(
            group, in: span,
            flatten: { _ in
                var numbers = MetricNumbers()
                numbers[.heartRate] = 99
                return numbers
            },
            each: { record in numbers += record.numbers.entries.map(\.number) })
        return (numbers.sorted(), damaged)
    }

    @Test func `what was pulled and what only the outbox has are read as one`() throws {
        let store = try store()
        _ = try store.outbox.enqueue([sample(.heartRate, 1, 61), sample(.heartRate, 2, 62)])
        _ = try store.cache.upsert(
            [row("a", 70, minute: 3), row("b", 71, minute: 200)], into: .metrics, syncedAt: noon)

        #expect(try read(store).numbers == [61, 62, 70])
        #expect(try read(store, from: 2, to: 3).numbers == [62])
        #expect(try read(store, .respiratoryRate).numbers == [])
    }

    @Test func `a sample that was sent and then pulled counts once`() throws {
        let store = try store()
        let samples = [sample(.heartRate, 1, 61), sample(.heartRate, 2, 62)]
        _ = try store.outbox.enqueue(samples)

        _ = try store.cache.upsert([listed(samples[0])], into: .metrics, syncedAt: noon)

        #expect(try read(store).numbers == [61, 62])
        #expect(try store.cache.metricStocks().map(\.count) == [2])
        #expect(try store.cache.metricStocks().map(\.name) == ["heart_rate"])
    }

    @Test func `a sample that was pulled before it was read from its source counts once`() throws {
        let store = try store()
        let samples = [sample(.heartRate, 1, 61), sample(.heartRate, 2, 62)]
        _ = try store.cache.upsert([listed(samples[1])], into: .metrics, syncedAt: noon)

        _ = try store.outbox.enqueue(samples)
        let before = try read(store).numbers
        let batch = try #require(try store.outbox.nextBatch(limit: 9, at: noon))
        let index = try #require(batch.samples.firstIndex(of: samples[1]))
        try store.outbox.settle(batch, processingID: "p", duplicates: [index], at: noon)

        #expect(before == [61, 62])
        #expect(try read(store).numbers == [61, 62])
        // The answer to the upload shows which sample the pulled row is.
        #expect(try store.cache.metricStocks().map(\.count) == [2])
    }

    @Test func `two values of one instant of which one was pulled count as two`() throws {
        let store = try store()
        let samples = [sample(.heartRate, 1, 61), sample(.heartRate, 1, 64)]
        _ = try store.outbox.enqueue(samples)

        _ = try store.cache.upsert([listed(samples[1])], into: .metrics, syncedAt: noon)

        #expect(try read(store).numbers == [61, 64])
        #expect(try store.cache.metricStocks().map(\.count) == [2])
    }

    @Test func `a sample stays readable when its pulled row is removed`() throws {
        let store = try store()
        let sample = sample(.heartRate, 1, 61)
        _ = try store.outbox.enqueue([sample])
        _ = try store.cache.upsert([listed(sample)], into: .metrics, syncedAt: noon)

        try store.sql("DELETE FROM metrics")

        #expect(try read(store).numbers == [61])
        #expect(try store.cache.metricStocks().map(\.count) == [1])
    }

    @Test func `a later value in the place of a pulled one is another metric`() throws {
        let store = try store()
        func day(_ steps: Double) -> Sample {
            var day = ActivityDay()
            day.steps = steps
            return Sample(
                kind: .activity, start: start, end: start + .seconds(86_400),
                value: .activity(day))
        }
        _ = try store.outbox.enqueue(aggregates: [day(10)], asOf: noon)
        _ = try store.cache.upsert([listed(day(10))], into: .metrics, syncedAt: noon)
        #expect(try read(store, .activity).numbers == [10])

        _ = try store.outbox.enqueue(aggregates: [day(20)], asOf: noon + .seconds(9))

        #expect(try read(store, .activity).numbers == [10, 20])
        #expect(try store.cache.metricStocks().map(\.count) == [2])
    }

    @Test func `a row of an earlier version is read by its JSON and counts once`() throws {
        let store = try store()
        let own = sample(.heartRate, 1, 61)
        _ = try store.outbox.enqueue([own])
        _ = try store.cache.upsert([listed(own, isFlat: false)], into: .metrics, syncedAt: noon)
        try store.sql("UPDATE metrics SET sample = NULL")

        let before = try read(store).numbers
        let counts = try store.cache.upsert([listed(own)], into: .metrics, syncedAt: noon)
        let after = try read(store).numbers

        // First by the test's own JSON reader; once the backend lists it again, by its numbers.
        #expect(before == [99])
        #expect(counts.unchanged == 1)
        #expect(after == [61])
        #expect(try store.cache.metricStocks().map(\.count) == [1])
    }

    @Test func `what was refused is not read`() throws {
        let store = try store()
        _ = try store.outbox.enqueue([sample(.heartRate, 1, 300), sample(.heartRate, 2, 62)])
        try store.sql(
            "UPDATE outbox SET state = 'rejected', reason = 'r' WHERE start_s = ?",
            .integer(start.secondsSince1970 + 60))

        #expect(try read(store).numbers == [62])
        #expect(try store.cache.metricStocks().map(\.count) == [1])
    }

    @Test func `damaged rows are named and the others are read`() throws {
        let store = try store()
        _ = try store.outbox.enqueue([sample(.heartRate, 1, 61), sample(.heartRate, 2, 62)])
        _ = try store.cache.upsert(
            [row("a", 70, minute: 3), row("b", 71, minute: 4)], into: .metrics, syncedAt: noon)
        let name = store.cache.name("a", in: .metrics)
        try store.sql(
            "UPDATE metrics SET timestamp_ms = timestamp_ms + 1 WHERE id = ?", .text(name))
        try store.sql("UPDATE outbox SET sealed = zeroblob(60) WHERE id = 1")

        let found = try read(store)

        #expect(found.numbers == [62, 71])
        #expect(
            found.damaged == [
                EncryptionError(table: "metrics", row: name),
                EncryptionError(table: "outbox", row: "1"),
            ])
    }

    @Test(.onFilesAlone) func `a range is found by its index, in the cache and in the outbox`()
        throws
    {
        let plans = try folder.open().access { connection in
            try [
                """
                SELECT metrics.id, timestamp_ms, metrics.sealed, as_of_s
                FROM metrics LEFT JOIN outbox ON outbox.id = sample
                WHERE type = 'x' AND timestamp_ms >= 1 AND timestamp_ms < 2
                """,
                """
                SELECT id, start_s, end_s, tag, sealed, as_of_s FROM outbox
                WHERE kind = 'x' AND start_s >= 1 AND start_s < 2 AND sealed IS NOT NULL
                    AND state <> 'rejected'
                    AND NOT EXISTS (SELECT 1 FROM metrics WHERE sample = outbox.id)
                """,
            ].map { query in
                try connection.all("EXPLAIN QUERY PLAN \(query)") { $0.text(3) }
                    .joined(separator: "; ")
            }
        }

        #expect(plans[0].contains("metrics_type (type=? AND timestamp_ms>? AND timestamp_ms<?)"))
        #expect(plans[1].contains("outbox_sample (kind=? AND start_s>? AND start_s<?)"))
        #expect(plans[1].contains("metrics_sample (sample=?)"))
    }

    @Test func `types that no group reads are counted by the backend's name`() throws {
        let store = try store()
        var other = row("a", 1, minute: 1)
        other.type = "environmental"
        _ = try store.cache.upsert([other, row("b", 1, minute: 2)], into: .metrics, syncedAt: noon)
        _ = try store.outbox.enqueue([sample(.oxygenSaturation, 9)])

        let stocks = try store.cache.metricStocks()

        #expect(stocks.map(\.name) == ["environmental", "heart_rate", "oxygen_saturation"])
        #expect(stocks.map(\.group) == [nil, .heartRate, .oxygenSaturation])
        #expect(stocks[2].first == start + .seconds(540) && stocks[2].last == stocks[2].first)
    }
}
