import HealthStore

// Totals that an app has made from records: a minute, an hour or a day of Health Auto Export.

extension DayFolding {
    /// Returns the records that take part in a day's merge.
    ///
    /// A total counts as a whole or not at all. It gives way if a better source that knows its
    /// whole time has a record in that time. A better source that knows only part of that time
    /// gives way to the total.
    static func judged(_ parts: [RankedPart], in day: LocalDay) -> [RankedPart] {
        let totals = parts.filter(\.isTotal)
        guard !totals.isEmpty else { return parts }
        var accepted = parts.filter { !$0.isTotal }
        for rank in Set(totals.map(\.rank)).sorted() {
            let better = Stretches(accepted.filter { $0.rank < rank }, in: day)
            for total in totals where total.rank == rank {
                let (start, end) = (total.part.start, min(total.part.end, day.end))
                switch better.asOf(overlapping: max(start, day.start), end) {
                case nil: accepted.append(total)
                case let asOf? where asOf >= end: break
                default:
                    var first = total
                    first.rank = -1
                    accepted.append(first)
                }
            }
            accepted.sort(by: RankedPart.comesBefore)
        }
        return accepted
    }

    /// The stretches of time with records; they do not overlap.
    private struct Stretches {
        private var stretches: [(start: Int64, end: Int64, asOf: Int64)] = []

        /// - Parameter parts: sorted by start.
        init(_ parts: [RankedPart], in day: LocalDay) {
            for part in parts {
                let start = max(part.part.start, day.start)
                let end = max(part.part.end, start + 1)
                if let last = stretches.last, start < last.end {
                    stretches[stretches.count - 1].end = max(last.end, end)
                    stretches[stretches.count - 1].asOf = max(last.asOf, part.asOf)
                } else {
                    stretches.append((start, end, part.asOf))
                }
            }
        }

        /// Returns the time as of which the records in a stretch are known; `nil` if there are
        /// none.
        func asOf(overlapping start: Int64, _ end: Int64) -> Int64? {
            var (low, high) = (0, stretches.count)
            while low < high {
                let middle = (low + high) / 2
                if stretches[middle].end <= start { low = middle + 1 } else { high = middle }
            }
            var asOf: Int64?
            while low < stretches.count, stretches[low].start < max(end, start + 1) {
                asOf = max(asOf ?? .min, stretches[low].asOf)
                low += 1
            }
            return asOf
        }
    }
}
