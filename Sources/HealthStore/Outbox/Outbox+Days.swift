public import HealthModel
public import ClarityScheduler
import Database

/// The key of one partial aggregate of a source: a quantity and a period of four
/// weeks.
public struct PartialAggregateKey: Hashable, Sendable {
    public var kind: SampleKind
    public var period: Int

    /// Creates a key.
    public init(kind: SampleKind, period: Int) {
        self.kind = kind
        self.period = period
    }
}

// What each source knows about days. It is stored so that a day is merged from all sources,
// whichever of them is read last. Only the merge knows what the bytes mean.

extension Outbox {
    /// The most periods that one transaction merges.
    private static let periodsAtOnce: Int64 = 12

    /// Returns the keys of all partial aggregates of a source entry.
    ///
    /// - Parameter entry: a name for the entry, such as its path; stored as a keyed hash.
    public func partialAggregateKeys(
        of entry: String
    ) throws(HealthStoreError) -> Set<PartialAggregateKey> {
        try store.access { connection in
            Set(
                try connection.all(
                    "SELECT kind, period FROM contributions WHERE tag = ?",
                    .blob(cipher.blindIndex(of: entry, in: "contributions"))
                ) { row in
                    SampleKind(rawValue: row.text(0)).map {
                        PartialAggregateKey(kind: $0, period: Int(row.integer(1)))
                    }
                })
        }
    }

    /// Stores the partial aggregates of a source entry, in one transaction.
    ///
    /// - Parameter update: returns the new bytes for a key, given the stored ones; `nil` leaves the
    ///   stored bytes as they are.
    public func contribute(
        _ keys: some Sequence<PartialAggregateKey>, of entry: String,
        _ update: (PartialAggregateKey, _ kept: [UInt8]?) throws -> [UInt8]?
    ) throws(HealthStoreError) {
        try store.change { connection in
            let blindIndex = cipher.blindIndex(of: entry, in: "contributions")
            for key in keys {
                let kept = try connection.blob(
                    "SELECT sealed FROM contributions WHERE kind = ? AND period = ? AND tag = ?",
                    .text(key.kind.rawValue), .integer(Int64(key.period)), .blob(blindIndex))
                let bytes = try kept.map { try cipher.open($0, for: row(key, blindIndex)) }
                guard let new = try update(key, bytes) else { continue }
                try connection.run(
                    """
                    INSERT INTO contributions (tag, kind, period, sealed) VALUES (?, ?, ?, ?)
                    ON CONFLICT (kind, period, tag) DO UPDATE
                        SET sealed = excluded.sealed, revision = contributions.revision + 1
                    """, .blob(blindIndex), .text(key.kind.rawValue), .integer(Int64(key.period)),
                    .blob(cipher.encrypt(new, for: row(key, blindIndex))))
            }
        }
    }

    /// The result of merging some periods.
    public struct Merged {
        public var days: [(sample: Sample, asOf: Instant)] = []
        /// The first period with a day that is not over; the next reading merges it again.
        public var open: Int?

        /// Creates an empty result.
        public init() {}
    }

    /// Makes the days that touch the given periods. Its `load` returns what every source has for a
    /// quantity and a period, including the periods next to the given ones.
    public typealias Aggregation = (
        ClosedRange<Int>, _ load: (PartialAggregateKey) throws -> [[UInt8]]
    ) throws -> Merged

    /// Merges again the days for which any source's partial aggregate has changed, and puts them
    /// into the outbox.
    ///
    /// One transaction merges up to 12 consecutive periods. It reads only committed partial
    /// aggregates, and it marks the periods as merged when it puts their days into the outbox.
    ///
    /// - Parameter reading: the reading under which the ledger counts the days.
    public func mergePartialAggregates(
        of reading: Reading?,
        _ aggregate: Aggregation
    ) throws(HealthStoreError) -> EnqueueCounts {
        var counts = EnqueueCounts()
        var last = Int.min
        while let (more, end) = try aggregateSome(after: last, of: reading, aggregate) {
            counts += more
            last = end
        }
        return counts
    }

    /// Makes the next reading of a source merge every day again from the stored partial aggregates.
    /// A day whose value comes out the same stays as it is.
    func mergeAllDaysAgain(_ connection: Connection) throws(DatabaseError) {
        try connection.run("UPDATE contributions SET revision = revision + 1")
    }

