public import HealthModel
public import ClarityScheduler
import Database

// How samples are put into the outbox, in portions.

extension Outbox {
    /// The best number of samples for one transaction: enough that the cost of the transaction
    /// itself does not matter, and few enough that two or three portions take a few MB.
    public static var intakePortion: Int { 4096 }

    /// The limits of the write-ahead log and of the page cache while much is written, in pages of 4
    /// KiB. A page that is written again and again then goes into the file once.
    private static let bulk = (log: 16_384, memory: 768)
    /// SQLite's own defaults for both.
    private static let ordinary = (log: 1000, memoryKiB: 2000)

    /// Puts measurements into the outbox unless they are there already, in whatever state.
    ///
    /// Commits in portions of 4,096. After an error or a kill, the portions committed so far stay,
    /// and the same call adds the rest.
    public func enqueue(_ samples: [Sample]) throws(HealthStoreError) -> EnqueueCounts {
        var counts = EnqueueCounts()
        for start in stride(from: 0, to: samples.count, by: Outbox.intakePortion) {
            let end = min(start + Outbox.intakePortion, samples.count)
            counts += try commit(try prepare(Array(samples[start..<end])))
        }
        return counts
    }

    /// Puts days and nights into the outbox, in one transaction. The latest value of each counts
    /// (`AggregateDecision`).
    ///
    /// - Parameter asOf: the instant as of which they are true.
    public func enqueue(
        aggregates: [Sample], asOf: Instant
    ) throws(HealthStoreError) -> EnqueueCounts {
        try commit(try prepare([], aggregates: aggregates.map { ($0, asOf) }))
    }

    /// Computes the blind indexes of samples and encrypts those that are not known; writes nothing.
    ///
    /// - Parameters:
    ///   - samples: measurements, each of which is kept once.
    ///   - aggregates: days and nights, with the instant as of which each is true. The latest value
    ///     of each counts.
    public func prepare(
        _ samples: [Sample], aggregates: [(sample: Sample, asOf: Instant)] = []
    ) throws(HealthStoreError) -> OutboxPortion {
        var portion = OutboxPortion()
        var encryption = PortionEncryption(cipher)
        var rows = samples.map(encryption.row)
        for sample in samples { portion.read[sample.kind, default: 0] += 1 }
        let news = try store.look { connection in
            let packed = try PackedLookup(cipher, connection)
            portion.packedVersion = packed.version
            var known = try KnownSamples(rows, packed, connection)
            return try rows.indices.filter { try known.isNew(&rows[$0], connection) }
        }
        portion.known = Int64(rows.count - news.count)
        portion.rows.reserveCapacity(news.count)
        portion.bytes.reserveCapacity(112 * (news.count + aggregates.count))
        let nonces = Cipher.nonces(news.count + aggregates.count)
        for (nonce, index) in news.enumerated() {
            var row = rows[index]
            encryption.encrypt(samples[index], for: &row, nonces, nonce, onto: &portion.bytes)
            portion.rows.append(row)
        }
        portion.append(aggregates, &encryption, nonces, from: news.count)
        return portion
    }

    /// Writes a portion in one transaction, with its entries in the audit log and the ledger.
    ///
    /// - Parameter reading: the reading that brings the portion; `nil` if no reading does.
    public func commit(
        _ portion: OutboxPortion, of reading: Reading? = nil
    ) throws(HealthStoreError) -> EnqueueCounts {
        try store.change { connection in try write(portion, of: reading, connection) }
    }

    /// Counts measurements that a reading brought again, of which it was known without looking them
    /// up that the outbox has them; a negative number if they were counted twice.
    package func count(
        known: Int64, of reading: Reading
    ) throws(HealthStoreError) -> EnqueueCounts {
        var portion = OutboxPortion()
        portion.known = known
        return try commit(portion, of: reading)
    }

    /// Does what `commit` does, within a transaction.
    func write(
        _ portion: OutboxPortion, of reading: Reading?, _ connection: Connection
    ) throws -> EnqueueCounts {
        var counts = EnqueueCounts()
        var removed: Int64 = 0
        let packed = try PackedLookup(cipher, connection)
        let restored = try RestoredDuplicates(connection)
        counts.queued = try insert(portion, packed, restored, connection)
        counts.duplicates = portion.known + Int64(portion.rows.count) - counts.queued
        var known = try FormerValues(portion.aggregates.map(\.time), connection)
        for aggregate in portion.aggregates {
            removed += try write(
                aggregate, portion.bytes, packed, restored, &known, &counts, connection)
        }
        try count(ReadingCounts(counts, removed: removed), of: reading, connection)
        try recordRead(portion.read, added: counts.added, connection)
        return counts
    }

