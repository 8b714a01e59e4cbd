import HealthModel
import ClarityScheduler
import Testing

@testable import Import

@Suite struct SleepAggregationTests {
    private let watch = FoldBench.watch
    private let phone = FoldBench.phone
    private let app = FoldBench.app

    @Test(arguments: [
        ("HKCategoryValueSleepAnalysisInBed", SleepStage.inBed),
        ("HKCategoryValueSleepAnalysisAsleep", .asleep),
        ("HKCategoryValueSleepAnalysisAsleepUnspecified", .asleep),
        ("HKCategoryValueSleepAnalysisAsleepCore", .core),
        ("HKCategoryValueSleepAnalysisAsleepDeep", .deep),
        ("HKCategoryValueSleepAnalysisAsleepREM", .rem),
        ("HKCategoryValueSleepAnalysisAwake", .awake),
        ("HKCategoryValueSleepAnalysisDreaming", nil), ("HKCategoryValueSleepAnalysis", nil),
        ("0", .inBed), ("1", .asleep), ("2", .awake), ("6", nil), ("-1", nil),
        ("AsleepCore", nil), ("", nil),
    ])
    func `a stage is what HealthKit calls it`(name: String, stage: SleepStage?) {
        #expect(SleepStage(healthKitValue: name) == stage)
    }

