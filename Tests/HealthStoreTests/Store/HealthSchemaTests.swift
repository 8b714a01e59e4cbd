import HealthModel
import ClarityTestSupport
import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite struct HealthSchemaTests {
    private let folder = StateFolder()

    @Test func `a file of 0.1.0 keeps every row, index, trigger and key`() throws {
        let connection = try folder.makeFirstRelease()
        try connection.execute(
            """
            INSERT INTO batches (id, state, client_timestamp_ms, attempts, processing_id, reason,
                accepted_at_ms, finished_at_ms, sends)
            VALUES (1, 'sending', 5, 1, NULL, NULL, NULL, NULL, 1),
                (2, 'accepted', 5, 1, 'p', NULL, 6, NULL, 1),
                (3, 'confirmed', 5, 1, 'q', NULL, 6, 7, 1),
                (4, 'unconfirmed', 5, 1, 'r', 'late', 6, 7, 1),
                (5, 'failed', 5, 1, NULL, 'broke', NULL, 7, 1);
            INSERT INTO outbox (id, kind, start_s, end_s, tag, state, failures, batch_id, reason,
                sealed, hold, doubts, as_of_s)
            VALUES (1, 'steps', 1, 1, x'0000000000000001', 'batched', 0, 1, NULL, x'00', NULL, 1, 9),
                (2, 'steps', 2, 2, x'0000000000000002', 'batched', 0, 2, NULL, x'00', NULL, 0, NULL),
                (3, 'steps', 3, 3, x'0000000000000003', 'confirmed', 0, 3, NULL, x'00', NULL, 0, NULL),
                (4, 'steps', 4, 4, x'0000000000000004', 'confirmed', 0, NULL, NULL, NULL, NULL, 0, NULL),
                (5, 'steps', 5, 5, x'0000000000000005', 'batched', 0, 4, 'late', x'00', NULL, 0,
                    NULL),
                (6, 'steps', 6, 6, x'0000000000000006', 'rejected', 0, NULL, 'no', x'00', 'range', 0,
                    NULL),
                (7, 'steps', 7, 7, x'0000000000000007', 'setAside', 5, NULL, 'broke', x'00', NULL, 2,
                    NULL),
                (8, 'steps', 8, 8, x'0000000000000008', 'setAside', 0, NULL, 'kind', x'00', 'kind', 0,
                    NULL),
                (9, 'steps', 9, 9, x'0000000000000009', 'queued', 2, NULL, NULL, x'00', NULL, 0, NULL);
            INSERT INTO server_words (id, sealed) VALUES (7, x'00');
            INSERT INTO metrics (id, type, timestamp_ms, digest, sealed, synced_at_ms, sample)
            VALUES ('m', 'steps', 1, zeroblob(16), x'00', 2, 1);
            INSERT INTO readings (state, begun_at_ms, finished_at_ms, readings, rows_before)
            VALUES ('sum', 0, 0, 0, 9);
            """)
        let columns = "id, kind, state, failures, batch_id, reason, hold, doubts, as_of_s"
        func rows(_ connection: Connection, of table: String) throws -> [String] {
            try connection.all(
                "SELECT json_array(\(columns)) FROM \(table) UNION ALL SELECT json_array(id, state, "
                    + "processing_id, reason, sends) FROM batches UNION ALL SELECT json_array(name, "
                    + "type) FROM sqlite_schema WHERE tbl_name IN ('outbox', 'batches')"
            ) { $0.text(0) }
        }
        let before = try rows(connection, of: "samples")

        let store = try folder.open(firstKey)

        #expect(try store.access { try rows($0, of: "samples") } == before)
        #expect(try store.outbox.prove().findings == [])
        let faults = try store.access { connection in
            try connection.all("PRAGMA foreign_key_check") { $0.text(0) }
        }
        #expect(faults == [])
        // The rest checks what the constraints refuse, and what the trigger and the keys do.
        #expect(throws: HealthStoreError.self) {
            try store.sql("UPDATE outbox SET state = 'gone' WHERE id = 9")
        }
        #expect(throws: HealthStoreError.self) {
            try store.sql("UPDATE outbox SET state = 'stored', sealed = NULL WHERE id = 3")
        }
        #expect(throws: HealthStoreError.self) {
            try store.sql("UPDATE outbox SET hold = 'kind' WHERE id = 9")
        }
        #expect(throws: HealthStoreError.self) {
            try store.sql("UPDATE batches SET state = 'stored' WHERE id = 2")
        }
        try store.sql("UPDATE outbox SET state = 'stored' WHERE id = 3")
        try store.sql("UPDATE outbox SET tag = x'00000000000000ff', as_of_s = 10 WHERE id = 1")
        try store.sql("DELETE FROM outbox WHERE id = 7")
        let left = try store.access { connection in
            try connection.all(
                "SELECT count(sample) FROM metrics UNION ALL SELECT count(*) FROM server_words"
            ) { $0.integer(0) }
        }
        #expect(left == [0, 0])
    }

    @Test func `every CHECK has a name, and neither it nor an index compares with IN`() throws {
        let store = try folder.open(firstKey)

        let statements = try store.access { connection in
            try connection.all("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL") {
                $0.text(0)
            }
        }

        #expect(statements.count > 40)
        #expect(statements.flatMap { faultyChecks(in: $0) } == [])
    }

    @Test func `a source without what is known of its reading is read once more`() throws {
        // As 0.1.0 left a source that an earlier version had read.
        let connection = try folder.makeFirstRelease()
        let cipher = try cipher(firstKey)
        try connection.run(
            "INSERT INTO sources (tag, stamp, read_at_ms) VALUES (?, ?, 7)",
            .blob(cipher.blindIndex(sourceIdentity.bytes, count: 16)),
            .text(cipher.stampIndex(try stamp.text)))

        let store = try folder.open(firstKey)

        #expect(try store.outbox.lastReading(of: "/export.zip") == nil)
        #expect(try store.outbox.wasRead("/export.zip", stamp) == nil)
        try store.outbox.noteRead("/export.zip", stamp, at: noon)
        #expect(try store.outbox.wasRead("/export.zip", stamp) == noon)
        #expect(try store.outbox.lastReading(of: "/export.zip")?.readAt == noon)
    }

    @Test func `a metric without its numbers is read by its JSON`() throws {
        // As 0.1.0 left a metric that an earlier version had pulled.
        let connection = try folder.makeFirstRelease()
        let cipher = try cipher(firstKey)
        let blindIndex = cipher.metricIndex("m")
        var identity = RowIdentity("metrics", label: "m")
        identity.append(blindIndex)
        identity.append("heart_rate")
        identity.append(noon.millisecondsSince1970)
        let json = Array(#"{"value":61}"#.utf8)
        try connection.run(
            """
            INSERT INTO metrics (id, type, timestamp_ms, digest, sealed, synced_at_ms)
            VALUES (?, 'heart_rate', ?, zeroblob(16), ?, 0)
            """, .text(blindIndex), .integer(noon.millisecondsSince1970),
            .blob(cipher.encrypt(MetricForm.adding("m", to: json), for: identity)))

        let store = try folder.open(firstKey)
        var flattened: [[UInt8]] = []
        let damaged = try store.cache.readMetrics(
            .heartRate, in: noon..<noon + .seconds(1),
            flatten: { row in
                flattened.append(row.json)
                return MetricNumbers()
            }, each: { #expect($0.start == noon && $0.origin == .pulled) })

        #expect(flattened == [json])
        #expect(damaged.isEmpty)
        #expect(try store.cache.rows(of: .metrics, limit: 9).map(\.row.json) == [json])
        #expect(try store.cache.metricStocks().map(\.count) == [1])
    }

    private var sourceIdentity: RowIdentity {
        var identity = RowIdentity("sources")
        identity.append("/export.zip")
        return identity
    }

    private var stamp: SourceStamp {
        get throws {
            try #require(
                SourceStamp(
                    path: "/proc/self/exe", reader: "1", at: Instant(secondsSince1970: 1 << 33)))
        }
    }

    @Test func `the known mark is that of the schema`() throws {
        let mark = try HealthSchema.migrations.form().mark

        #expect(HealthSchema.mark == mark, "write 0x\(String(mark, radix: 16)) instead")
    }

    @Test func `the queue is read by its index, whatever else is in the outbox`() throws {
        let queued = Outbox.isAlone(.queued)
        let plans = try folder.open().access { connection in
            try [
                "SELECT min(failures) FROM outbox WHERE \(queued) AND kind = 'steps'",
                """
                SELECT id FROM outbox WHERE \(queued) AND kind = 'steps' AND failures = 0
                ORDER BY start_s DESC, id DESC LIMIT 9
                """, "SELECT state, count(*) FROM outbox WHERE batch_id IS NULL GROUP BY state",
            ].map { query in
                try connection.all("EXPLAIN QUERY PLAN \(query)") { $0.text(3) }
            }
        }

        #expect(plans.allSatisfy { $0.count == 1 && $0[0].contains("outbox_queue") }, "\(plans)")
    }
}
