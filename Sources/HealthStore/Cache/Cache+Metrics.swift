public import HealthModel
public import ClarityScheduler
import Database

// Pulled metrics and the outbox's own samples, read together.

extension Cache {
    /// Returns what is stored, by the name of the `MetricGroup`, or by the backend's type if no
    /// group has it.
    ///
    /// No value is decrypted. A sample that was sent and then pulled counts once. A rejected sample
    /// does not count, nor one whose value was removed after it was confirmed.
    public func metricStocks() throws(HealthStoreError) -> [MetricStock] {
        try store.snapshot { connection in
            let pulled = try connection.all(
                """
                SELECT type, count(*) - sum(is_packed), min(timestamp_ms), max(timestamp_ms)
                FROM metrics GROUP BY type
                """
            ) { row in
                let type = row.text(0)
                let group = MetricGroup(type: type)
                // Those whose own sample is packed are counted with the packed ones.
                return MetricStock(
                    name: group?.rawValue ?? type, group: group, count: row.integer(1),
                    first: row.instant(2),
                    last: row.instant(3))
            }
            let own = try connection.all(
                """
                SELECT kind, count(*), min(start_s), max(start_s) FROM outbox
                WHERE sealed IS NOT NULL AND state <> 'rejected'
                    AND NOT EXISTS (SELECT 1 FROM metrics WHERE sample = outbox.id)
                GROUP BY kind
                """
            ) { row in
                let group = SampleKind(rawValue: row.text(0)).flatMap { MetricGroup(kind: $0) }
                return MetricStock(
                    name: group?.rawValue ?? row.text(0), group: group, count: row.integer(1),
                    first: Instant(secondsSince1970: row.integer(2)),
                    last: Instant(secondsSince1970: row.integer(3)))
            }
            let packed = try PackedSamples(cipher: cipher, connection: connection).totals()
                .filter { $0.value.count > $0.value.withoutValue }
                .map { kind, totals in
                    let group = MetricGroup(kind: kind)
                    return MetricStock(
                        name: group?.rawValue ?? kind.rawValue, group: group,
                        count: totals.count - totals.withoutValue,
                        first: Instant(secondsSince1970: totals.firstStart),
                        last: Instant(secondsSince1970: totals.lastStart))
                }
            var stocks: [String: MetricStock] = [:]
            for stock in pulled + own + packed {
                if stocks[stock.name]?.add(stock) == nil { stocks[stock.name] = stock }
            }
            return stocks.values.sorted { $0.name < $1.name }
        }
    }

    /// Calls `each` with every metric of a group that begins in `span`, in no order.
    ///
    /// - Parameter flatten: extracts the numbers of a row of an earlier version, which has only
    ///   JSON.
    /// - Returns: the rows that do not decrypt; all others are read.
    public func readMetrics(
        _ group: MetricGroup, in span: Range<Instant>,
        flatten: (CachedRow) -> MetricNumbers, each: (MetricRecord) -> Void
    ) throws(HealthStoreError) -> [EncryptionError] {
        // Without a snapshot, a pull meanwhile could show a sample twice or not at all.
        try store.snapshot { connection in
            var hasUnlinked = false
            var damaged: [EncryptionError] = []
            for type in group.types {
                damaged += try readPulled(
                    type, in: span, flatten, &hasUnlinked, connection, each: each)
            }
            // A row that was pulled before its sample was imported, or by an earlier version,
            // can be matched with the sample only by its id.
            let user = try AuditLog(connection: connection, cipher: cipher).user()
            let ids = hasUnlinked ? user.map { MetricIDs(userID: $0) } : nil
            for kind in group.kinds {
                let isListed = { (sample: Sample) in
                    try ids.map { try isPulled($0(sample), connection) } ?? false
                }
                damaged += try readPacked(kind, in: span, isListed, connection) {
                    each(
                        MetricRecord(
                            start: $0.start, end: $0.end, origin: .source,
                            numbers: MetricNumbers($0)))
                }
                damaged += try readOwn(kind, in: span, connection) { sample, asOf in
                    if try isListed(sample) { return }
                    each(
                        MetricRecord(
                            start: sample.start, end: sample.end, origin: .source, asOf: asOf,
                            numbers: MetricNumbers(sample)))
                }
            }
            return damaged
        }
    }