    @Test func `the stages of a night become one sample`() {
        var bench = FoldBench()
        bench.sleep(.inBed, watch, "2024-01-15T22:30:00Z", "2024-01-16T06:30:00Z")
        bench.sleep(.core, watch, "2024-01-15T22:45:00Z", "2024-01-16T00:00:00Z")
        bench.sleep(.deep, watch, "2024-01-16T00:00:00Z", "2024-01-16T01:10:00Z")
        bench.sleep(.awake, watch, "2024-01-16T01:10:00Z", "2024-01-16T01:20:00Z")
        bench.sleep(.rem, watch, "2024-01-16T01:20:00Z", "2024-01-16T03:00:00Z")
        bench.sleep(.awake, watch, "2024-01-16T03:00:00Z", "2024-01-16T03:05:00Z")
        bench.sleep(.asleep, watch, "2024-01-16T03:05:00Z", "2024-01-16T06:05:00Z")
        bench.sleep(.awake, watch, "2024-01-16T06:05:00Z", "2024-01-16T06:30:00Z")

        let (samples, outcome) = bench.finish()

        // 75 + 70 + 100 + 180 of 480 minutes.
        #expect(
            samples.map(FoldBench.text) == ["2024-01-15T22:30:00Z 8h 425/0.885/2/40/255/70/100/15"])
        #expect(samples.first?.source == FoldBench.names[watch])
        #expect(outcome.nights == SleepAggregation.Outcome(made: 1, unfinished: 0, withoutSleep: 0))
    }

    @Test func `what overlaps counts once, and the more precise stage`() {
        var bench = FoldBench()
        // An app that writes the whole night besides its stages, and one of these twice.
        bench.sleep(.asleep, watch, "2024-01-15T23:00:00Z", "2024-01-16T05:00:00Z")
        bench.sleep(.deep, watch, "2024-01-15T23:00:00Z", "2024-01-16T00:00:00Z")
        bench.sleep(.deep, watch, "2024-01-15T23:00:00Z", "2024-01-16T00:00:00Z")
        bench.sleep(.core, watch, "2024-01-15T23:30:00Z", "2024-01-16T01:00:00Z")
        bench.sleep(.awake, watch, "2024-01-16T02:00:00Z", "2024-01-16T02:30:00Z")
        bench.sleep(.core, watch, "2024-01-16T03:00:00Z", "2024-01-16T03:00:00Z")

        #expect(bench.days() == ["2024-01-15T23:00:00Z 6h 330/0.917/1/30/270/60/0/-"])
    }

    @Test func `two hours part two nights, a second less does not`() {
        var bench = FoldBench()
        bench.sleep(.core, watch, "2024-01-15T22:00:00Z", "2024-01-15T23:00:00Z")
        bench.sleep(.core, watch, "2024-01-16T00:59:59Z", "2024-01-16T02:00:00Z")
        bench.sleep(.core, watch, "2024-01-16T04:00:00Z", "2024-01-16T05:00:00Z")

        #expect(
            bench.days() == [
                "2024-01-15T22:00:00Z 4h 120/0.500/0/0/120/0/0/-",
                "2024-01-16T04:00:00Z 1h 60/1.000/0/0/60/0/0/-",
            ])
    }

    @Test func `a source that knows sleep counts before one that knows the bed`() {
        var bench = FoldBench()
        bench.sleep(.inBed, watch, "2024-01-15T22:00:00Z", "2024-01-16T07:00:00Z")
        bench.sleep(.asleep, phone, "2024-01-15T23:00:00Z", "2024-01-16T06:00:00Z")
        bench.sleep(.asleep, app, "2024-01-15T23:00:00Z", "2024-01-16T06:30:00Z")

        let samples = bench.finish().samples

        #expect(samples.map(\.source) == [FoldBench.names[phone]])
        #expect(samples.map(FoldBench.text) == ["2024-01-15T23:00:00Z 7h 420/1.000/0/0/420/0/0/-"])
    }

    @Test func `a night of which only the bed is known is none`() {
        var bench = FoldBench()
        bench.sleep(.inBed, phone, "2024-01-15T22:00:00Z", "2024-01-16T07:00:00Z")
        bench.sleep(.awake, phone, "2024-01-15T22:00:00Z", "2024-01-15T23:00:00Z")
        bench.sleep(.asleep, phone, "2024-01-20T22:00:00Z", "2024-01-20T22:00:00Z")

        let (samples, outcome) = bench.finish()

        #expect(samples == [])
        #expect(outcome.nights == SleepAggregation.Outcome(made: 0, unfinished: 0, withoutSleep: 2))
    }

    @Test func `a nap is a night of its own, also of another source`() {
        var bench = FoldBench()
        bench.sleep(.core, watch, "2024-01-15T23:00:00Z", "2024-01-16T06:00:00Z")
        bench.sleep(.asleep, phone, "2024-01-16T13:00:00Z", "2024-01-16T14:00:00Z")
        bench.sleep(.core, watch, "2024-01-16T13:30:00Z", "2024-01-16T13:50:00Z")
        bench.sleep(.asleep, phone, "2024-01-16T17:00:00Z", "2024-01-16T17:40:00Z")

        #expect(
            bench.finish().samples.map { "\($0.start) \($0.source ?? "")" } == [
                "2024-01-15T23:00:00Z \(FoldBench.names[watch])",
                "2024-01-16T13:30:00Z \(FoldBench.names[watch])",
                "2024-01-16T17:00:00Z \(FoldBench.names[phone])",
            ])
    }

    @Test func `in a night one source counts, even where they do not overlap`() {
        var bench = FoldBench()
        bench.sleep(.core, watch, "2024-01-15T23:00:00Z", "2024-01-16T02:00:00Z")
        bench.sleep(.asleep, phone, "2024-01-16T05:00:00Z", "2024-01-16T07:00:00Z")
        bench.sleep(.asleep, phone, "2024-01-16T23:00:00Z", "2024-01-17T07:00:00Z")

        #expect(
            bench.finish().samples.map(\.source) == [
                FoldBench.names[watch], FoldBench.names[phone],
            ])
    }

    @Test func `which night it is follows the zone that the record names`() throws {
        let newYork = try TestZones.newYork
        let rules = AggregationRules { $0 == "America/New_York" ? newYork : nil }
        func sources(_ zone: String?) -> [String?] {
            var bench = FoldBench(rules)
            // 18:00 to 21:00 and 03:00 to 05:00 in New York: one night there, but two in UTC, of
            // which the second is a nap.
            bench.sleep(.core, watch, "2024-01-15T23:00:00Z", "2024-01-16T02:00:00Z", zone: zone)
            bench.sleep(.asleep, phone, "2024-01-16T08:00:00Z", "2024-01-16T10:00:00Z", zone: zone)
            return bench.finish().samples.map(\.source)
        }

        #expect(sources("America/New_York") == [FoldBench.names[watch]])
        #expect(sources(nil) == [FoldBench.names[watch], FoldBench.names[phone]])
        #expect(sources("No/Zone") == [FoldBench.names[watch], FoldBench.names[phone]])
    }

    @Test func `a night on the day of a trip keeps its instants`() throws {
        let london = try TestZones.london
        let rules = AggregationRules(zone: try TestZones.newYork) {
            $0 == "Europe/London" ? london : nil
        }
        var bench = FoldBench(rules)
        bench.sleep(
            .core, watch, "2024-06-10T22:00:00Z", "2024-06-11T05:00:00Z", zone: "Europe/London")
        bench.sleep(.core, watch, "2024-06-12T03:00:00Z", "2024-06-12T10:00:00Z")

        #expect(
            bench.finish().samples.map(\.start.description) == [
                "2024-06-10T22:00:00Z", "2024-06-12T03:00:00Z",
            ])
    }

    @Test func `a night that may go on waits`() {
        for (date, made) in [
            ("2024-01-16T07:59:59Z", Int64(0)), ("2024-01-16T08:00:00Z", 1),
        ] {
            var bench = FoldBench()
            bench.exportDate(date)
            bench.sleep(.core, watch, "2024-01-15T23:00:00Z", "2024-01-16T06:00:00Z")

            let nights = bench.finish().outcome.nights
            #expect(nights.made == made && nights.unfinished == 1 - made)
            #expect(nights.dueAt == (made == 0 ? seconds("2024-01-16T08:00:00Z") : nil))
        }
    }

    @Test func `a stage of more than a day is refused, and so are too many of them`() {
        var sleep = SleepAggregation(zone: .utc, capacity: 2)

        #expect(sleep.add(.core, source: 0, start: 0, end: 86_401) == .tooLong)
        #expect(sleep.add(.inBed, source: 0, start: 0, end: 57_601) == .tooLong)
        #expect(sleep.add(.core, source: 0, start: 0, end: 86_400) == nil)
        #expect(sleep.add(.inBed, source: 0, start: 0, end: 57_600) == nil)
        #expect(sleep.add(.core, source: 0, start: 60, end: 120) == .tooManyStages)
    }

    /// Twenty days in bed all day, in records of `length` seconds, with sleep from 01:00 to 08:00.
    @Test(arguments: [Int64(86_400), 57_600, 43_200, 3600])
    func `time in bed without end does not make one night of many`(length: Int64) {
        let first = seconds("2024-01-01T00:00:00Z")
        var sleep = SleepAggregation(zone: .utc)
        for start in stride(from: first, to: first + 20 * 86_400, by: Int(length)) {
            let verdict = sleep.add(.inBed, source: 0, start: start, end: start + length)
            #expect(verdict == (length > 57_600 ? .tooLong : nil))
        }
        for day in 0..<Int64(20) {
            let start = first + day * 86_400 + 3600
            #expect(sleep.add(.asleep, source: 0, start: start, end: start + 25_200) == nil)
        }

        var nights: [SleepAggregation.Night] = []
        let outcome = sleep.resolve(order: [0], until: .max) { nights.append($0) }

        #expect(outcome.made == 20)
        #expect(nights.allSatisfy { $0.sleep.totalMinutes == 420 })
        #expect(nights.allSatisfy { $0.end - $0.start <= 86_400 })
    }

    @Test func `a long session is cut at noon on its own clock`() throws {
        let newYork = try TestZones.newYork
        var bench = FoldBench(AggregationRules { $0 == "America/New_York" ? newYork : nil })
        // 16:00 in New York is 21:00 in UTC.
        for (start, end) in [
            ("2024-01-14T21:00:00Z", "2024-01-15T12:00:00Z"),
            ("2024-01-15T12:00:00Z", "2024-01-16T03:00:00Z"),
            ("2024-01-16T03:00:00Z", "2024-01-16T14:00:00Z"),
        ] {
            bench.sleep(.inBed, watch, start, end, zone: "America/New_York")
        }
        bench.sleep(.core, watch, "2024-01-15T16:00:00Z", "2024-01-15T19:00:00Z")
        bench.sleep(.core, watch, "2024-01-16T05:00:00Z", "2024-01-16T10:00:00Z")

        #expect(
            bench.days() == [
                "2024-01-14T21:00:00Z 20h 60/0.050/0/0/60/0/0/1140",
                "2024-01-15T17:00:00Z 21h 420/0.333/0/0/420/0/0/0",
            ])
    }

    @Test func `zones beyond the 255th are the configured one`() {
        var sleep = SleepAggregation(zone: .utc)
        var asked = 0
        for index in 0..<300 {
            _ = sleep.add(.core, source: 0, start: Int64(index), end: Int64(index) + 60)
            sleep.setZone("Zone/\(index)") { _ in
                asked += 1
                return nil
            }
        }

        #expect(asked == 255)
    }

    @Test func `the order of the stages does not count`() {
        var generator = SeededGenerator(state: 7)
        let stages = (0..<400).map { _ in
            (
                stage: SleepStage.allCases[Int(generator.next() % 7)],
                source: Int(generator.next() % 3),
                start: seconds("2024-01-01T00:00:00Z") + Int64(generator.next() % 1_000_000),
                length: Int64(generator.next() % 7000)
            )
        }
        func fold(_ order: [Int]) -> [Sample] {
            var aggregation = RecordAggregation(
                AggregationRules(), now: seconds("2030-01-01T00:00:00Z"))
            for index in order {
                let stage = stages[index]
                _ = aggregation.add(
                    stage.stage, source: stage.source, start: stage.start,
                    end: stage.start + stage.length)
            }
            var samples: [Sample] = []
            _ = aggregation.finish(names: FoldBench.names) { sample, _ in samples.append(sample) }
            return samples
        }
        let first = fold(Array(stages.indices))

        #expect(first.count > 3)
        for _ in 0..<5 {
            #expect(fold(stages.indices.shuffled(using: &generator)) == first, "seed 7")
        }
        for sample in first {
            guard case .sleep(let night) = sample.value else { continue }
            let minutes = Int((sample.end - sample.start).components.seconds / 60)
            #expect((0...1).contains(night.efficiency))
            #expect(night.totalMinutes + night.awakeMinutes <= minutes + 2)
        }
    }
}
