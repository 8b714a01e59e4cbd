public import ClarityScheduler
import SQLite

// The outbox as a queue: what goes in and what is taken out to be sent.

extension HealthStore {
    /// How many samples are written in one transaction.
    private static var chunk: Int { 4096 }

    /// Puts samples into the outbox unless they are there already, whatever became of them.
    ///
    /// Committed in portions of 4,096: after an error or a kill the first ones are kept, and the
    /// same call adds what is missing.
    public func enqueue(_ samples: [Sample]) throws(HealthStoreError) -> EnqueueCounts {
        var counts = EnqueueCounts()
        for start in stride(from: 0, to: samples.count, by: HealthStore.chunk) {
            let portion = samples[start..<min(start + HealthStore.chunk, samples.count)]
            let added = try change { connection in
                var added: Int64 = 0
                for sample in portion {
                    let row = SampleRow(sample, sealer)
                    try connection.run(
                        """
                        INSERT INTO outbox (kind, start_s, end_s, tag, sealed)
                        VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                        """,
                        .text(row.kind), .integer(row.start), .integer(row.end), .blob(row.tag),
                        .blob(sealer.seal(sample.sealedForm, for: row.identity)))
                    added += Int64(connection.changes)
                }
                return added
            }
            counts.queued += added
            counts.duplicates += Int64(portion.count) - added
        }
        return counts
    }

    /// The batch to send next; `nil` when nothing waits.
    ///
    /// A batch that is being sent already, after a kill or an error of the network, comes first and
    /// unchanged. A new one is kept as `sending` before this returns. It takes the samples with
    /// the fewest failures, in the order of their coming, and ever fewer the more often they
    /// failed, `limit` / 4 after one failure, `limit` / 16 after two: so a sample that makes every
    /// batch fail is alone before it is set aside. A sample whose sealed value does not open is set
    /// aside at once.
    public func nextBatch(
        limit: Int, at now: Instant
    ) throws(HealthStoreError) -> OutboxBatch? {
        try change { connection in
            while true {
                guard
                    let id = try self.sendingBatch(connection)
                        ?? self.makeBatch(connection, limit: limit, at: now)
                else { return nil }
                if let batch = try self.take(id, connection, at: now) { return batch }
            }
        }
    }

    /// How many samples are in each state.
    public func outboxCounts() throws(HealthStoreError) -> OutboxCounts {
        try access { connection in
            var counts = OutboxCounts()
            try connection.forEach("SELECT state, count(*) FROM outbox GROUP BY state") { row in
                guard let state = OutboxState(rawValue: row.text(0)) else { return }
                counts[state] = row.integer(1)
            }
            return counts
        }
    }

    private func sendingBatch(_ connection: Connection) throws -> Int64? {
        try connection.first(
            "SELECT id FROM batches WHERE state = 'sending' ORDER BY id LIMIT 1"
        ) { $0.integer(0) }
    }

    private func makeBatch(
        _ connection: Connection, limit: Int, at now: Instant
    ) throws -> Int64? {
        let fewest = try connection.first(
            "SELECT min(failures) FROM outbox WHERE state = 'queued'"
        ) { $0.optionalInteger(0) }
        guard let failures = fewest.flatMap({ $0 }) else { return nil }
        try connection.run(
            "INSERT INTO batches (client_timestamp_ms) VALUES (?)",
            .integer(now.millisecondsSince1970))
        let id = connection.lastInsertedRow
        try connection.run(
            """
            UPDATE outbox SET state = 'sending', batch_id = ? WHERE id IN (
                SELECT id FROM outbox WHERE state = 'queued' AND failures = ?
                ORDER BY id LIMIT ?)
            """,
            .integer(id), .integer(failures), .integer(Int64(max(1, limit >> (2 * failures)))))
        return id
    }

    /// Opens a batch's members; `nil` when none of them opens, which ends the batch.
    private func take(
        _ id: Int64, _ connection: Connection, at now: Instant
    ) throws -> OutboxBatch? {
        var rows: [Int64] = []
        var samples: [Sample] = []
        var damaged: [Int64] = []
        try connection.forEach(
            """
            SELECT id, kind, start_s, end_s, tag, sealed FROM outbox
            WHERE batch_id = ? AND state = 'sending' ORDER BY id
            """, [.integer(id)]
        ) { row in
            let sample = SampleRow(
                kind: row.text(1), start: row.integer(2), end: row.integer(3), tag: row.blob(4))
            if let sample = sample.opened(row.blob(5), sealer) {
                rows.append(row.integer(0))
                samples.append(sample)
            } else {
                damaged.append(row.integer(0))
            }
        }
        for row in damaged {
            try connection.run(
                """
                UPDATE outbox SET state = 'setAside', batch_id = NULL, reason = ? WHERE id = ?
                """, "its sealed value is damaged", .integer(row))
        }
        guard !samples.isEmpty else {
            try finishBatch(
                id, as: "failed", reason: "none of its values opens", at: now, connection)
            return nil
        }
        try connection.run(
            "UPDATE batches SET attempts = attempts + 1 WHERE id = ?", .integer(id))
        let (timestamp, attempts) =
            try connection.first(
                "SELECT client_timestamp_ms, attempts FROM batches WHERE id = ?", .integer(id)
            ) { (Instant(millisecondsSince1970: $0.integer(0)), Int($0.integer(1))) } ?? (now, 1)
        return OutboxBatch(
            id: id, clientTimestamp: timestamp, attempts: attempts, samples: samples, rows: rows)
    }
}

/// The columns of a sample that are not sealed.
struct SampleRow {
    let kind: String
    let start: Int64
    let end: Int64
    /// A keyed hash over kind, times and value, so that equal values at two times have two tags and
    /// the file does not even tell how often a value occurs.
    let tag: [UInt8]

    init(_ sample: Sample, _ sealer: Sealer) {
        kind = sample.kind.rawValue
        start = sample.start.secondsSince1970
        end = sample.end.secondsSince1970
        tag = sealer.tag(sample.identity, count: 8)
    }

    init(kind: String, start: Int64, end: Int64, tag: [UInt8]) {
        self.kind = kind
        self.start = start
        self.end = end
        self.tag = tag
    }

    var identity: RowIdentity {
        var identity = RowIdentity("outbox")
        identity.append(kind)
        identity.append(start)
        identity.append(end)
        identity.append(tag)
        return identity
    }

    /// The whole sample; `nil` when its sealed part does not open in this row.
    func opened(_ sealed: [UInt8], _ sealer: Sealer) -> Sample? {
        guard let kind = SampleKind(rawValue: kind) else { return nil }
        do {
            return Sample(
                kind: kind, start: Instant(secondsSince1970: start),
                end: Instant(secondsSince1970: end),
                sealedForm: try sealer.open(sealed, for: identity))
        } catch {
            // Told by the state and the reason that the row gets.
            return nil
        }
    }
}
