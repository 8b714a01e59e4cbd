import HealthModel
public import ClarityScheduler
import Database

// How samples that need nothing more leave the outbox's rows.

extension Outbox {
    /// The fewest samples that are packed together. Fewer would write a month anew for each upload.
    public static var packingPortion: Int { 1024 }
    /// The most that are packed in one transaction.
    private static let mostPacked: Int64 = 32_768

    /// Selects the rows of ended batches that need nothing more from the backend. Days, nights and
    /// other aggregates stay, because a later value may follow; so do samples that the backend may
    /// have twice.
    private static let isSpent = """
        (batches.state = 'confirmed' OR batches.state = 'stored' OR batches.state = 'unconfirmed')
            AND (outbox.state = 'confirmed' OR outbox.state = 'stored'
                OR outbox.state = 'batched' AND batches.state <> 'unconfirmed')
            AND as_of_s IS NULL AND doubts = 0 AND kind NOT IN (\(PackedSample.otherKinds))
        """

    /// Goes through the batches that have ended, so that those under way cost nothing.
    private static let batchedRows = "batches CROSS JOIN outbox WHERE batch_id = batches.id AND"

    /// Packs the measurements that the backend confirmed or stored, if enough have gathered.
    ///
    /// It commits in portions; after a kill the packed ones are packed, and the next call packs the
    /// rest.
    ///
    /// - Returns: how many.
    @discardableResult
    public func pack(
        atLeast fewest: Int = packingPortion, at now: Instant
    ) throws(HealthStoreError) -> Int64 {
        let count = try store.integer(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM \(Outbox.batchedRows) \(Outbox.isSpent) LIMIT ?) AS spent
            """, .integer(Int64(fewest)))
        guard let count, count >= max(1, fewest) else { return 0 }
        return try store.change(inPortionsOf: Outbox.mostPacked) { connection in
            try packPortion(
                "\(Outbox.batchedRows) \(Outbox.isSpent) ORDER BY batches.id", connection, at: now)
        }
    }

    /// Selects the rows that were never sent and may be packed, in the order of an index.
    private static let unsentRows = """
        outbox LEFT JOIN batches ON false WHERE outbox.state = 'queued' AND batch_id IS NULL
            AND failures = 0 AND doubts = 0 AND as_of_s IS NULL
            AND kind NOT IN (\(PackedSample.otherKinds))
        """

    /// Packs the measurements that were never sent, where there is no backend, if enough have
    /// gathered, and gives the space of their rows back. `unpackKept` puts them into the queue again.
    ///
    /// It commits in portions, as `pack` does.
    public func packKept(
        atLeast fewest: Int = packingPortion, at now: Instant
    ) throws(HealthStoreError) {
        let count = try store.integer(
            "SELECT count(*) FROM (SELECT 1 FROM \(Outbox.unsentRows) LIMIT ?) AS unsent",
            .integer(Int64(fewest)))
        guard let count, count >= max(1, fewest) else { return }
        _ = try store.change(inPortionsOf: Outbox.mostPacked) { connection in
            try packPortion("\(Outbox.unsentRows) ORDER BY kind, start_s", connection, at: now)
        }
        while try store.compact().isMore {}
    }

    /// Packs a portion of rows.
    ///
    /// - Parameter selection: the tables, conditions and order of the rows, as SQL.
    private func packPortion(
        _ selection: String, _ connection: Connection, at now: Instant
    ) throws -> Int64 {
        var buckets: [SampleKind: [Int: [PackedSample]]] = [:]
        var rows: [Int64] = []
        var opening = SampleOpening(cipher)
        let packed = PackedSamples(cipher: cipher, connection: connection)
        var totals = try packed.totals()
        try connection.forEach(
            """
            SELECT outbox.id, kind, start_s, end_s, tag, sealed,
                iif(outbox.state = 'batched', batches.state, outbox.state)
            FROM \(selection) LIMIT \(Outbox.mostPacked)
            """, []
        ) { found in
            // A damaged value stays where the proof names it.
            guard let sample = opening.opened(found),
                let state = OutboxState(rawValue: found.text(6)),
                let packed = PackedSample(sample, isKept: state == .queued)
            else { return }
            rows.append(found.integer(SampleRow.Column.id))
            buckets[sample.kind, default: [:]][TypeMonth.month(of: packed.start), default: []]
                .append(packed)
            totals[sample.kind, default: PackedTotals()].add(packed, state)
        }
        for (kind, months) in buckets.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            for (month, samples) in months.sorted(by: { $0.key < $1.key }) {
                try packed.add(samples, of: kind, to: month, at: now)
            }
            if let totals = totals[kind] { try packed.write(totals, of: kind) }
        }
        for row in rows {
            try connection.run("UPDATE metrics SET is_packed = 1 WHERE sample = ?", .integer(row))
            try connection.run("DELETE FROM outbox WHERE id = ?", .integer(row))
        }
        return Int64(rows.count)
    }

    /// Counts packed samples anew whose number is damaged; all of them count as confirmed then.
    ///
    /// - Returns: of how many kinds.
    public func repairTotals() throws(HealthStoreError) -> Int64 {
        try store.change { connection in
            try PackedSamples(cipher: cipher, connection: connection).repairTotals()
        }
    }

    /// Returns how many of the samples that a selection by state and kind means are packed, and so
    /// in no list.
    public func packedCount(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        guard selection.reason == nil else { return 0 }
        return try store.access { connection in
            let totals = try PackedSamples(cipher: cipher, connection: connection).totals()
            return totals.reduce(into: 0) { count, entry in
                guard selection.kind == nil || selection.kind == entry.key else { return }
                switch selection.state {
                case nil: count += entry.value.count
                case .confirmed: count += entry.value.confirmed
                case .stored: count += entry.value.stored
                case .queued: count += entry.value.kept
                default: break
                }
            }
        }
    }
}

/// Finds out which samples of a portion are packed, month by month.
///
/// Months are kept in memory up to a limit: a portion in the order of time needs few, and one
/// without order may need all.
final class PackedLookup {
    /// The most samples that are kept in memory, 24 MB.
    private static let mostKept = 1 << 20

    private struct Key: Hashable {
        let kind: SampleKind
        let month: Int
    }

    private struct Entry {
        let start: Int64
        let end: Int64
        let blindIndex: UInt64
    }

    private struct Month {
        /// In the order of the starts.
        var entries: [Entry] = []
        var isDamaged = false
    }

    private enum Answer: Hashable {
        case packed
        case notPacked
        /// The month has damaged samples, of which it may be one.
        case uncertain
    }

    private let cipher: Cipher
    private let packed: PackedSamples
    private var months: [Key: Month] = [:]
    private var kept = 0
    /// Whether nothing is packed at all.
    private let isEmpty: Bool
    /// Changes whenever something is packed.
    let version: Int64

    init(_ cipher: Cipher, _ connection: Connection) throws {
        self.cipher = cipher
        packed = PackedSamples(cipher: cipher, connection: connection)
        version = try connection.integer("SELECT max(id) FROM packed_samples") ?? 0
        isEmpty = version == 0
    }

    /// Whether a measurement with this time and value is packed.
    func has(_ row: OutboxPortion.Row) throws -> Bool { try look(for: row) == .packed }

    /// Whether a sample is not packed. If damage keeps that from being known, it counts as in
    /// doubt.
    func isNew(_ row: inout OutboxPortion.Row) throws -> Bool {
        let answer = try look(for: row)
        row.isInDoubt = answer == .uncertain
        return answer != .packed
    }

    private func look(for row: OutboxPortion.Row) throws -> Answer {
        guard !isEmpty else { return .notPacked }
        let month = try month(Key(kind: row.kind, month: TypeMonth.month(of: row.start)))
        var index = month.entries.partitioningIndex { $0.start >= row.start }
        while index < month.entries.count, month.entries[index].start == row.start {
            let entry = month.entries[index]
            if entry.blindIndex == row.blindIndex, entry.end == row.end { return .packed }
            index += 1
        }
        return month.isDamaged ? .uncertain : .notPacked
    }

    private func month(_ key: Key) throws -> Month {
        if let known = months[key] { return known }
        let found = try packed.samples(of: key.kind, in: key.month)
        let month = Month(
            entries: found.sound.map {
                Entry(start: $0.start, end: $0.end, blindIndex: $0.blindIndex(key.kind, cipher))
            }, isDamaged: found.isDamaged)
        if kept > PackedLookup.mostKept { (months, kept) = ([:], 0) }
        months[key] = month
        kept += month.entries.count
        return month
    }
}

extension Array {
    /// Returns the first index whose element fulfils `isBehind`, which is so for all after it too.
    func partitioningIndex(_ isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

// How packed samples get rows again, because a person sends them once more, or because there is a
// backend now.

extension Outbox {
    /// Returns the kinds and months that may have kept samples.
    public func keptMonths() throws(HealthStoreError) -> [TypeMonth] {
        try store.access { connection in
            let packed = PackedSamples(cipher: cipher, connection: connection)
            return try packed.totals().filter { $0.value.kept > 0 }.keys.flatMap { kind in
                try packed.months(of: kind).map { TypeMonth(type: kind.rawValue, month: $0) }
            }
        }
    }

    /// Puts the kept samples of a kind and month into the queue, now that there is a backend. Those
    /// of a damaged month stay.
    public func unpackKept(_ month: TypeMonth) throws(HealthStoreError) {
        guard let kind = SampleKind(rawValue: month.type) else { return }
        try store.change { connection in try unpackKept(kind, month.month, connection) }
    }

    private func unpackKept(
        _ kind: SampleKind, _ month: Int, _ connection: Connection
    ) throws {
        let packed = PackedSamples(cipher: cipher, connection: connection)
        let samples = try packed.take(of: kind, in: month, at: store.clock.now) { $0.isKept }
        guard !samples.isEmpty, var totals = try packed.totals(of: kind) else { return }
        let lookup = try PackedLookup(cipher, connection)
        var portion = OutboxPortion()
        var encryption = PortionEncryption(cipher)
        let nonces = Cipher.nonces(samples.count)
        for (index, sample) in samples.enumerated() {
            var row = encryption.row(sample)
            encryption.encrypt(sample, for: &row, nonces, index, onto: &portion.bytes)
            portion.rows.append(row)
        }
        // None of them is packed any more.
        portion.packedVersion = lookup.version
        _ = try insert(portion, lookup, RestoredDuplicates(connection), connection)
        totals.kept -= Int64(samples.count)
        (totals.firstStart, totals.lastStart) = try packed.valued(kind)
        try packed.write(totals, of: kind)
    }

    /// Counts the packed samples that `unpackStored` would put back into the queue, by kind.
    func packedShares(
        _ selection: OutboxSelection, _ connection: Connection
    ) throws -> [OutboxShare] {
        let packed = PackedSamples(cipher: cipher, connection: connection)
        return try unpackable(selection, connection).compactMap { kind in
            let count = try packed.months(of: kind).reduce(Int64(0)) { count, month in
                let found = try packed.samples(of: kind, in: month)
                guard !found.isDamaged else { return count }
                return count + Int64(found.sound.count { selection.means($0, kind) })
            }
            return count == 0
                ? nil : OutboxShare(kind: kind.rawValue, state: .stored, count: count)
        }
    }

    /// Puts the selected packed samples back into the queue, one month in a transaction. Their
    /// values that were removed cannot come back, and samples of a damaged month stay.
    ///
    /// - Returns: how many samples.
    func unpackStored(_ selection: OutboxSelection) throws(HealthStoreError) -> Int64 {
        let months = try store.access { connection in
            let packed = PackedSamples(cipher: cipher, connection: connection)
            return try unpackable(selection, connection).flatMap { kind in
                try packed.months(of: kind).map { (kind, $0) }
            }
        }
        var count: Int64 = 0
        for (kind, month) in months {
            count += try store.change { connection in
                try unpack(kind, month, selection, connection)
            }
        }
        return count
    }

    /// Returns the kinds whose packed samples are all stored. Where some are confirmed, nothing
    /// tells which.
    private func unpackable(
        _ selection: OutboxSelection, _ connection: Connection
    ) throws -> [SampleKind] {
        guard selection.state == .stored, selection.ids.isEmpty, selection.reason == nil else {
            return []
        }
        let totals = try PackedSamples(cipher: cipher, connection: connection).totals()
        return SampleKind.allCases.filter { kind in
            guard selection.kind == nil || selection.kind == kind, let total = totals[kind] else {
                return false
            }
            return total.confirmed == 0 && total.stored > 0
        }
    }

    private func unpack(
        _ kind: SampleKind, _ month: Int, _ selection: OutboxSelection, _ connection: Connection
    ) throws -> Int64 {
        let packed = PackedSamples(cipher: cipher, connection: connection)
        let samples = try packed.take(of: kind, in: month, at: store.clock.now) {
            selection.means($0, kind)
        }
        guard !samples.isEmpty, var totals = try packed.totals(of: kind) else { return 0 }
        var encryption = PortionEncryption(cipher)
        let nonces = Cipher.nonces(samples.count)
        for (index, sample) in samples.enumerated() {
            var row = encryption.row(sample)
            var bytes: [UInt8] = []
            encryption.encrypt(sample, for: &row, nonces, index, onto: &bytes)
            try connection.run(
                """
                INSERT INTO outbox (kind, start_s, end_s, tag, sealed, doubts)
                VALUES (?, ?, ?, ?, ?, 1)
                """, .text(kind.rawValue), .integer(row.start), .integer(row.end),
                .blob(row.indexBytes), .blob(bytes))
            try countInserted([row], 1, after: 0, connection)
        }
        let count = Int64(samples.count)
        totals.stored -= count
        (totals.firstStart, totals.lastStart) = try packed.valued(kind)
        try packed.write(totals, of: kind)
        try store.audit.record(
            .requeued, [kind.rawValue: count], detail: Outbox.resentReason, connection)
        return count
    }
}

extension OutboxSelection {
    /// Whether it selects a packed sample, which must have its value.
    fileprivate func means(_ sample: PackedSample, _ kind: SampleKind) -> Bool {
        guard !sample.isKept, sample.sample(kind) != nil else { return false }
        return before.map { sample.start < $0.secondsSince1970 } ?? true
    }
}
