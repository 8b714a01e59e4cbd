/// A record with the rank of its source, for the merge.
struct RankedPart: Hashable {
    var part: DayPart
    /// The position of its source in the ranking; the smaller one wins.
    var rank: Int
    /// When its source was complete, in seconds since 1970.
    var asOf: Int64
    /// Whether an app made it from other records.
    var isTotal = false
    /// Whether it is such a one and counts nowhere, because better records have its time.
    var givesWay = false

    /// Orders by start, intervals before instants, the best source first.
    static func comesBefore(_ a: RankedPart, _ b: RankedPart) -> Bool {
        if a.part.start != b.part.start { return a.part.start < b.part.start }
        if a.part.isInstant != b.part.isInstant { return b.part.isInstant }
        return a.rank != b.rank ? a.rank < b.rank : a.part < b.part
    }
}

/// Merges the records of one quantity.
///
/// Each record's amount is spread evenly over its time. At each instant one record counts: that of
/// the first-ranked source that covers it. Within one source, it is the record that began first,
/// and of those the longest. A record without a length counts unless a better source covers its
/// instant.
struct DaySweep {
    /// The records that cover the current instant, as a binary heap with the one that counts on
    /// top.
    private var open: [RankedPart] = []
    private var time: Int64

    /// Calls `count` for each stretch of time in which a record counts; for an instant, both times
    /// are the same.
    ///
    /// - Parameter parts: the records, sorted by `RankedPart.comesBefore`; those that began before
    ///   `span` come first.
    static func run(
        _ parts: some Sequence<RankedPart>, in span: Range<Int64>,
        _ count: (DayPart, _ from: Int64, _ to: Int64) -> Void
    ) {
        var sweep = DaySweep(time: span.lowerBound)
        var lastInstant: (time: Int64, rank: Int)?
        for part in parts {
            let start = max(part.part.start, span.lowerBound)
            guard start < span.upperBound else { continue }
            sweep.advance(to: start, count)
            guard part.part.isInstant else {
                if part.part.end > start { sweep.push(part) }
                continue
            }
            guard part.part.start == start else { continue }
            while let top = sweep.open.first, top.part.end <= start { sweep.pop() }
            if let top = sweep.open.first, top.rank < part.rank { continue }
            if let last = lastInstant, last.time == start, last.rank < part.rank { continue }
            lastInstant = (start, part.rank)
            count(part.part, start, start)
        }
        sweep.advance(to: span.upperBound, count)
    }

    private init(time: Int64) { self.time = time }

    private mutating func advance(
        to limit: Int64, _ count: (DayPart, _ from: Int64, _ to: Int64) -> Void
    ) {
        while time < limit, let top = open.first {
            let end = min(top.part.end, limit)
            if time < end {
                count(top.part, time, end)
                time = end
            }
            if top.part.end <= time { pop() }
        }
        time = max(time, limit)
    }

    private static func isAbove(_ a: RankedPart, _ b: RankedPart) -> Bool {
        a.rank != b.rank ? a.rank < b.rank : a.part < b.part
    }

    private mutating func push(_ part: RankedPart) {
        open.append(part)
        var place = open.count - 1
        while place > 0, DaySweep.isAbove(open[place], open[(place - 1) / 2]) {
            open.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func pop() {
        open.swapAt(0, open.count - 1)
        open.removeLast()
        var place = 0
        while true {
            var best = place
            for child in [2 * place + 1, 2 * place + 2] where child < open.count {
                if DaySweep.isAbove(open[child], open[best]) { best = child }
            }
            if best == place { return }
            open.swapAt(place, best)
            place = best
        }
    }
}