    private func aggregateSome(
        after former: Int, of reading: Reading?,
        _ aggregate: Aggregation
    ) throws(HealthStoreError) -> (EnqueueCounts, last: Int)? {
        try store.change { connection in
            let changed = try connection.all(
                """
                SELECT DISTINCT period FROM contributions WHERE folded < revision AND period > ?
                ORDER BY period LIMIT ?
                """, .integer(Int64(former)), .integer(Outbox.periodsAtOnce)
            ) { Int($0.integer(0)) }
            guard let first = changed.first else { return nil }
            var last = first
            for period in changed.dropFirst() where period == last + 1 { last = period }
            let merged = try aggregate(first...last) { try partialAggregates($0, connection) }
            let counts = try write(merged.days, of: reading, connection)
            try connection.run(
                "UPDATE contributions SET folded = revision WHERE period BETWEEN ? AND ?",
                .integer(Int64(first)), .integer(Int64(min(last, (merged.open ?? .max) - 1))))
            return (counts, last)
        }
    }

    private func partialAggregates(
        _ key: PartialAggregateKey, _ connection: Connection
    ) throws -> [[UInt8]] {
        try connection.all(
            "SELECT tag, sealed FROM contributions WHERE kind = ? AND period = ?",
            .text(key.kind.rawValue), .integer(Int64(key.period))
        ) { ($0.blob(0), $0.blob(1)) }
        .map { try cipher.open($0.1, for: row(key, $0.0)) }
    }

    private func write(
        _ days: [(sample: Sample, asOf: Instant)], of reading: Reading?, _ connection: Connection
    ) throws -> EnqueueCounts {
        guard !days.isEmpty else { return EnqueueCounts() }
        var portion = OutboxPortion()
        var encryption = PortionEncryption(cipher)
        portion.append(days, &encryption, Cipher.nonces(days.count), from: 0)
        return try write(portion, of: reading, connection)
    }

    private func row(_ key: PartialAggregateKey, _ blindIndex: [UInt8]) -> RowIdentity {
        let kind = key.kind.rawValue
        return RowIdentity("contributions", label: kind, kind, Int64(key.period), blindIndex)
    }
}

/// The time zone that the days of an account follow, as it is stored.
public struct DayZone: Hashable, Sendable {
    /// Its name in the tz database.
    public var name: String
    /// Whether the days follow it. An earlier release stored the machine's zone, although the days
    /// of a source with a `time_zone` of its own did not follow it.
    public var isSettled: Bool
}

// All days of an account follow one time zone. A day cut in another time zone is another day, and
// the backend would have both.

extension Outbox {
    /// Returns the stored time zone; `nil` if there is none or the stored one is damaged.
    public func dayZone() throws(HealthStoreError) -> DayZone? {
        try store.access { connection in try storedDayZone(connection) }
    }

    /// Settles the time zone unless one is settled already. It stays settled until
    /// `changeDayZone(to:)` or until everything of the user is removed.
    ///
    /// - Returns: the name that is settled.
    public func settleDayZone(_ name: String) throws(HealthStoreError) -> String {
        try store.change { connection in
            if let kept = try storedDayZone(connection), kept.isSettled { return kept.name }
            try settle(name, connection)
            return name
        }
    }

    /// Settles another time zone. The next reading of a source merges all days again in it.
    public func changeDayZone(to name: String) throws(HealthStoreError) {
        try store.change { connection in
            try settle(name, connection)
            try mergeAllDaysAgain(connection)
        }
    }

    /// Returns the start and end of each day in the outbox that is as long as a day of a time zone,
    /// in seconds since 1970.
    public func wholeDays() throws(HealthStoreError) -> [Range<Int64>] {
        try store.all(
            """
            SELECT start_s, end_s FROM outbox
            WHERE kind = ? AND as_of_s IS NOT NULL AND end_s - start_s BETWEEN ? AND ?
            """, .text(SampleKind.activity.rawValue),
            .integer(AggregateTime.dayLengths.lowerBound),
            .integer(AggregateTime.dayLengths.upperBound)
        ) { $0.integer(0)..<$0.integer(1) }
    }

    private func storedDayZone(_ connection: Connection) throws -> DayZone? {
        guard let form = try connection.openedValue(of: "day_zone", cipher) else { return nil }
        let isSettled = form.first == Outbox.settledMark
        return DayZone(
            name: String(decoding: form.dropFirst(isSettled ? 1 : 0), as: UTF8.self),
            isSettled: isSettled)
    }

    private func settle(_ name: String, _ connection: Connection) throws {
        try connection.write([Outbox.settledMark] + Array(name.utf8), to: "day_zone", cipher)
    }

    /// The byte before the name of a settled zone; no name begins with it.
    private static let settledMark: UInt8 = 1
}