    /// Returns a number for each month (of UTC) in which metrics of a group begin: another one
    /// whenever what `readMetrics` returns may have changed. No value is decrypted.
    package func revisions(
        of group: MetricGroup
    ) throws(HealthStoreError) -> [Int: UInt64] {
        var revisions: [Int: UInt64] = [:]
        // A sum, because the rows come in no order.
        func add(_ month: Int, _ numbers: [UInt64]) {
            revisions[month, default: 0] &+= numbers.reduce(0x9E37_79B9_7F4A_7C15) { hash, number in
                let mixed = (hash ^ number) &* 0xBF58_476D_1CE4_E5B9
                return mixed ^ mixed >> 31
            }
        }
        func number(_ bytes: [UInt8]) -> UInt64 {
            bytes.reduce(0) { $0 &* 0x100_0193 &+ UInt64($1) }
        }
        try store.snapshot { connection in
            for kind in group.kinds {
                try connection.forEach(
                    """
                    SELECT start_s, id, tag, as_of_s, sealed IS NOT NULL AND state <> 'rejected'
                    FROM outbox WHERE kind = ?
                    """, [.text(kind.rawValue)]
                ) { row in
                    add(
                        TypeMonth.month(of: row.integer(0)),
                        [
                            UInt64(bitPattern: row.integer(1)), number(row.blob(2)),
                            UInt64(bitPattern: row.optionalInteger(3) ?? -1),
                            UInt64(bitPattern: row.integer(4)),
                        ])
                }
                try connection.forEach(
                    """
                    SELECT month, generation, packed_at_ms IS NULL FROM packed_samples
                    WHERE kind = ?
                    """, [.text(kind.rawValue)]
                ) { row in
                    add(
                        Int(row.integer(0)),
                        [UInt64(bitPattern: row.integer(1)), UInt64(bitPattern: row.integer(2))])
                }
            }
            for type in group.types {
                try connection.forEach(
                    "SELECT timestamp_ms, id, sample FROM metrics WHERE type = ?", [.text(type)]
                ) { row in
                    add(
                        TypeMonth.month(of: row.integer(0) / 1000),
                        [
                            number(Array(row.text(1).utf8)),
                            UInt64(bitPattern: row.optionalInteger(2) ?? -1),
                        ])
                }
            }
        }
        return revisions
    }

    private func isPulled(_ id: MetricID, _ connection: Connection) throws -> Bool {
        try connection.first(
            "SELECT EXISTS (SELECT 1 FROM metrics WHERE id = ?)",
            .text(cipher.metricIndex(id.description))
        ) { $0.integer(0) == 1 } ?? false
    }

    private func readPulled(
        _ type: String, in span: Range<Instant>, _ flatten: (CachedRow) -> MetricNumbers,
        _ hasUnlinked: inout Bool, _ connection: Connection, each: (MetricRecord) -> Void
    ) throws -> [EncryptionError] {
        var damaged: [EncryptionError] = []
        var opening = RowOpening(cipher)
        var prefix = RowIdentity(CachedTable.metrics.rawValue)
        let table = prefix.bytes
        prefix.append(type)
        let typePart = prefix.bytes[table.count...]
        try connection.forEach(
            """
            SELECT metrics.id, timestamp_ms, metrics.sealed, as_of_s, sample IS NULL
            FROM metrics LEFT JOIN outbox ON outbox.id = sample
            WHERE type = ? AND timestamp_ms >= ? AND timestamp_ms < ?
            """,
            [.text(type), .instant(span.lowerBound), .instant(span.upperBound)]
        ) { row in
            let time = row.integer(1)
            if row.integer(4) == 1 { hasUnlinked = true }
            opening.begin(table)
            row.withBlob(0) { opening.append(counted: $0) }
            opening.append(typePart)
            opening.append(time)
            guard row.withBlob(2, { opening.open($0) }) else {
                damaged.append(EncryptionError(table: "metrics", row: row.text(0)))
                return
            }
            let instant = Instant(millisecondsSince1970: time)
            var numbers = opening.plain.withUnsafeBytes { MetricNumbers(form: $0) }
            if numbers == nil {
                var row = CachedRow(id: "", type: type, timestamp: instant, json: [])
                row.take(form: opening.plain)
                numbers = flatten(row)
            }
            guard let numbers else { return }
            each(
                MetricRecord(
                    start: numbers.span?.lowerBound ?? instant,
                    end: numbers.span?.upperBound ?? instant, origin: .pulled,
                    asOf: row.optionalInteger(3).map { Instant(secondsSince1970: $0) },
                    numbers: numbers))
        }
        return damaged
    }

    /// Reads the packed samples of a kind that are in no pulled row.
    ///
    /// - Parameter isListed: whether the backend listed a sample.
    private func readPacked(
        _ kind: SampleKind, in span: Range<Instant>, _ isListed: (Sample) throws -> Bool,
        _ connection: Connection, each: (Sample) -> Void
    ) throws -> [EncryptionError] {
        let starts =
            span.lowerBound
            .secondsSince1970..<max(span.lowerBound, span.upperBound).secondsSince1970
        return try PackedSamples(cipher: cipher, connection: connection).forEach(kind, starts) {
            if try !isListed($0) { each($0) }
        }
    }

