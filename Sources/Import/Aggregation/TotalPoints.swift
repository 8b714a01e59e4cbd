import HealthStore
import ClarityScheduler

/// A total that an app has made of records: a point of Health Auto Export.
struct TotalPoint: Hashable {
    var part: RankedPart
    /// The place of its source entry among those that are known.
    var entry = 0
    /// Whether its file has no other time of the metric, so that it may be shorter than it seems.
    var isLone = false

    fileprivate var start: Int64 { part.part.start }
    fileprivate var end: Int64 { part.part.end }

    /// Whether a total of a file as late or earlier is the same one: more than half of the shorter
    /// one lies in both.
    fileprivate func replaces(_ other: TotalPoint) -> Bool {
        let isSameTime = start == other.start && end == other.end
        guard part.asOf > other.part.asOf else { return isSameTime && entry != other.entry }
        if isSameTime { return true }
        guard part.part.grid != nil else { return false }
        let common = min(end, other.end) - max(start, other.start)
        return 2 * common > min(end - start, other.end - other.start)
    }
}

/// Decides which totals of a quantity count, from all that are known of it.
///
/// | totals | what counts |
/// |---|---|
/// | of the same time, in several files | that of the latest file; of several written in the same second, the largest |
/// | of the same length, which overlap by half or less, as when the phone travels | both; the first one ends where the second one begins |
/// | a day and its hours, or an hour and its minutes | the larger: the total, or the sum of the shorter ones |
/// | the same, where the file of the longer one has no other time | the longer one is the first of the shorter ones, unless it comes to what two or more of them add up to |
struct TotalPoints {
    private let quantity: DayQuantity
    /// The totals that count so far, sorted by start.
    private var kept: [TotalPoint] = []

    /// Returns the totals that count, sorted by start.
    static func resolved(_ points: [TotalPoint], _ quantity: DayQuantity) -> [RankedPart] {
        var totals = TotalPoints(quantity: quantity)
        let groups = Dictionary(grouping: points) { $0.part.part.grid ?? 0 }
        // The shortest first, so that an hour is settled before its day.
        for (grid, points) in groups.sorted(by: { $0.key < $1.key }) {
            let latest = TotalPoints.latest(points, grid)
            totals.add(grid == 0 ? latest : TotalPoints.clipped(latest))
        }
        return totals.kept.map(\.part)
    }

    private init(quantity: DayQuantity) { self.quantity = quantity }

    /// Returns the totals that no later file has another value of, sorted by start.
    private static func latest(_ points: [TotalPoint], _ grid: Int64) -> [TotalPoint] {
        let width = max(grid, 1)
        var slots: [Int64: [TotalPoint]] = [:]
        var latest: [TotalPoint] = []
        let order = points.sorted {
            ($0.part.asOf, $0.part.part.amount) > ($1.part.asOf, $1.part.part.amount)
        }
        for point in order {
            let slot = LocalDays.quotient(point.start, width)
            let isReplaced = (slot - 1...slot + 1).contains { slot in
                slots[slot]?.contains { $0.replaces(point) } ?? false
            }
            if isReplaced { continue }
            slots[slot, default: []].append(point)
            latest.append(point)
        }
        return latest.sorted { RankedPart.comesBefore($0.part, $1.part) }
    }

    /// Ends each total where the next one begins.
    private static func clipped(_ points: [TotalPoint]) -> [TotalPoint] {
        var points = points
        var (next, last) = (Int64.max, Int64.max)
        for place in points.indices.reversed() {
            let start = points[place].start
            if start < last { (next, last) = (last, start) }
            points[place].part.part.end = min(points[place].end, next)
        }
        return points
    }

    /// Adds totals that are longer than all that were added before.
    private mutating func add(_ points: [TotalPoint]) {
        var added: [TotalPoint] = []
        var dropped: Set<Int> = []
        for point in points {
            let inner =
                point.part.part.grid == nil
                ? [] : places(from: point.start, to: point.end).filter { !dropped.contains($0) }
            guard let first = inner.first else {
                added.append(point)
                continue
            }
            let shorter = inner.map { kept[$0] }
            if point.isLone, isFirst(point, of: shorter) {
                var part = point
                part.part.part.end = min(
                    point.start + kept[first].end - kept[first].start, point.end)
                let same = inner.filter { kept[$0].start == point.start }
                guard same.allSatisfy({ kept[$0].part.asOf < point.part.asOf }) else { continue }
                dropped.formUnion(same)
                added.append(part)
            } else if counts(point, against: shorter) {
                dropped.formUnion(inner)
                added.append(point)
            }
        }
        kept = (kept.indices.filter { !dropped.contains($0) }.map { kept[$0] } + added)
            .sorted { RankedPart.comesBefore($0.part, $1.part) }
    }

    /// Whether a total is the first of the shorter ones, and not their sum.
    private func isFirst(_ point: TotalPoint, of shorter: [TotalPoint]) -> Bool {
        quantity.hasNoSum || shorter.count == 1
            || point.part.part.amount < TotalPoints.sum(shorter) / 10 * 9
    }

    private func counts(_ point: TotalPoint, against shorter: [TotalPoint]) -> Bool {
        quantity.hasNoSum
            ? shorter.allSatisfy { $0.part.asOf <= point.part.asOf }
            : point.part.part.amount >= TotalPoints.sum(shorter)
    }

    private static func sum(_ points: [TotalPoint]) -> Int64 {
        points.reduce(0) { $0 + $1.part.part.amount }
    }

    /// Returns the indices in `kept` of the totals that start in a range of time.
    private func places(from start: Int64, to end: Int64) -> Range<Int> {
        let first = kept.endOfPrefix { $0.start < start }
        return first..<max(first, kept.endOfPrefix { $0.start < end })
    }
}

extension DayPart {
    /// The length in seconds of the totals among which it is one: a day, an hour or a minute; `nil`
    /// for any other record, which nothing says to be a total of a span of time.
    var grid: Int64? {
        switch end - start {
        case 43_200...93_600: 86_400
        case 3600 where start.isMultiple(of: 900): 3600
        case 60 where start.isMultiple(of: 60): 60
        default: nil
        }
    }
}
