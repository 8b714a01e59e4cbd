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
        if let tag = row.tag {
            sources[tag, default: Source()].rows.append(row)
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
