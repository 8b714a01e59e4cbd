import HealthModel
import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Import

@Suite struct DayMergeTests {
    private let watch = FoldBench.watch
    private let phone = FoldBench.phone
    private let app = FoldBench.app

    @Test func `one record of the phone silences nothing but its own time`() {
        var bench = FoldBench()
        for minute in 0..<30 where minute != 10 {
            let start = "2024-01-15T08:\(minute < 10 ? "0" : "")\(minute):00Z"
            bench.add(.steps, 100, app, at: start, for: 60)
        }
        bench.add(.steps, 7, phone, at: "2024-01-15T08:10:00Z", for: 60)

        #expect(bench.days() == ["2024-01-15T00:00:00Z 24h 2907/-/-/-/-/-/-"])
    }

    @Test func `a lower source counts in the time that a better one leaves`() {
        var bench = FoldBench()
        bench.add(.steps, 60, watch, at: "2024-01-15T08:10:00Z", for: 600)
        bench.add(.steps, 300, phone, at: "2024-01-15T08:00:00Z", for: 1800)

        // The watch covers a third of the phone's time.
        #expect(bench.days() == ["2024-01-15T00:00:00Z 24h 260/-/-/-/-/-/-"])
    }

    @Test func `an instant counts unless a better source covers it`() {
        var bench = FoldBench()
        bench.add(.steps, 10, watch, at: "2024-01-15T08:00:00Z", for: 600)
        bench.add(.steps, 1, phone, at: "2024-01-15T08:00:00Z", for: 0)
        bench.add(.steps, 2, watch, at: "2024-01-15T08:05:00Z", for: 0)
        bench.add(.steps, 4, phone, at: "2024-01-15T08:10:00Z", for: 0)
        bench.add(.steps, 8, app, at: "2024-01-15T08:10:00Z", for: 0)
        bench.add(.steps, 16, phone, at: "2024-01-15T08:10:00Z", for: 60)

        #expect(bench.days() == ["2024-01-15T00:00:00Z 24h 32/-/-/-/-/-/-"])
    }

    @Test func `records of one source that overlap count once in their common time`() {
        var bench = FoldBench()
        bench.add(.steps, 100, watch, at: "2024-01-15T08:00:00Z", for: 600)
        bench.add(.steps, 80, watch, at: "2024-01-15T08:05:00Z", for: 600)
        bench.add(.steps, 80, watch, at: "2024-01-15T08:05:00Z", for: 600)
        bench.add(.steps, 50, watch, at: "2024-01-15T08:05:00Z", for: 300)

        #expect(bench.days() == ["2024-01-15T00:00:00Z 24h 140/-/-/-/-/-/-"])
    }

    @Test(arguments: TrialSeed.batches(of: 8, count: 2))
    func `days are those of an exact sweep over every boundary`(seeds: Range<UInt64>) {
        for seed in seeds {
            var generator = SeededGenerator(state: seed)
            let records = ExactSweep.records(&generator)
            var bench = FoldBench()
            for record in records {
                bench.add(
                    .steps, Double(record.steps), record.source,
                    at: Instant(secondsSince1970: record.start).description, for: record.length)
            }

            let days = bench.finish().samples.map { sample -> Int64 in
                guard case .activity(let day) = sample.value else { return -1 }
                return Int64(day.steps ?? -1)
            }

            let first = ExactSweep.days(records.filter { $0.source == watch })
            #expect(days == ExactSweep.days(records), "seed \(seed)")
            #expect(zip(days, first).allSatisfy { $0 >= $1 }, "seed \(seed)")
        }
    }
}

/// The merge by its definition, in integers: judges every interval between two boundaries by
/// itself. The length of every record divides `unit`, so a record's share is an integer.
enum ExactSweep {
    struct Record: Hashable {
        var source: Int
        var start: Int64
        var length: Int64
        var steps: Int64

        var end: Int64 { start + length }
    }

    /// 10 factorial.
    static let unit: Int64 = 3_628_800
    static let firstDay = seconds("2024-01-15T00:00:00Z")
    static let dayCount: Int64 = 4

    private static let lengths: [Int64] = [
        0, 0, 1, 7, 10, 45, 60, 60, 64, 225, 300, 600, 700, 900, 1800, 3600, 5670, 86_400, 259_200,
    ]

    static func records(_ generator: inout SeededGenerator) -> [Record] {
        var records: [Record] = []
        for _ in 0..<400 {
            let length = lengths[Int(generator.next() % UInt64(lengths.count))]
            // Long records are rare, because they would hide all others.
            guard length < 10_000 || generator.next() % 30 == 0 else { continue }
            let room = UInt64(dayCount * 86_400 - length)
            records.append(
                Record(
                    source: Int(generator.next() % 3),
                    start: firstDay + Int64(generator.next() % room) / 5 * 5, length: length,
                    steps: Int64(generator.next() % 400)))
            // Adds a copy, and a point at a boundary.
            if generator.next() % 10 == 0, let last = records.last { records.append(last) }
            if generator.next() % 10 == 0, let last = records.last {
                records.append(
                    Record(source: Int(generator.next() % 3), start: last.end, length: 0, steps: 3))
            }
        }
        records.shuffle(using: &generator)
        return records
    }

    /// Returns the steps of each day that has records; a half is rounded up.
    static func days(_ records: [Record]) -> [Int64] {
        (0..<dayCount).compactMap { number in
            let (start, end) = (firstDay + number * 86_400, firstDay + (number + 1) * 86_400)
            let ofDay = Set(records).filter {
                $0.start < end && ($0.end > start || $0.length == 0 && $0.start >= start)
            }
            guard !ofDay.isEmpty else { return nil }
            var sum = intervals(ofDay.filter { $0.length > 0 }, start, end)
            for point in ofDay where point.length == 0 {
                let isCovered = ofDay.contains { other in
                    other.source < point.source
                        && (other.start <= point.start && point.start < other.end
                            || other.length == 0 && other.start == point.start)
                }
                if !isCovered { sum += point.steps * unit }
            }
            return (2 * sum + unit) / (2 * unit)
        }
    }

    private static func intervals(_ records: Set<Record>, _ start: Int64, _ end: Int64) -> Int64 {
        var boundaries: Set<Int64> = [start, end]
        for record in records { boundaries.formUnion([record.start, record.end]) }
        let sorted = boundaries.filter { start...end ~= $0 }.sorted()
        var sum: Int64 = 0
        for (from, to) in zip(sorted, sorted.dropFirst()) {
            // The best source; of its records the one that began first; of those the longest.
            let best = records.filter { $0.start <= from && to <= $0.end }.min {
                ($0.source, $0.start, -$0.end, -$0.steps)
                    < ($1.source, $1.start, -$1.end, -$1.steps)
            }
            if let best { sum += best.steps * (to - from) * (unit / best.length) }
        }
        return sum
    }
}
