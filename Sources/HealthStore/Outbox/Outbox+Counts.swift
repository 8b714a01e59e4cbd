import HealthModel
import Database

// The counts of rows (`RowCounts`), as far as samples or people are concerned.

extension Outbox {
    /// Counts the samples that were inserted after a row, which nothing else does.
    ///
    /// - Parameters:
    ///   - rows: what was to be inserted.
    ///   - added: how many of them were inserted; the others were there.
    func countInserted(
        _ rows: [OutboxPortion.Row], _ added: Int64, after last: Int64, _ connection: Connection
    ) throws {
        guard added > 0 else { return }
        let counts = RowCounts(connection: connection, cipher: cipher)
        guard added == rows.count else {
            return try counts.noteNew(of: .outbox, after: last)
        }
        // Samples mostly come by kind and time.
        var start = 0
        while start < rows.count {
            let (kind, month) = (rows[start].kind, CountedTable.month(of: rows[start].start))
            var (end, weight) = (start, Int64(0))
            while end < rows.count, rows[end].kind == kind,
                CountedTable.month(of: rows[end].start) == month
            {
                weight += rows[end].start
                end += 1
            }
            try counts.note(
                CountRow.Key(
                    place: CountedTable.outbox.name, type: kind.rawValue, month: month,
                    state: "queued"), Int64(end - start), weight)
            start = end
        }
    }

    /// Compares the counts of rows with the rows, and adds what differs to a proof: a line for each
    /// table, type and month.
    func proveCounts(_ proof: inout OutboxProof, _ connection: Connection) throws {
        let counts = try RowCounts(connection: connection, cipher: cipher).prove()
        for fault in counts.faults { proof.add(.counts, fault) }
        let months = Dictionary(grouping: counts.differences) { difference in
            CountedMonth(
                place: difference.key.place, type: difference.key.type, month: difference.key.month)
        }
        for (month, differences) in months.sorted(by: { $0.key < $1.key })
            .prefix(Outbox.findingLimit)
        {
            let states = differences.sorted { $0.key.state < $1.key.state }.map { key, numbers in
                let state = key.state.isEmpty ? "" : " \(key.state)"
                let doubt =
                    counts.changed.contains(key)
                    ? " by a count that was changed"
                    : numbers.got == numbers.wanted ? ", but they are others" : ""
                return "\(numbers.got)\(state), wanted \(numbers.wanted)\(doubt)"
            }
            proof.add(.counts, "\(month): got \(states.joined(separator: "; "))")
        }
        if months.count > Outbox.findingLimit {
            proof.add(.counts, "\(months.count - Outbox.findingLimit) further months differ")
        }
    }

    /// Takes the rows that are there as the right ones, and records that in the audit log.
    ///
    /// - Returns: what contradicted the counts; nothing has changed if that is empty.
    public func acceptRows() throws(HealthStoreError) -> [OutboxFinding] {
        try store.changeAnyway { connection in
            var proof = OutboxProof()
            try proveCounts(&proof, connection)
            guard !proof.findings.isEmpty else { return [] }
            try RowCounts(connection: connection, cipher: cipher).countAnew()
            try store.audit.record(
                .counted, ["contradictions": Int64(proof.findings.count)],
                detail: "the rows were taken as they are, by audit --repair", connection)
            return proof.findings
        }
    }
}

/// A table, and a type and month in it.
private struct CountedMonth: Hashable, Comparable {
    let place: String
    let type: String
    let month: Int64

    static func < (one: CountedMonth, other: CountedMonth) -> Bool {
        (one.place, one.type, one.month) < (other.place, other.type, other.month)
    }
}

extension CountedMonth: CustomStringConvertible {
    var description: String {
        let noun = CountedTable.all.first { $0.name == place }?.noun ?? place
        if type.isEmpty { return noun }
        if place == "contributions" {
            let day = CivilDay(daysSince1970: Int(clamping: month) &* 28)
            return "\(noun), \(type) in the four weeks from \(day)"
        }
        return "\(noun), \(TypeMonth(type: type, month: Int(clamping: month)))"
    }
}

/// Where every record that was ever read went, and every row that it left in the outbox. A record
/// that several readings of its source found counts once.
///
/// Three sums hold at every instant: of the records, of the days and nights made of them, and of
/// the rows. The ledger of readings and the states each give the number of rows independently.
public struct OutboxArithmetic: Hashable, Sendable {
    /// The counts of all readings together, with each record once.
    public var counts = ReadingCounts()
    public var reasons = ReadingReasons()
    /// How many readings there were.
    public var readings: Int64 = 0
    /// How many of them were cut short. What those did not bring in was read again, or will be.
    public var interrupted: Int64 = 0
    /// How many are in progress, or were when their process ended.
    public var open: Int64 = 0
    /// The rows by their states.
    public var account = OutboxCounts()
    public var doubled = DoubledSamples()
    /// The samples that wait for a person.
    public var review: [OutboxReviewEntry] = []

    /// Creates empty sums.
    public init() {}

    /// Whether all three sums hold.
    public var isBalanced: Bool {
        counts.isBalanced && account.isBalanced && counts.rows == account.total
    }
}

