import HealthStore
import HealthModel
import ClarityScheduler

/// Makes days from records, whatever sources they come from.
///
/// A day's sum does not depend on the order of the records, because the shares of a record are
/// whole multiples of 2^-20 of its unit. The sum differs from the exact one by less than a
/// millionth of that unit for each of its stretches, and is rounded once.
struct DayAggregation {
    /// The records of one quantity that touch a period.
    struct Period {
        /// Sorted by `RankedPart.comesBefore`.
        var parts: [RankedPart] = []
        /// The phone's own totals by day number, which take precedence over sums.
        var totals: [Int: Total] = [:]
    }

    /// A day's total, in the quantity's whole numbers.
    struct Total: Hashable {
        var amount: Int64
        var asOf: Int64
    }

    /// A day, and what is known of it.
    struct Day: Equatable {
        var bounds: LocalDay
        var activity = ActivityDay()
        /// The latest instant as of which a source of its records was complete.
        var asOf = Int64.min
    }

    private static let half: Int64 = 1 << 19
    /// Added so that a half still rounds up after the rounding of its shares has made it smaller.
    private static let tolerance: Int64 = 1 << 10

    var days: LocalDays
    /// A day with totals of an app is complete if it has ended by this time, in seconds since 1970.
    var now = Int64.min

    /// Returns the days that touch `periods` and have records, in order.
    ///
    /// - Parameter load: returns the records of a quantity that touch a period; it is also called
    ///   for the period before and the one after.
    mutating func aggregate(
        _ periods: ClosedRange<Int>, _ load: (DayQuantity, Int) throws -> Period
    ) rethrows -> [Day] {
        let now = now
        let first = days.day(at: Int64(periods.lowerBound) * DayParts.period).number
        let last = days.day(at: Int64(periods.upperBound + 1) * DayParts.period - 1).number
        var found: [Int: Day] = [:]
        for quantity in DayQuantity.all {
            var totals: [Int: Total] = [:]
            var values: [(day: LocalDay, value: Double, asOf: Int64)] = []
            try eachDay(first...last) { period in
                let loaded = try load(quantity, period)
                totals.merge(loaded.totals) { $0.amount >= $1.amount ? $0 : $1 }
                return loaded.parts
            } _: { day, parts in
                let counting = parts.filter { !$0.givesWay }
                if let value = DayAggregation.value(of: quantity, counting, day) {
                    // Include records that give way: a day that was made from them is older than
                    // this one.
                    var asOf = parts.lazy.map(\.asOf).max() ?? .min
                    // A file with the totals of today may be the only one that ever has them.
                    if now >= day.end, parts.contains(where: \.isTotal) {
                        asOf = max(asOf, day.end)
                    }
                    values.append((day, value, asOf))
                }
            }
            let counted = Set(values.lazy.filter { $0.value > 0 }.map(\.day.number))
            for (number, total) in totals where first...last ~= number {
                // The phone may not know what others have recorded.
                if total.amount == 0, counted.contains(number) { continue }
                let value = Double(total.amount) / quantity.scale
                values.append((days.day(number), value, total.asOf))
            }
            for (day, value, asOf) in values {
                var made = found[day.number] ?? Day(bounds: day)
                // A value whose sources ended before the day did is left out.
                if asOf >= day.end {
                    made.activity[quantity.kind] = value
                    made.asOf = max(made.asOf, asOf)
                }
                found[day.number] = made
            }
        }
        return found.values.filter { $0.bounds.start < $0.bounds.end }
            .sorted { $0.bounds.number < $1.bounds.number }
    }

