import HealthStore
import HealthModel
import ClarityScheduler
import ClarityTestSupport

@testable import Import

enum TestZones {
    static var london: Zone { get throws { try testZone("Europe/London", londonRule) } }
    static var newYork: Zone {
        get throws { try testZone("America/New_York", "EST5EDT,M3.2.0,M11.1.0") }
    }
    private static let londonRule = "GMT0BST,M3.5.0/1,M10.5.0"
}

/// Returns the seconds since 1970 of an instant such as `2024-01-15T08:00:00Z`.
func seconds(_ text: String) -> Int64 {
    guard let instant = Instant(rfc3339: text) else { preconditionFailure("no instant: \(text)") }
    return instant.secondsSince1970
}

/// Aggregates the records of a watch, a phone and an app.
struct FoldBench {
    static let names = ["Ada’s Apple\u{A0}Watch", "Ada’s iPhone", "Pedometer", ""]
    static let watch = 0
    static let phone = 1
    static let app = 2

    var aggregation: RecordAggregation
    private let zone: Zone

    init(_ zone: Zone = .utc, until: String = "2030-01-01T00:00:00Z", preferred: [String] = []) {
        self.zone = zone
        aggregation = RecordAggregation(
            AggregationRules(zone: zone, zoneNamed: { _ in nil }, preferred: preferred),
            now: seconds(until))
    }

    init(_ rules: AggregationRules, until: String = "2030-01-01T00:00:00Z") {
        zone = rules.zone
        aggregation = RecordAggregation(rules, now: seconds(until))
    }

    /// Adds a record of `length` seconds; returns why it is not taken.
    @discardableResult
    mutating func add(
        _ kind: SampleKind, _ value: Double, _ source: Int, at start: String, for length: Int64
    ) -> RecordRefusal? {
        let start = seconds(start)
        guard let quantity = DayQuantity(kind) else {
            preconditionFailure("\(kind) is not part of a day")
        }
        return aggregation.add(value, quantity, source: source, start: start, end: start + length)
    }

    /// Adds a stage of sleep.
    @discardableResult
    mutating func sleep(
        _ stage: SleepStage, _ source: Int, _ start: String, _ end: String, zone: String? = nil
    ) -> RecordRefusal? {
        let verdict = aggregation.add(
            stage, source: source, start: seconds(start), end: seconds(end))
        if let zone { aggregation.setZoneOfStage(zone) }
        return verdict
    }

    /// Adds the phone's own totals of a day.
    mutating func summarise(_ date: String, energy: Double? = nil, exercise: Double? = nil) {
        aggregation.summarise(
            day: Int(seconds("\(date)T00:00:00Z") / 86_400), energy: energy, exercise: exercise)
    }

    mutating func note(_ sort: SourceSort, of source: Int) { aggregation.note(sort, of: source) }

    mutating func exportDate(_ text: String) { aggregation.setExportDate(seconds(text)) }

    /// The natures with which the samples were returned.
    private(set) var natures: Set<SampleNature> = []

    /// What the aggregation produced.
    struct Outcome {
        var days = Days()
        var nights = SleepAggregation.Outcome()
        var steps: [StepDay] = []
        var copies: Int64 = 0
    }

    struct Days: Equatable {
        var made: Int64 = 0
        var unfinished: Int64 = 0
    }

    /// Finishes the aggregation, and returns its samples: days, and then nights.
    mutating func finish() -> (samples: [Sample], outcome: Outcome) {
        var nights: [Sample] = []
        var natures: Set<SampleNature> = []
        let found = aggregation.finish(names: FoldBench.names) { sample, nature in
            natures.insert(nature)
            nights.append(sample)
        }
        let merged = FoldBench.merged(found.days, in: zone)
        for day in merged.days {
            natures.insert(.aggregate(asOf: Instant(secondsSince1970: day.asOf)))
        }
        self.natures = natures
        let days = merged.days.map(\.sample)
        return (
            days + nights,
            Outcome(
                days: Days(made: Int64(days.count), unfinished: merged.unfinished),
                nights: found.nights, steps: found.steps, copies: found.copies)
        )
    }

    /// Returns the days of one source's records that have ended, and the number of the others.
    static func merged(
        _ records: DayRecords?, in zone: Zone
    ) -> (days: [DayAggregation.Day], unfinished: Int64) {
        let layers = records?.layers() ?? [:]
        var runs: [ClosedRange<Int>] = []
        for period in Set(layers.keys.map(\.period)).sorted() {
            if let last = runs.last, last.upperBound + 1 == period {
                runs[runs.count - 1] = last.lowerBound...period
            } else {
                runs.append(period...period)
            }
        }
        let days = runs.flatMap { run in
            DayMerge.days(run, in: zone) { key in
                layers[key].map { [PartialAggregate($0).bytes] } ?? []
            }
        }
        let over = days.filter { $0.asOf >= $0.bounds.end }
        return (over, Int64(days.count - over.count))
    }

    /// Finishes the aggregation, and returns samples such as
    /// `2024-01-15T00:00:00Z 24h 8012/5.12/-/-/-/-/-`.
    mutating func days() -> [String] { finish().samples.map(FoldBench.text) }

    static func text(_ sample: Sample) -> String {
        let hours = Double((sample.end - sample.start).components.seconds) / 3600
        let span = hours == hours.rounded() ? "\(Int(hours))h" : "\(hours)h"
        return "\(sample.start) \(span) \(sample.canonicalValue)"
    }
}

extension DayRecords {
    /// Returns the records by quantity and period.
    func layers() -> [PartialAggregateKey: PartialAggregate.Layer] {
        Dictionary(uniqueKeysWithValues: keys.map { ($0, layer($0)) }).compactMapValues { $0 }
    }
}
