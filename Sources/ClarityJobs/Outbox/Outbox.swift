import ClarityScheduler
import SQLite

// What goes into the outbox, and what is in it.

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
                try recordRead(portion, added: added, connection)
                return added
            }
            counts.queued += added
            counts.duplicates += Int64(portion.count) - added
        }
        return counts
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