    /// Calls `each` for each day that has records, with the records that touch it.
    mutating func eachDay(
        _ numbers: ClosedRange<Int>, _ load: (Int) throws -> [RankedPart],
        _ each: (LocalDay, [RankedPart]) throws -> Void
    ) rethrows {
        var day = days.day(numbers.lowerBound)
        let periods =
            DayParts.period(
                of: day.start)...DayParts.period(
                of: days.day(numbers.upperBound).end)
        var pending: [RankedPart] = []
        for period in periods {
            let begin = Int64(period) * DayParts.period
            let loaded = try load(period)
            // Records that began earlier are already pending.
            pending +=
                period == periods.lowerBound
                ? loaded : loaded.filter { $0.part.start >= begin }
            let isLast = period == periods.upperBound
            var next = 0
            var going: [RankedPart] = []
            while day.number <= numbers.upperBound,
                isLast || day.end <= begin + DayParts.period
            {
                var parts = going
                while next < pending.count, pending[next].part.start < day.end {
                    let part = pending[next].part
                    if part.end > day.start || part.start >= day.start {
                        parts.append(pending[next])
                    }
                    next += 1
                }
                if !parts.isEmpty { try each(day, parts) }
                going = parts.filter { $0.part.end > day.end }
                day = days.day(day.number + 1)
            }
            pending = going + pending[next...]
        }
    }

    /// Returns the value of the records in a day; `nil` if none of them counts in it.
    private static func value(
        of quantity: DayQuantity, _ parts: [RankedPart], _ day: LocalDay
    ) -> Double? {
        guard day.start < day.end else { return nil }
        if quantity.hasNoSum {
            let chosen = parts.lazy.filter { $0.part.start >= day.start }.max { a, b in
                (b.rank, a.part.end, a.part.start, a.part.amount)
                    < (a.rank, b.part.end, b.part.start, b.part.amount)
            }
            return chosen.map { Double($0.part.amount) / quantity.scale }
        }
        var sum: Int64 = 0
        DaySweep.run(parts, in: day.start..<day.end) { part, from, to in
            let share =
                part.isInstant
                ? part.amount << 20 : part.amount(before: to) - part.amount(before: from)
            let (total, isTooLarge) = sum.addingReportingOverflow(share)
            sum = isTooLarge ? .max - half * 1000 : total
        }
        // Steps are whole; a fraction is from a record that two days share.
        if quantity.isCount { return Double((sum + 100 * half + tolerance) / (200 * half)) }
        return Double((sum + half + tolerance) >> 20) / quantity.scale
    }
}

// Totals that an app has made from records: a minute, an hour or a day of Health Auto Export.

extension DayAggregation {
    /// Returns the records with the note which totals give way.
    ///
    /// A total counts as a whole or not at all, in whatever days it lies. It gives way if a better
    /// source that knows its whole time has a record in that time. A better source that knows only
    /// part of that time gives way to the total.
    ///
    /// - Parameter parts: sorted by `RankedPart.comesBefore`, as is the result.
    static func judged(_ parts: [RankedPart]) -> [RankedPart] {
        let totals = parts.filter(\.isTotal)
        guard !totals.isEmpty else { return parts }
        var accepted = parts.filter { !$0.isTotal }
        var rest: [RankedPart] = []
        for rank in Set(totals.map(\.rank)).sorted() {
            let better = Stretches(accepted.filter { $0.rank < rank })
            for var total in totals where total.rank == rank {
                switch better.asOf(overlapping: total.part.start, total.part.end) {
                case nil: accepted.append(total)
                case let asOf? where asOf >= total.part.end:
                    total.givesWay = true
                    rest.append(total)
                default:
                    total.rank = -1
                    accepted.append(total)
                }
            }
            accepted.sort(by: RankedPart.comesBefore)
        }
        return (accepted + rest).sorted(by: RankedPart.comesBefore)
    }

    /// The stretches of time with records; they do not overlap.
    private struct Stretches {
        private var stretches: [(start: Int64, end: Int64, asOf: Int64)] = []

        /// - Parameter parts: sorted by start.
        init(_ parts: [RankedPart]) {
            for part in parts {
                let start = part.part.start
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
            let first = stretches.endOfPrefix { $0.end <= start }
            return stretches[first...].prefix { $0.start < max(end, start + 1) }.map(\.asOf).max()
        }
    }
}

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
