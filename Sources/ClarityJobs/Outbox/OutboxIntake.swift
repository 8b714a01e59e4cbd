public import ClarityScheduler
import SQLite

// What goes into the outbox, in portions.

extension HealthStore {
    /// How many samples are best written in one transaction: enough that what a transaction costs
    /// does not count, few enough that two or three of them are a few MB.
    public static var intakePortion: Int { 16_384 }

    /// How large the log may grow and how many pages stay in memory while much is written, in pages
    /// of 4 KiB: each page that is written again and again then goes into the file once.
    private static let bulk = (log: 16_384, memory: 2048)
    /// What SQLite has for both otherwise.
    private static let ordinary = (log: 1000, memoryKiB: 2000)

    /// Puts measurements into the outbox unless they are there already, whatever became of them.
    ///
    /// Committed in portions of 16,384: after an error or a kill the first ones are kept, and the
    /// same call adds what is missing.
    public func enqueue(_ samples: [Sample]) throws(HealthStoreError) -> EnqueueCounts {
        var counts = EnqueueCounts()
        for start in stride(from: 0, to: samples.count, by: HealthStore.intakePortion) {
            let end = min(start + HealthStore.intakePortion, samples.count)
            counts += try commit(try prepare(Array(samples[start..<end])))
        }
        return counts
    }

    /// Puts days and nights into the outbox: of each the latest value counts (`AggregateRuling`).
    ///
    /// In one transaction.
    ///
    /// - Parameter asOf: as of when they are true.
    public func enqueue(
        aggregates: [Sample], asOf: Instant
    ) throws(HealthStoreError) -> EnqueueCounts {
        try commit(try prepare([], aggregates: aggregates.map { ($0, asOf) }))
    }

    /// Tags samples and seals those that are not known; writes nothing.
    ///
    /// - Parameters:
    ///   - samples: measurements, each of which is kept once.
    ///   - aggregates: days and nights, of each of which the latest value counts, with the instant
    ///     as of which it is true.
    public func prepare(
        _ samples: [Sample], aggregates: [(sample: Sample, asOf: Instant)] = []
    ) throws(HealthStoreError) -> OutboxPortion {
        var portion = OutboxPortion()
        var sealing = PortionSealing(sealer)
        let rows = samples.map(sealing.row)
        for sample in samples { portion.read[sample.kind, default: 0] += 1 }
        for (sample, _) in aggregates { portion.read[sample.kind, default: 0] += 1 }
        let news = try look { connection in
            var known = try KnownSamples(rows, connection)
            return try rows.indices.filter { try known.isNew(rows[$0], connection) }
        }
        portion.known = Int64(rows.count - news.count)
        portion.rows.reserveCapacity(news.count)
        portion.bytes.reserveCapacity(112 * (news.count + aggregates.count))
        let nonces = Sealer.nonces(news.count + aggregates.count)
        for (nonce, index) in news.enumerated() {
            var row = rows[index]
            sealing.seal(samples[index], for: &row, nonces, nonce, onto: &portion.bytes)
            portion.rows.append(row)
        }
        for (index, (sample, asOf)) in aggregates.enumerated() {
            var row = sealing.row(sample)
            sealing.seal(sample, for: &row, nonces, news.count + index, onto: &portion.bytes)
            portion.aggregates.append(
                OutboxPortion.Aggregate(
                    row: row, source: sample.source, asOf: asOf.secondsSince1970))
        }
        return portion
    }

    /// Writes a portion in one transaction, with its entry of the audit log and of the ledger.
    ///
    /// - Parameter reading: what it comes from; `nil` for what no reading brings.
    public func commit(
        _ portion: OutboxPortion, of reading: Reading? = nil
    ) throws(HealthStoreError) -> EnqueueCounts {
        try change { connection in
            var counts = EnqueueCounts()
            var removed: Int64 = 0
            counts.queued = try insert(portion, connection)
            counts.duplicates = portion.known + Int64(portion.rows.count) - counts.queued
            for aggregate in portion.aggregates {
                removed += try place(aggregate, portion.bytes, &counts, connection)
            }
            try count(ReadingCounts(counts, removed: removed), of: reading, connection)
            try recordRead(portion.read, added: counts.added, connection)
            return counts
        }
    }

    /// Inserts what is still unknown: another process may have been quicker.
    private func insert(
        _ portion: OutboxPortion, _ connection: Connection
    ) throws -> Int64 {
        guard !portion.rows.isEmpty else { return 0 }
        let before = connection.totalChanges
        let doubtful = try RestoredDuplicates(connection)
        try connection.withStatement(
            """
            INSERT INTO outbox (kind, start_s, end_s, tag, sealed\(doubtful.column))
            VALUES (?1, ?2, ?3, ?4, ?5\(doubtful.value))
            ON CONFLICT DO NOTHING
            """
        ) { statement in
            try portion.bytes.withUnsafeBytes { bytes in
                for row in portion.rows {
                    try statement.bind(
                        blob: UnsafeRawBufferPointer(rebasing: bytes[row.sealed]), at: 5)
                    try row.bind(to: statement) { _ = try statement.run() }
                }
            }
        }
        return connection.totalChanges - before
    }

    /// Writes as much as comes until `body` returns: the log grows longer than it does else, and is
    /// brought into the file at the end, unless another process writes at that moment.
    ///
    /// What was committed is on the disk all the same.
    public func inBulk<Result>(_ body: () throws -> Result) throws -> Result {
        try setLookout(true)
        try access { connection in
            connection.logLimit = HealthStore.bulk.log
            try connection.execute("PRAGMA cache_size = \(HealthStore.bulk.memory)")
        }
        let result: Result
        do {
            result = try body()
        } catch {
            // The first error is the one that matters.
            do { try endBulk() } catch _ {}
            throw error
        }
        try endBulk()
        return result
    }

    private func endBulk() throws(HealthStoreError) {
        try setLookout(false)
        try access { connection in
            connection.logLimit = HealthStore.ordinary.log
            try connection.execute("PRAGMA cache_size = -\(HealthStore.ordinary.memoryKiB)")
            do throws(SQLiteError) {
                try connection.checkpoint()
            } catch {
                // All is committed, and one of the next commits copies the log.
            }
        }
    }
}

extension OutboxPortion.Row {
    /// The tag in a column; 0 for one of another length, as only a damaged file has.
    static func tag(of row: borrowing SQLite.Row, _ column: Int32) -> UInt64 {
        row.withBlob(column) { $0.count == 8 ? $0.loadUnaligned(as: UInt64.self) : 0 }
    }

    /// Binds the four columns that make the row's identity, to be used in `body` only.
    func bind<Result>(
        to statement: borrowing Statement, _ body: () throws -> Result
    ) throws -> Result {
        var name = kind.rawValue
        return try name.withUTF8 { name in
            try withUnsafeBytes(of: tag) { tag in
                try statement.bind(text: UnsafeRawBufferPointer(name), at: 1)
                try statement.bind(start, at: 2)
                try statement.bind(end, at: 3)
                try statement.bind(blob: tag, at: 4)
                return try body()
            }
        }
    }
}