    /// Reads the outbox's samples of a kind that have a value, were not rejected, and are in no
    /// pulled row.
    private func readOwn(
        _ kind: SampleKind, in span: Range<Instant>, _ connection: Connection,
        each: (Sample, Instant?) throws -> Void
    ) throws -> [EncryptionError] {
        var damaged: [EncryptionError] = []
        var failure: (any Error)?
        try connection.forEach(
            """
            SELECT id, start_s, end_s, tag, sealed, as_of_s FROM outbox
            WHERE kind = ? AND start_s >= ? AND start_s < ? AND sealed IS NOT NULL
                AND state <> 'rejected'
                AND NOT EXISTS (SELECT 1 FROM metrics WHERE sample = outbox.id)
            """,
            [
                .text(kind.rawValue), .integer(span.lowerBound.secondsSince1970),
                .integer(span.upperBound.secondsSince1970),
            ]
        ) { row in
            let stored = SampleRow(
                id: row.integer(0), kind: kind.rawValue, start: row.integer(1),
                end: row.integer(2), blindIndex: row.blob(3), encrypted: row.blob(4))
            guard let sample = stored.opened(cipher) else {
                damaged.append(EncryptionError(table: "outbox", row: String(stored.id)))
                return
            }
            guard failure == nil else { return }
            do {
                try each(sample, row.optionalInteger(5).map { Instant(secondsSince1970: $0) })
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return damaged
    }
}

/// A metric as it is read back: a pulled row, or an outbox sample that was not pulled.
public struct MetricRecord: Sendable, PrivateValue {
    /// Where the metric comes from.
    public enum Origin: Hashable, Sendable {
        /// The backend listed it.
        case pulled
        /// A source had it, and the backend has not listed it yet.
        case source
    }

    /// When it was measured or began.
    public var start: Instant
    /// When it ended; equal to `start` if only an instant is known.
    public var end: Instant
    public var origin: Origin
    /// The instant as of which a source's day, night or average is correct; `nil` for a reading, or
    /// if that is not known.
    public var asOf: Instant?
    public var numbers: MetricNumbers
}

/// The stored metrics of one type.
public struct MetricStock: Hashable, Sendable {
    /// The group's name, or the backend's type if no group has it.
    public var name: String
    public var group: MetricGroup?
    /// The number of metrics, each counted once.
    public var count: Int64
    /// When the first and the last of them began.
    public var first: Instant
    public var last: Instant

    /// Adds another part of the same type.
    mutating func add(_ other: MetricStock) {
        count += other.count
        first = min(first, other.first)
        last = max(last, other.last)
    }
}

/// Finds the outbox sample that a pulled metric came from.
///
/// The backend knows a sample by an id derived from its user and its content (`MetricID`). A metric
/// begins at the same instant as its sample, so only a few samples must be decrypted.
final class SampleTwins {
    private let cipher: Cipher
    private let ids: MetricIDs
    /// The packed samples of the months that were looked at, by their starts.
    private var packed: [TypeMonth: [Int64: [Sample]]] = [:]

    /// Returns `nil` before the first login.
    init?(_ cipher: Cipher, _ connection: Connection) throws {
        guard let user = try AuditLog(connection: connection, cipher: cipher).user() else {
            return nil
        }
        self.cipher = cipher
        ids = MetricIDs(userID: user)
    }

    /// Records in a metric's row which sample it is, unless that is known.
    func link(_ row: CachedRow, _ connection: Connection) throws {
        let name = cipher.metricIndex(row.id)
        let isOpen = try connection.first(
            "SELECT sample IS NULL AND is_packed = 0 FROM metrics WHERE id = ?", .text(name)
        ) { $0.integer(0) == 1 }
        guard isOpen == true, let group = MetricGroup(type: row.type) else { return }
        let start = (row.numbers?.span?.lowerBound ?? row.timestamp).secondsSince1970
        let wanted = row.id.lowercased()
        for kind in group.kinds {
            let found = try connection.all(
                """
                SELECT \(SampleRow.Column.list) FROM outbox
                WHERE kind = ? AND start_s = ? AND sealed IS NOT NULL LIMIT 100
                """, .text(kind.rawValue), .integer(start), map: SampleRow.init)
            for row in found {
                guard let sample = row.opened(cipher), ids(sample).description == wanted else {
                    continue
                }
                try connection.run(
                    "UPDATE metrics SET sample = ? WHERE id = ?", .integer(row.id), .text(name))
                return
            }
            for sample in try packed(kind, start, connection)
            where ids(sample).description == wanted {
                try connection.run("UPDATE metrics SET is_packed = 1 WHERE id = ?", .text(name))
                return
            }
        }
    }

    /// Returns the packed samples of a kind that begin at an instant.
    private func packed(
        _ kind: SampleKind, _ start: Int64, _ connection: Connection
    ) throws -> [Sample] {
        let month = TypeMonth(type: kind.rawValue, month: TypeMonth.month(of: start))
        if packed[month] == nil {
            let found = try PackedSamples(cipher: cipher, connection: connection)
                .samples(of: kind, in: month.month)
            packed[month] = Dictionary(
                grouping: found.sound.compactMap { $0.sample(kind) }
            ) { $0.start.secondsSince1970 }
        }
        return packed[month]?[start] ?? []
    }
}