    /// Records samples that came from a source, by kind. It records nothing if all of them were
    /// known.
    private func recordRead(
        _ read: [SampleKind: Int64], added: Int64, _ connection: Connection
    ) throws {
        guard added > 0 else { return }
        let counts = Dictionary(uniqueKeysWithValues: read.map { ($0.rawValue, $1) })
        let news = added == read.values.reduce(0, +) ? "all new" : "\(added) new"
        try store.audit.record(.read, counts, detail: "from a source, \(news)", connection)
    }

    /// Inserts the rows that are still unknown; another process may have inserted some in the
    /// meantime.
    func insert(
        _ portion: OutboxPortion, _ packed: PackedLookup, _ restored: RestoredDuplicates,
        _ connection: Connection
    ) throws -> Int64 {
        var rows = portion.rows
        guard !rows.isEmpty else { return 0 }
        if packed.version != portion.packedVersion {
            // Some may have been packed since the portion was prepared.
            let news = try rows.indices.filter { try packed.isNew(&rows[$0]) }
            rows = news.map { rows[$0] }
        }
        let last = try lastRow(connection)
        let added = try connection.withInsertion(
            """
            INSERT INTO outbox (kind, start_s, end_s, tag, sealed, doubts)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (kind, start_s, end_s, tag) DO NOTHING
            """
        ) { statement in
            try portion.bytes.withUnsafeBytes { bytes in
                for row in rows {
                    try statement.bind(
                        blob: UnsafeRawBufferPointer(rebasing: bytes[row.encrypted]), at: 5)
                    try statement.bind(row.end < restored.until || row.isInDoubt ? 1 : 0, at: 6)
                    try row.bind(to: statement) { _ = try statement.run() }
                }
            }
        }
        try countInserted(rows, added, after: last, connection)
        if restored.isHeld { try holdInDoubt(after: last, connection) }
        return added
    }

    /// Runs `body` with settings for writing much. The write-ahead log may grow longer than usual.
    /// At the end it is copied into the file, unless another process is writing at that moment.
    ///
    /// Every commit in `body` is on the disk nevertheless.
    public func inBulk<Result>(_ body: () throws -> Result) throws -> Result {
        try store.setLookout(true)
        try beginBulk()
        let result: Result
        do {
            result = try body()
        } catch {
            // The first error is the one that matters.
            do { try endImport() } catch _ {}
            throw error
        }
        try endImport()
        return result
    }

    private func endImport() throws(HealthStoreError) {
        try store.setLookout(false)
        try endBulk()
    }

    /// Sets what `inBulk` sets, for work that is no closure; `endBulk` must follow.
    public func beginBulk() throws(HealthStoreError) {
        try store.access { connection in
            try connection.expectMuch(logPages: Outbox.bulk.log, cache: Outbox.bulk.memory)
        }
    }

    /// Ends what `beginBulk` began.
    public func endBulk() throws(HealthStoreError) {
        try store.access { connection in
            try connection.expectMuch(
                logPages: Outbox.ordinary.log, cache: -Outbox.ordinary.memoryKiB)
            do throws(DatabaseError) {
                try connection.copyLog()
            } catch {
                // Everything is committed, and one of the next commits copies the log.
            }
        }
    }
}

extension OutboxPortion.Row {
    /// Returns the blind index in a column; 0 if it has another length, which happens only in a
    /// damaged file.
    static func blindIndex(of row: borrowing Database.Row, _ column: Int32) -> UInt64 {
        row.withBlob(column) { $0.count == 8 ? $0.loadUnaligned(as: UInt64.self) : 0 }
    }

    /// Binds the four columns that identify the row; the bound values are valid only in `body`.
    func bind<Result>(
        to statement: borrowing Statement, _ body: () throws -> Result
    ) throws -> Result {
        var name = kind.rawValue
        return try name.withUTF8 { name in
            try withUnsafeBytes(of: blindIndex) { blindIndex in
                try statement.bind(text: UnsafeRawBufferPointer(name), at: 1)
                try statement.bind(start, at: 2)
                try statement.bind(end, at: 3)
                try statement.bind(blob: blindIndex, at: 4)
                return try body()
            }
        }
    }
}

extension Outbox {
    /// What a restore means for a sample that is read for the first time.
    ///
    /// A sample that was measured before the restore may have been sent between the backup and the
    /// restore. This matters only if the backend does not deduplicate.
    struct RestoredDuplicates {
        /// What ends before this counts as in doubt, in seconds since 1970.
        var until = Int64.min
        /// Whether it is set aside until a person decides.
        var isHeld = false

        init(_ connection: Connection) throws(DatabaseError) {
            let last = try connection.first(
                """
                SELECT until_s, is_held FROM restorations WHERE is_doubtful = 1
                ORDER BY until_s DESC LIMIT 1
                """
            ) { ($0.integer(0), $0.integer(1) == 1) }
            if let last { (until, isHeld) = last }
        }
    }

