import HealthModel
import ClarityScheduler
import Testing

@testable import Import

@Suite struct DayAggregationTests {
    private let watch = FoldBench.watch
    private let phone = FoldBench.phone
    private let app = FoldBench.app

    @Test func `records of a day become one sample of it`() {
        var bench = FoldBench()
        bench.add(.steps, 1000, watch, at: "2024-01-15T08:00:00Z", for: 600)
        bench.add(.steps, 500, watch, at: "2024-01-15T23:50:00Z", for: 599)
        bench.add(.distance, 1.5, watch, at: "2024-01-15T08:00:00Z", for: 600)
        bench.add(.activeEnergy, 30.25, watch, at: "2024-01-15T08:00:00Z", for: 600)
        bench.add(.exerciseMinutes, 1, watch, at: "2024-01-15T08:00:00Z", for: 60)
        bench.add(.exerciseMinutes, 1, watch, at: "2024-01-15T08:01:00Z", for: 60)
        bench.add(.flightsClimbed, 3, watch, at: "2024-01-15T08:00:00Z", for: 60)
        bench.add(.vo2Max, 43.2, watch, at: "2024-01-15T08:00:00Z", for: 0)
        bench.add(.restingHeartRate, 58, watch, at: "2024-01-15T00:00:00Z", for: 86_000)
        bench.add(.steps, 7, watch, at: "2024-01-16T00:00:00Z", for: 60)

        let (samples, outcome) = bench.finish()

        #expect(
            samples.map(FoldBench.text) == [
                "2024-01-15T00:00:00Z 24h 1500/1.50/30/2/3/43.20/58.0",
                "2024-01-16T00:00:00Z 24h 7/-/-/-/-/-/-",
            ])
        #expect(outcome.days == FoldBench.Days(made: 2, unfinished: 0))
        #expect(samples.allSatisfy { $0.kind == .activity && $0.source == nil })
        guard case .activity(let day) = samples.first?.value else { return }
        #expect(day.activeEnergy == 30.25 && day.distance == 1.5)
    }

    @Test func `a record over midnight is shared between its days`() {
        var bench = FoldBench()
        bench.add(.activeEnergy, 90, watch, at: "2024-01-15T23:40:00Z", for: 3600)

        #expect(
            bench.days() == [
                "2024-01-15T00:00:00Z 24h -/-/30/-/-/-/-",
                "2024-01-16T00:00:00Z 24h -/-/60/-/-/-/-",
            ])
    }

    @Test func `the parts of a record add up to it`() {
        var bench = FoldBench()
        bench.add(.distance, 10.000001, watch, at: "2024-01-15T07:13:07Z", for: 345_600)

        let values = bench.finish().samples.map { sample -> Double in
            guard case .activity(let day) = sample.value else { return 0 }
            return day.distance ?? 0
        }

        #expect(values.count == 5)
        #expect((values.reduce(0, +) * 1e6).rounded() == 10_000_001)
    }

    @Test func `the day on which clocks go forward has 23 hours, the one back 25`() throws {
        var bench = FoldBench(try TestZones.london)
        bench.add(.steps, 1, watch, at: "2024-03-31T00:00:00Z", for: 60)
        bench.add(.steps, 2, watch, at: "2024-03-31T22:59:00Z", for: 60)
        bench.add(.steps, 4, watch, at: "2024-03-31T23:00:00Z", for: 60)
        bench.add(.steps, 10, watch, at: "2024-10-26T23:00:00Z", for: 60)
        bench.add(.steps, 20, watch, at: "2024-10-27T23:59:00Z", for: 60)
        bench.add(.steps, 40, phone, at: "2024-10-27T23:00:00Z", for: 60)
        bench.add(.steps, 80, watch, at: "2024-10-28T00:00:00Z", for: 60)

        #expect(
            bench.days() == [
                "2024-03-31T00:00:00Z 23h 3/-/-/-/-/-/-",
                "2024-03-31T23:00:00Z 24h 4/-/-/-/-/-/-",
                "2024-10-26T23:00:00Z 25h 70/-/-/-/-/-/-",
                "2024-10-28T00:00:00Z 24h 80/-/-/-/-/-/-",
            ])
    }

    @Test func `a preferred source counts before a watch`() {
        var bench = FoldBench(preferred: ["PEDOMETER", "ada's apple watch"])
        bench.add(.steps, 1, watch, at: "2024-01-15T08:00:00Z", for: 60)
        bench.add(.steps, 2, phone, at: "2024-01-15T08:00:00Z", for: 60)
        bench.add(.steps, 4, app, at: "2024-01-15T08:00:00Z", for: 60)

        #expect(bench.days() == ["2024-01-15T00:00:00Z 24h 4/-/-/-/-/-/-"])
    }

    @Test func `what the device of any record says of a source counts for all of them`() {
        var bench = FoldBench()
        bench.add(.steps, 1, phone, at: "2024-01-15T08:00:00Z", for: 60)
        bench.add(.steps, 4, app, at: "2024-01-15T08:00:00Z", for: 60)
        bench.note(.other, of: app)
        bench.note(.watch, of: app)
        bench.note(.phone, of: app)

        #expect(bench.days() == ["2024-01-15T00:00:00Z 24h 4/-/-/-/-/-/-"])
    }

    @Test func `exact copies count once, however far apart they are`() {
        var bench = FoldBench()
        bench.add(.steps, 7, watch, at: "2024-01-15T08:00:00Z", for: 60)
        bench.add(.vo2Max, 40, watch, at: "2024-01-15T08:00:00Z", for: 0)
        // This record lasts from one period of four weeks into the next.
        bench.add(.steps, 300, watch, at: "2024-02-13T00:00:00Z", for: 4 * 86_400)
        for _ in 0..<2 {
            bench.add(.steps, 7, watch, at: "2024-01-15T08:00:00Z", for: 60)
            bench.add(.steps, 7, watch, at: "2024-01-15T09:00:00Z", for: 60)
            bench.add(.steps, 8, watch, at: "2024-01-15T10:00:00Z", for: 60)
            bench.add(.vo2Max, 40, watch, at: "2024-01-15T08:00:00Z", for: 0)
            bench.add(.steps, 300, watch, at: "2024-02-13T00:00:00Z", for: 4 * 86_400)
        }

        let (samples, outcome) = bench.finish()

        #expect(
            samples.map(FoldBench.text) == ["2024-01-15T00:00:00Z 24h 22/-/-/-/-/40.00/-"]
                + (13...16).map { "2024-02-\($0)T00:00:00Z 24h 75/-/-/-/-/-/-" })
        #expect(outcome.copies == 8)
    }

    @Test func `the phone's own totals come before sums, and a zero only beside another total`() {
        var bench = FoldBench()
        for date in ["2024-01-15", "2024-01-16", "2024-01-17"] {
            bench.add(.activeEnergy, 100, watch, at: "\(date)T08:00:00Z", for: 60)
            bench.add(.exerciseMinutes, 10, watch, at: "\(date)T08:00:00Z", for: 600)
        }
        bench.summarise("2024-01-15", energy: 312.4, exercise: 0)
        bench.summarise("2024-01-16", energy: 0, exercise: 41)
        bench.summarise("2024-01-16", energy: 200, exercise: 40)
        bench.summarise("2024-01-17", energy: -5, exercise: .nan)
        bench.summarise("2024-01-18", energy: 50)
        bench.summarise("2024-01-19", energy: 0, exercise: 0)
        bench.summarise("2024-01-20", energy: 300, exercise: 0)

        #expect(
            bench.days() == [
                "2024-01-15T00:00:00Z 24h -/-/312/10/-/-/-",
                "2024-01-16T00:00:00Z 24h -/-/200/41/-/-/-",
                "2024-01-17T00:00:00Z 24h -/-/100/10/-/-/-",
                "2024-01-18T00:00:00Z 24h -/-/50/-/-/-/-",
                "2024-01-20T00:00:00Z 24h -/-/300/0/-/-/-",
            ])
    }

    @Test func `a summary's date is one of the configured zone`() throws {
        var bench = FoldBench(try TestZones.newYork)
        bench.summarise("2024-01-15", energy: 50)

        #expect(bench.days() == ["2024-01-15T05:00:00Z 24h -/-/50/-/-/-/-"])
    }

    @Test func `a day that had not ended is not handed over`() {
        var bench = FoldBench(until: "2024-06-01T00:00:00Z")
        bench.exportDate("2024-01-16T00:00:00Z")
        bench.exportDate("2024-03-01T00:00:00Z")
        bench.add(.steps, 1, watch, at: "2024-01-15T08:00:00Z", for: 60)
        bench.add(.steps, 2, watch, at: "2024-01-16T08:00:00Z", for: 60)

        let (samples, outcome) = bench.finish()

        #expect(samples.map(FoldBench.text) == ["2024-01-15T00:00:00Z 24h 1/-/-/-/-/-/-"])
        #expect(outcome.days == FoldBench.Days(made: 1, unfinished: 1))
        #expect(bench.natures == [.aggregate(asOf: Instant(secondsSince1970: 1_705_363_200))])
    }

    @Test func `an export from the future ends now`() {
        var bench = FoldBench(until: "2024-01-15T20:00:00Z")
        bench.exportDate("2099-01-01T00:00:00Z")
        bench.add(.steps, 1, watch, at: "2024-01-15T08:00:00Z", for: 60)

        #expect(bench.finish().outcome.days == FoldBench.Days(made: 0, unfinished: 1))
    }

    @Test func `of a value that is known once a day the last of the best source counts`() {
        var bench = FoldBench()
        bench.add(.restingHeartRate, 60, watch, at: "2024-01-15T00:00:00Z", for: 40_000)
        bench.add(.restingHeartRate, 58, watch, at: "2024-01-15T00:00:00Z", for: 80_000)
        bench.add(.restingHeartRate, 61, watch, at: "2024-01-15T00:00:00Z", for: 60_000)
        bench.add(.restingHeartRate, 70, app, at: "2024-01-15T00:00:00Z", for: 86_000)
        bench.add(.vo2Max, 41, app, at: "2024-01-15T12:00:00Z", for: 0)

        #expect(bench.days() == ["2024-01-15T00:00:00Z 24h -/-/-/-/-/41.00/58.0"])
    }

    @Test func `a long record is spread over its days, up to a leap year`() {
        var bench = FoldBench()
        let year: Int64 = 366 * 86_400
        #expect(
            bench.add(.flightsClimbed, 3660, phone, at: "2023-03-01T00:00:00Z", for: year) == nil)
        #expect(
            bench.add(.flightsClimbed, 9, phone, at: "2023-03-01T00:00:00Z", for: year + 1)
                == .tooLong)
        bench.add(.flightsClimbed, 4, watch, at: "2023-08-01T00:00:00Z", for: 43_200)

        let flights = bench.finish().samples.map { sample -> Double in
            guard case .activity(let day) = sample.value else { return -1 }
            return day.flightsClimbed ?? -1
        }

        #expect(flights.count == 366)
        #expect(flights.dropFirst(153).first == 9)
        #expect(flights.reduce(0, +) == 3659)
    }

    @Test func `an absurd value is refused, and a kind of no day`() {
        var bench = FoldBench()

        #expect(bench.add(.steps, 1e8, watch, at: "2024-01-15T08:00:00Z", for: 60) == .badValue)
        #expect(bench.add(.steps, 1e300, watch, at: "2024-01-15T08:00:00Z", for: 60) == .badValue)
        #expect(DayQuantity(.heartRate) == nil)
    }

    @Test func `the phone's own totals are kept of so many days, none of them to come`() {
        var all = FoldBench()
        for day in (0..<RecordAggregation.mostTotals).map({ 19_000 - $0 }) + [19_001, 19_002] {
            all.aggregation.summarise(day: day, energy: 1, exercise: nil)
        }
        all.aggregation.summarise(day: 19_000, energy: 2, exercise: nil)
        let made = all.finish().samples
        #expect(made.count == 40_000)
        #expect(made.last.map(FoldBench.text) == "2022-01-08T00:00:00Z 24h -/-/2/-/-/-/-")

        var bench = FoldBench(until: "2024-01-16T20:00:00Z")
        bench.summarise("2024-01-15", energy: 50)
        bench.summarise("2024-01-16", energy: 60)
        bench.summarise("2024-01-17", energy: 70)
        #expect(bench.finish().outcome.days == FoldBench.Days(made: 1, unfinished: 1))
    }

    @Test(arguments: [
        (String?.none, true), ("2024-01-16T20:00:00Z", false), ("2024-01-16T20:00:01Z", true),
    ])
    func `an export that does not say when it was made ends now`(date: String?, endsNow: Bool) {
        var bench = FoldBench(until: "2024-01-16T20:00:00Z")
        if let date { bench.exportDate(date) }

        #expect(bench.aggregation.endsNow == endsNow)
    }

    @Test func `the order of the records does not count`() throws {
        var generator = SeededGenerator(state: 20_241_121)
        let records = (0..<3000).map { _ in
            (
                kind: [SampleKind.steps, .distance, .activeEnergy, .vo2Max][
                    Int(generator.next() % 4)],
                value: Double(generator.next() % 100_000) / 997,
                source: Int(generator.next() % 3),
                start: seconds("2024-03-29T00:00:00Z") + Int64(generator.next() % 400_000),
                length: Int64(generator.next() % 5000)
            )
        }
        func fold(
            _ records: [(kind: SampleKind, value: Double, source: Int, start: Int64, length: Int64)]
        ) throws -> [Sample] {
            var aggregation = RecordAggregation(
                AggregationRules(zone: try TestZones.london), now: seconds("2030-01-01T00:00:00Z"))
            for record in records {
                guard let quantity = DayQuantity(record.kind) else { continue }
                _ = aggregation.add(
                    record.value, quantity, source: record.source, start: record.start,
                    end: record.start + record.length)
            }
            let days = aggregation.finish(names: FoldBench.names) { _, _ in }.days
            return FoldBench.merged(days, in: try TestZones.london).days.map(\.sample)
        }

        let first = try fold(records)

        #expect(first.count == 5)
        for _ in 0..<5 {
            let again = try fold(records.shuffled(using: &generator))
            #expect(again == first, "seed 20241121")
        }
    }
}

struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
