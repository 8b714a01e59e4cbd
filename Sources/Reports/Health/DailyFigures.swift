import HealthStore
import HealthModel
import ClarityScheduler

/// The summary of a measure's values on one day.
struct DayFigure: Hashable {
    /// The date, in days since 1970-01-01.
    var day: Int
    /// The number of values.
    var count: Int
    var least: Double
    var most: Double
    var sum: Double

    var mean: Double { sum / Double(count) }

    /// Returns the value that stands for the day: the mean or the total.
    func value(of measure: Measure) -> Double { measure.summing == .mean ? mean : sum }

    fileprivate mutating func add(_ number: Double) {
        count += 1
        least = min(least, number)
        most = max(most, number)
        sum += number
    }

    fileprivate mutating func add(_ other: DayFigure) {
        count += other.count
        least = min(least, other.least)
        most = max(most, other.most)
        sum += other.sum
    }
}

/// Combines metrics day by day, in one time zone.
///
/// A value belongs to the day in which it begins, and a night or a nap to the day in which it ends.
/// A day's activity belongs to the day that contains its midpoint.
///
/// Two records are versions of the same day or night if they have the same start and end, or if
/// they overlap by more than half of the shorter one. Only one version counts: the one with the
/// later `asOf`, else the one with the larger amount. If a record covers the whole activity of a
/// day, its total is the day's total: single values of the same day are not added to it.
///
/// Averages and sums of the same time are versions too: those with the latest `asOf` count.
struct DailyFigures {
    /// What versions of a value for a time have in common.
    private struct Slot: Hashable {
        var start: Instant
        var end: Instant
        var measures: [Measure]
    }

    /// The shortest activity that counts as a whole day: 18 hours. The shortest day has 23 hours.
    private static let wholeDay = Duration.seconds(18 * 3600)
    /// Returns how long before a date a record of that date may begin.
    ///
    /// A night may begin on the day before, and in another time zone maybe a day earlier. A day of
    /// another time zone begins less than a day before.
    static func lead(of group: MetricGroup) -> Duration {
        switch group {
        case .sleep: .seconds(172_800)
        case .activity: .seconds(86_400)
        default: .zero
        }
    }

    private let group: MetricGroup
    private var days: LocalDays
    private var parts: [Measure: [Int: DayFigure]] = [:]
    private var wholes: [MetricRecord] = []
    private var versions: [Slot: [MetricRecord]] = [:]

    init(_ group: MetricGroup, in zone: Zone) {
        self.group = group
        days = LocalDays(zone: zone)
    }

    /// Returns the number of the day that contains an instant.
    mutating func number(at instant: Instant) -> Int {
        days.day(at: instant.secondsSince1970).number
    }

    /// Returns the start of a day.
    mutating func start(of number: Int) -> Instant {
        Instant(secondsSince1970: days.day(number).start)
    }

    /// Returns the number of the day that a record belongs to.
    mutating func day(of record: MetricRecord) -> Int {
        guard isWhole(record) else { return number(at: record.start) }
        return number(
            at: group == .sleep ? record.end : record.start + (record.end - record.start) / 2)
    }

    private func isWhole(_ record: MetricRecord) -> Bool {
        group == .sleep || group == .activity && record.end - record.start >= DailyFigures.wholeDay
    }

    mutating func add(_ record: MetricRecord) {
        guard !isWhole(record) else {
            wholes.append(record)
            return
        }
        guard let asOf = record.asOf else { return addPart(record) }
        let slot = Slot(
            start: record.start, end: record.end, measures: record.numbers.entries.map(\.measure))
        let known = versions[slot]?.first?.asOf ?? asOf
        guard known <= asOf else { return }
        versions[slot] = (known < asOf ? [] : versions[slot] ?? []) + [record]
    }

    private mutating func addPart(_ record: MetricRecord) {
        let day = number(at: record.start)
        for entry in record.numbers.entries {
            DailyFigures.add(entry.number, of: entry.measure, on: day, to: &parts)
        }
    }

    /// Returns the days of each measure in ascending order, without the days that have no value.
    mutating func figures() -> [Measure: [DayFigure]] {
        // In one order, because the sum of the same numbers depends on it.
        for record in versions.values.joined().sorted(by: {
            ($0.start, $0.end) < ($1.start, $1.end)
        }) {
            addPart(record)
        }
        versions = [:]
        var result: [Measure: [Int: DayFigure]] = [:]
        for record in DailyFigures.latest(of: wholes) {
            let day = day(of: record)
            for entry in record.numbers.entries {
                DailyFigures.add(entry.number, of: entry.measure, on: day, to: &result)
            }
        }
        for (measure, ofDays) in parts {
            for (day, figure) in ofDays {
                if let whole = result[measure]?[day] {
                    guard measure.summing == .mean else { continue }
                    var both = whole
                    both.add(figure)
                    result[measure]?[day] = both
                } else {
                    result[measure, default: [:]][day] = figure
                }
            }
        }
        return result.mapValues { $0.values.sorted { $0.day < $1.day } }
    }

    /// Returns the version that counts for each day or night.
    static func latest(of records: [MetricRecord]) -> [MetricRecord] {
        var kept: [MetricRecord] = []
        for record in records.sorted(by: { ($0.start, $0.end) < ($1.start, $1.end) }) {
            // Earlier records than the last eight cannot overlap this one.
            let near = kept.indices.suffix(8).first { record.isSame(as: kept[$0]) }
            guard let near else {
                kept.append(record)
                continue
            }
            if record.counts(before: kept[near]) { kept[near] = record }
        }
        return kept
    }

    private static func add(
        _ number: Double, of measure: Measure, on day: Int,
        to figures: inout [Measure: [Int: DayFigure]]
    ) {
        let new = DayFigure(day: day, count: 0, least: number, most: number, sum: 0)
        figures[measure, default: [:]][day, default: new].add(number)
    }
}

extension MetricRecord {
    /// Whether both records are versions of the same day or night.
    fileprivate func isSame(as other: MetricRecord) -> Bool {
        let common = min(end, other.end) - max(start, other.start)
        let shorter = min(end - start, other.end - other.start)
        return start == other.start && end == other.end || common > shorter / 2
    }

    /// Whether this version counts instead of `other`, a version of the same day or night.
    fileprivate func counts(before other: MetricRecord) -> Bool {
        if asOf != other.asOf {
            guard let asOf else { return false }
            return other.asOf.map { asOf > $0 } ?? true
        }
        return amount > other.amount
    }

    /// A number that grows while a day or a night goes on.
    private var amount: Double {
        numbers[.totalSleep] ?? numbers[.steps] ?? numbers[.activeEnergy] ?? numbers[.distance] ?? 0
    }
}