    /// The number of the newest row; 0 if there is none.
    func lastRow(_ connection: Connection) throws(DatabaseError) -> Int64 {
        // Not `max(id)`: for a table that was empty when the statement was prepared, PostgreSQL keeps
        // a plan that reads all rows.
        try connection.integer("SELECT id FROM outbox ORDER BY id DESC LIMIT 1") ?? 0
    }

    /// Sets the samples in doubt aside that were inserted after a row.
    func holdInDoubt(after row: Int64, _ connection: Connection) throws {
        try connection.run(
            """
            UPDATE outbox SET \(Outbox.setAsideInDoubt)
            WHERE id > ? AND state = 'queued' AND doubts > 0
            """, .integer(row))
    }

    /// Sets a row aside, as the assignments of an UPDATE.
    static let setAsideInDoubt =
        "state = 'setAside', hold = 'doubt', reason = '\(UploadRefusal.inDoubt)'"
}

/// Samples with their blind indexes and encrypted values, ready to be written into the outbox.
///
/// `Outbox.prepare` makes a portion and `commit` writes it, so that two threads can do the two
/// at the same time.
public struct OutboxPortion: Sendable {
    /// The columns of a sample; its encrypted value is in `bytes`.
    struct Row: Sendable {
        let kind: SampleKind
        let start: Int64
        let end: Int64
        /// The bytes of the blind index, in memory order.
        let blindIndex: UInt64
        /// The range of the encrypted value in `bytes`.
        var encrypted = 0..<0
        /// Whether it may be one of the packed samples that are damaged.
        var isInDoubt = false
    }

    /// An aggregate: its row, and what decides whether it replaces another.
    struct Aggregate: Sendable {
        var row: Row
        let source: String?
        /// As in `Sample`.
        let isOfAllSources: Bool
        /// The instant as of which it is true, in seconds since 1970.
        let asOf: Int64

        var time: AggregateTime {
            AggregateTime(kind: row.kind, start: row.start, end: row.end)
        }
    }

    /// The measurements that were not known, in the order in which they came.
    var rows: [Row] = []
    /// The days, nights and other aggregates, known or not, in the order in which they came.
    var aggregates: [Aggregate] = []
    /// The encrypted values.
    var bytes: [UInt8] = []
    /// `PackedLookup.version` when the measurements were compared with what is packed.
    var packedVersion: Int64 = 0
    /// The number of measurements that were known.
    var known: Int64 = 0
    /// The number of all samples that came, by kind, for the audit log.
    var read: [SampleKind: Int64] = [:]

    /// Computes blind indexes of aggregates and encrypts them.
    ///
    /// - Parameter first: the index of the first unused nonce in `nonces`.
    mutating func append(
        _ more: [(sample: Sample, asOf: Instant)], _ encryption: inout PortionEncryption,
        _ nonces: [UInt8], from first: Int
    ) {
        for (index, (sample, asOf)) in more.enumerated() {
            var row = encryption.row(sample)
            encryption.encrypt(sample, for: &row, nonces, first + index, onto: &bytes)
            aggregates.append(
                Aggregate(
                    row: row, source: sample.source, isOfAllSources: sample.isOfAllSources,
                    asOf: asOf.secondsSince1970))
            read[sample.kind, default: 0] += 1
        }
    }
}

/// Computes the blind indexes of a portion and encrypts its samples, in buffers that it reuses.
struct PortionEncryption {
    private let cipher: Cipher
    private var identities = SampleIdentities()

    init(_ cipher: Cipher) { self.cipher = cipher }

    /// Returns the columns of a sample that are not encrypted.
    func row(_ sample: Sample) -> OutboxPortion.Row {
        OutboxPortion.Row(
            kind: sample.kind, start: sample.start.secondsSince1970,
            end: sample.end.secondsSince1970, blindIndex: cipher.shortIndex(sample.identity))
    }

    /// Encrypts a sample for its row, with a nonce that is used for nothing else.
    mutating func encrypt(
        _ sample: Sample, for row: inout OutboxPortion.Row, _ nonces: [UInt8], _ nonce: Int,
        onto bytes: inout [UInt8]
    ) {
        withUnsafeBytes(of: row.blindIndex) {
            identities.set(row.kind, row.start, row.end, $0)
        }
        let start = bytes.count
        let plain = sample.encryptedForm
        cipher.encrypt(
            plain, in: Padding.sizes(of: plain, in: "outbox"), for: identities.bytes, nonces, nonce,
            onto: &bytes)
        row.encrypted = start..<bytes.count
    }
}