/// The samples that the backend may have stored more than once.
public struct DoubledSamples: Hashable, Sendable {
    /// How many samples.
    public var samples: Int64 = 0
    /// The most surplus copies that there may be.
    public var copies: Int64 = 0

    /// Creates empty counts.
    public init() {}
}

extension Outbox {
    /// Returns all sums, counted in one snapshot.
    public func arithmetic() throws(HealthStoreError) -> OutboxArithmetic {
        try store.snapshot { connection in
            var sums = OutboxArithmetic()
            var distinct = DistinctRecords()
            for row in try ledgerRows(connection) {
                distinct.add(row)
                sums.readings += row.readings
                sums.interrupted += row.interrupted
                if row.state == "open" { sums.open += 1 }
            }
            (sums.counts, sums.reasons) = (distinct.counts, distinct.reasons)
            sums.account = try counts(connection)
            sums.doubled = try doubled(connection)
            sums.review = try review(connection)
            return sums
        }
    }

    /// Counts the samples that the backend may have stored more than once, because an unanswered
    /// send was followed by another send.
    ///
    /// The backend has an accepted sample once, and at most once more for each other send. It has
    /// any other sample at most as often as the sample was sent without an answer.
    public func possiblyDoubled() throws(HealthStoreError) -> DoubledSamples {
        try store.access { connection in try doubled(connection) }
    }

    func doubled(_ connection: Connection) throws -> DoubledSamples {
        let found = try connection.first(
            """
            SELECT count(*), coalesce(sum(extra), 0) FROM (
                SELECT doubts
                    - iif(state IN ('accepted', 'confirmed', 'stored', 'unconfirmed'), 0, 1) AS extra
                FROM samples WHERE doubts > 0 AND state <> 'sending'
                UNION ALL
                SELECT doubts + sends - 1
                FROM outbox JOIN batches ON batch_id = batches.id
                WHERE batches.state = 'sending' AND outbox.state = 'batched'
            ) AS sends WHERE extra > 0
            """
        ) { ($0.integer(0), $0.integer(1)) }
        var doubled = DoubledSamples()
        (doubled.samples, doubled.copies) = found ?? (0, 0)
        return doubled
    }
}

/// The counts of several readings, in which each record of a source counts once however often the
/// source was read.
///
/// Of the readings of one source, the one that found the most records says what it has, and the
/// latest of equal ones; one that ended precedes one that was cut short. What that reading knew
/// because an earlier reading of the source had queued it counts as queued alone. Everything that
/// came into the outbox, or left it, counts from every reading.
struct DistinctRecords {
    private struct Source {
        var rows: [LedgerRow] = []

        /// The index of the reading that says what the source has.
        var whole: Int {
            func rank(_ row: LedgerRow) -> (Int, Int64, Int64) {
                (["ended", "sum"].contains(row.state) ? 1 : 0, row.counts[.read], row.id)
            }
            return rows.indices.max { rank(rows[$0]) < rank(rows[$1]) } ?? 0
        }
    }

    /// The counts of what is in no source of its own.
    private var others = ReadingCounts()
    private var otherReasons = ReadingReasons()
    private var sources: [[UInt8]: Source] = [:]

    /// Adds an entry of the ledger; the entries of one source come in their order.
    mutating func add(_ row: LedgerRow) {
        if let blindIndex = row.blindIndex {
            sources[blindIndex, default: Source()].rows.append(row)
        } else {
            others += row.counts
            otherReasons += row.reasons ?? ReadingReasons()
        }
    }

    var counts: ReadingCounts {
        sources.values.reduce(into: others) { $0 += DistinctRecords.counts(of: $1) }
    }

    var reasons: ReadingReasons {
        sources.values.reduce(into: otherReasons) { reasons, source in
            reasons += source.rows[source.whole].reasons ?? ReadingReasons()
        }
    }

    private static func counts(of source: Source) -> ReadingCounts {
        let whole = source.whole
        var counts = ReadingCounts()
        // An entry whose sums do not hold must not make sums that do.
        var (unexplained, unexplainedMade): (Int64, Int64) = (0, 0)
        var earlier = ReadingCounts()
        for (index, row) in source.rows.enumerated() {
            for name in ReadingCounts.ofRows { counts[name] += row.counts[name] }
            if index < whole { earlier += row.counts }
            unexplained += row.counts[.read] - row.counts.sum(ReadingCounts.ofRead)
            unexplainedMade += row.counts[.made] - row.counts.sum(ReadingCounts.ofMade)
        }
        let last = source.rows[whole].counts
        for name in ReadingCounts.ofNothing { counts[name] = last[name] }
        counts[.known] = max(0, last[.known] - earlier[.queued])
        counts[.madeKnown] = max(
            0, last[.madeKnown] - earlier.sum([.madeQueued, .madeReplaced, .madeCorrected]))
        counts[.read] = counts.sum(ReadingCounts.ofRead) + unexplained
        counts[.made] = counts.sum(ReadingCounts.ofMade) + unexplainedMade
        return counts
    }
}
