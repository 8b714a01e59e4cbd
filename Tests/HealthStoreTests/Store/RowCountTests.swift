import ClarityTestSupport
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// Somebody without the key changes the database over a connection of their own.
@Suite("Counts of rows", .onBothEngines) struct RowCountTests {
    private let folder = StateFolder()

    /// Makes a store with samples of three months, of which some were sent, and others.
    private func filled() throws -> HealthStore {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<6) + heartRates(60_000..<60_004))
        let batch = try #require(try store.outbox.nextBatch(limit: 4, at: noon))
        try store.outbox.settle(batch, processingID: "p", at: noon)
        _ = try store.archive.keep(archived(0..<5), of: "/export.zip", zone: .utc)
        _ = try store.cache.upsert(
            [CachedRow(id: "a", type: "steps", timestamp: noon, json: [1])], into: .metrics,
            syncedAt: noon)
        return store
    }

    private func attack(_ script: String) throws { try folder.connect().execute(script) }

    private func findings(_ store: HealthStore) throws -> [String] {
        try store.outbox.prove().findings.filter { $0.rule == .counts }.map(\.what)
    }

    @Test func `what a store writes agrees with its counts`() throws {
        let store = try filled()
        let packed = heartRates(20..<24)
        _ = try store.outbox.enqueue(packed)
        let batch = try #require(try store.outbox.nextBatch(limit: 99, at: noon))
        try store.outbox.settle(
            batch, processingID: nil, duplicates: Array(batch.samples.indices), at: noon)
        _ = try store.outbox.pack(atLeast: 1, at: noon)
        _ = try store.prune(before: noon + .seconds(1))
        // Half of the samples were there before.
        _ = try store.outbox.enqueue(heartRates(0..<12))

        #expect(try findings(store) == [])
        let counts = try store.access { try CountRow.all($0, store.cipher).count }
        #expect(counts > 5)
    }

    @Test func `a transaction that is rolled back counts nothing`() throws {
        struct Stop: Error {}
        let store = try filled()

        #expect(throws: HealthStoreError.self) {
            try store.change { connection in
                try connection.run("DELETE FROM metrics WHERE true")
                try connection.run("UPDATE batches SET state = 'failed', reason = 'x'")
                throw Stop()
            }
        }
        _ = try store.outbox.enqueue(heartRates(200..<201))

        #expect(try findings(store) == [])
    }

    @Test func `samples that another process inserted meanwhile count once`() throws {
        let (store, other) = (try filled(), try folder.open())
        let portion = try store.outbox.prepare(heartRates(100..<110))
        _ = try other.outbox.enqueue(heartRates(103..<107))

        let counts = try store.outbox.commit(portion)

        #expect(counts.queued == 6)
        #expect(try findings(store) == [])
    }

    @Test func `rows that are gone are named by type and month, and what follows hides nothing`()
        throws
    {
        let store = try filled()

        try attack("DELETE FROM outbox WHERE start_s > 1702000000")
        let first = try findings(store)
        _ = try store.outbox.enqueue(heartRates(60_000..<60_004))
        _ = try store.outbox.enqueue(heartRates(60_020..<60_022))
        let second = try findings(store)

        let gone = "samples, heart_rate in 2023-12: got 0 batched, wanted 3"
        #expect(first == ["\(gone); 0 queued, wanted 1"])
        #expect(second == ["\(gone); 6 queued, wanted 7"])
    }

    @Test func `a changed state, a swap of two states and a changed upload are noticed`() throws {
        for (script, line) in [
            (
                "UPDATE outbox SET state = 'rejected', reason = 'no' WHERE id = 2",
                "got 4 queued, wanted 5; 1 rejected, wanted 0"
            ),
            (
                """
                UPDATE outbox SET state = 'queued', batch_id = NULL WHERE id = 1;
                UPDATE outbox SET state = 'batched', batch_id = 1 WHERE id = 2;
                """, "got 1 batched, wanted 1, but they are others; 5 queued"
            ),
            ("UPDATE batches SET state = 'sending', finished_at_ms = NULL", "uploads: got "),
        ] {
            let folder = RowCountTests()
            let store = try folder.filled()

            try folder.attack(script)

            let found = try folder.findings(store)
            #expect(found.contains { $0.contains(line) }, "\(found)")
        }
    }

    @Test func `an older count that is put back with fewer rows is noticed`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue(heartRates(0..<3))
        let older = try folder.connect().all(
            "SELECT number, weight, generation, mac FROM counts WHERE place = 'outbox'"
        ) { row -> [Value] in
            [
                .integer(row.integer(0)), .integer(row.integer(1)), .integer(row.integer(2)),
                .blob(row.blob(3)),
            ]
        }
        _ = try store.outbox.enqueue(heartRates(3..<9))

        try attack("DELETE FROM outbox WHERE id > 3")
        try folder.connect().run(
            """
            UPDATE counts SET number = ?, weight = ?, generation = ?, mac = ?
            WHERE place = 'outbox'
            """, with: older[0])
        let first = try findings(store)
        _ = try store.outbox.enqueue(heartRates(20..<22))

        #expect(first == ["older counts were put back"])
        #expect(try findings(store) == ["older counts were put back"])
    }

    @Test(arguments: [
        ("DELETE FROM counts WHERE place = 'outbox'", "counts are missing"),
        (
            "UPDATE counts SET number = 0 WHERE place = 'metrics'",
            "got 1, wanted 0 by a count that was changed"
        ),
        ("DELETE FROM counts", "counts are missing"),
        ("DELETE FROM audit_head", "the head of the audit log is missing"),
        (
            "UPDATE audit_head SET count_sum = count_sum - 1",
            "the head of the audit log was changed"
        ),
        (
            "DELETE FROM counts; UPDATE audit_head SET count_generation = 0, count_rows = 0, "
                + "count_sum = 0, count_floor = 0", "the head of the audit log was changed"
        ),
    ])
    func `changed counts are noticed, also after further writing and opening`(
        script: String, words: String
    ) throws {
        let store = try filled()

        try attack(script)
        let first = try findings(store)
        _ = try folder.open().outbox.enqueue(heartRates(200..<202))
        let second = try findings(try folder.open())

        #expect(first.contains { $0.contains(words) }, "\(first)")
        #expect(!second.isEmpty)
    }

    @Test(.onFilesAlone) func `what a planted trigger removes is not counted as removed`() throws {
        let store = try filled()

        try attack(
            """
            CREATE TRIGGER planted AFTER INSERT ON requests BEGIN
                DELETE FROM segments; DELETE FROM outbox WHERE start_s > 1702000000;
            END;
            """)
        try store.change { connection in
            try connection.run("INSERT INTO requests (route, sent_at_ms) VALUES ('metrics', 1)")
        }
        try attack("DROP TRIGGER planted")

        let found = try findings(store)
        #expect(found.contains { $0.hasPrefix("segments of records, HeartRate in ") }, "\(found)")
        #expect(found.contains { $0.hasPrefix("samples, heart_rate in 2023-12: got 0") })
    }

    @Test(.onFilesAlone) func `a change of the key keeps the counts, and what contradicts them`()
        throws
    {
        for isAttacked in [false, true] {
            let folder = RowCountTests()
            _ = try folder.filled()
            if isAttacked { try folder.attack("DELETE FROM metrics") }

            _ = try KeyRotation(
                stateDirectory: folder.folder.path, environment: [:], to: .made,
                actor: AuditActor(), clock: ManualClock(noon)
            ).run()
            let found = try folder.findings(try folder.folder.open())

            #expect(
                found == (isAttacked ? ["fetched metrics, steps in 2025-10: got 0, wanted 1"] : []))
        }
    }

    @Test(.onFilesAlone) func `the rows of a file of 0.1.0 are counted when it is opened`()
        throws
    {
        try folder.makeFirstRelease().execute(
            """
            INSERT INTO outbox (kind, start_s, end_s, tag, sealed)
                VALUES ('steps', 1, 1, x'0000000000000001', x'00'),
                    ('steps', 90000000, 90000000, x'0000000000000002', x'00')
            """)

        let sound = try findings(try folder.open(firstKey))
        try attack("DELETE FROM outbox WHERE start_s > 1")
        let gone = try findings(try folder.open(firstKey))

        #expect(sound == [])
        #expect(gone == ["samples, steps in 1972-11: got 0 queued, wanted 1"])
    }

    @Test func `a person may take the rows as they are, which the audit log has`() throws {
        let store = try filled()
        try attack("DELETE FROM metrics")

        let accepted = try store.outbox.acceptRows()
        let again = try store.outbox.acceptRows()

        #expect(accepted.count == 1 && again == [])
        #expect(try findings(store) == [])
        let last = try store.audit.records(limit: 99).last?.entry
        #expect(last?.action == .counted && last?.counts == ["contradictions": 1])
    }

    @Test func `a logout that removes everything removes the counts`() throws {
        let store = try filled()
        try attack("DELETE FROM metrics")

        _ = try store.wipe()

        let reopened = try folder.open()
        #expect(try findings(reopened) == [])
        let counts = try reopened.access { try CountRow.all($0, reopened.cipher) }
        #expect(counts.isEmpty)
    }

    @Test func `the month of a count is that of the calendar, in SQL as well`() throws {
        let connection = try folder.open().access { $0 }
        for day in stride(from: Int64(-600), to: 47_500, by: 1) {
            let seconds = day * 86_400
            #expect(CountedTable.month(of: seconds) == Int64(TypeMonth.month(of: seconds)))
            guard day % 97 == 0 else { continue }
            let sql = "SELECT \(CountedTable.month("CAST(?1 AS bigint)"))"
            #expect(
                try connection.integer(sql, .integer(seconds)) == CountedTable.month(of: seconds))
        }
    }
}
