import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct OutboxTests {
    @Test func `a sample is queued once, however often it comes`() throws {
        let folder = StateFolder()
        let store = try folder.open()

        let first = try store.outbox.enqueue(heartRates(0..<10) + heartRates(0..<2))
        let second = try folder.open().outbox.enqueue(heartRates(5..<20, source: "renamed"))

        #expect(first == EnqueueCounts(queued: 10, duplicates: 2))
        #expect(second == EnqueueCounts(queued: 10, duplicates: 5))
        #expect(try store.outbox.states() == [.queued: 20])
    }

    @Test func `two values at the same time are two samples`() throws {
        let folder = StateFolder()
        var samples = heartRates(0..<1) + heartRates(0..<1)
        samples[1].value = .single(51)

        let counts = try folder.open().outbox.enqueue(samples)

        #expect(counts.queued == 2)
    }

    @Test func `more samples than one transaction holds all arrive`() throws {
        let folder = StateFolder()
        let store = try folder.open()

        let counts = try store.outbox.enqueue(heartRates(0..<9000))

        #expect(counts == EnqueueCounts(queued: 9000, duplicates: 0))
        #expect(try store.outbox.counts().total == 9000)
    }

    @Test func `a batch is kept before it is handed out`() throws {
        let folder = StateFolder()
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<5))

        let batch = try store.outbox.nextBatch(limit: 3, at: noon)

        // The oldest sample and the two newest.
        #expect(batch?.samples == heartRates(0..<1) + heartRates(3..<5))
        #expect(batch?.clientTimestamp == noon)
        #expect(batch?.attempts == 1)
        #expect(try folder.open().outbox.states() == [.queued: 2, .sending: 3])
    }

    @Test func `after a kill the same batch comes again, with members, order and time`() throws {
        let folder = StateFolder()
        var samples = heartRates(0..<5, source: "Watch")
        samples[2] = Sample(
            kind: .bloodPressure, start: noon, end: noon,
            value: .pressure(systolic: 120, diastolic: 80))
        _ = try folder.open().outbox.enqueue(samples)
        let first = try #require(try folder.open().outbox.nextBatch(limit: 4, at: noon))
        _ = try folder.open().outbox.enqueue(heartRates(90..<95))

        let again = try #require(
            try folder.open().outbox.nextBatch(limit: 2, at: noon + .seconds(60)))

        #expect(again.id == first.id)
        #expect(again.samples == [samples[0], samples[2], samples[3], samples[4]])
        #expect(again.clientTimestamp == noon)
        #expect(again.attempts == 2)
        #expect(again.attempts > 1)
    }

    @Test func `nothing waits in an empty outbox`() throws {
        let folder = StateFolder()

        #expect(try folder.open().outbox.nextBatch(limit: 10, at: noon) == nil)
    }

    @Test func `a value that does not open is set aside and the rest goes on`() throws {
        let folder = StateFolder()
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<3))
        try store.sql(
            """
            UPDATE outbox SET sealed = (SELECT sealed FROM outbox WHERE id = 3) WHERE id = 1
            """)

        let batch = try store.outbox.nextBatch(limit: 10, at: noon)

        #expect(batch?.samples == heartRates(1..<3))
        #expect(try store.outbox.states() == [.sending: 2, .setAside: 1])
        #expect(
            try store.outbox.review() == [
                OutboxReviewEntry(
                    kind: "heart_rate", state: .setAside, reason: "its encrypted value is damaged",
                    count: 1)
            ])
    }

    @Test(arguments: ["sealed = x'00'", "tag = x'0000000000000000'", "end_s = end_s + 1"])
    func `a changed column is noticed`(change: String) throws {
        let folder = StateFolder()
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<2))
        try store.sql("UPDATE outbox SET \(change) WHERE id = 1")

        let batch = try store.outbox.nextBatch(limit: 10, at: noon)

        #expect(batch?.samples == heartRates(1..<2))
    }

    @Test func `a batch of nothing but damage ends and the next one comes`() throws {
        let folder = StateFolder()
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<3))
        try store.sql("UPDATE outbox SET sealed = x'00' WHERE id < 3")

        let batch = try store.outbox.nextBatch(limit: 2, at: noon)

        #expect(batch?.samples == heartRates(2..<3))
    }

    @Test(arguments: [
        "UPDATE outbox SET state = 'lost'", "UPDATE outbox SET state = 'sending'",
        "UPDATE outbox SET state = 'batched'",
        "UPDATE outbox SET state = 'rejected'", "UPDATE outbox SET failures = 5",
        "UPDATE outbox SET failures = 6, state = 'setAside', reason = 'x'",
        "UPDATE outbox SET sealed = NULL", "UPDATE outbox SET batch_id = 77, state = 'batched'",
        "INSERT INTO batches (state, client_timestamp_ms) VALUES ('accepted', 0)",
        "INSERT INTO batches (state, client_timestamp_ms) VALUES ('confirmed', 0)",
        "INSERT INTO batches (state, client_timestamp_ms) VALUES ('gone', 0)",
    ])
    func `the schema refuses states that make no sense`(statement: String) throws {
        let folder = StateFolder()
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<1))

        let error = #expect(throws: HealthStoreError.self) { try store.sql(statement) }

        guard case .database(let cause, _)? = error else {
            Issue.record("not SQLite's refusal")
            return
        }
        #expect(cause.isConstraint)
    }
}
