import HealthStore
import HealthModel
import ClarityScheduler
import Testing

@testable import Import

/// Tests what an export's text becomes, from its records to days and nights.
@Suite struct AggregatedExportTests {
    private static let watch =
        "&lt;&lt;HKDevice: 0x1&gt;, name:Apple Watch, model:Watch, hardware:Watch5,2&gt;"
    private static let phone =
        "&lt;&lt;HKDevice: 0x2&gt;, name:iPhone, model:iPhone, hardware:iPhone11,8&gt;"

    private func record(
        _ type: String, _ unit: String, _ value: String, _ source: String, _ start: String,
        _ end: String, device: String = "", inside: String = ""
    ) -> String {
        let unit = unit.isEmpty ? "" : #" unit="\#(unit)""#
        let device = device.isEmpty ? "" : #" device="\#(device)""#
        let tag =
            #"<Record type="HK\#(type)" sourceName="\#(source)"\#(unit)\#(device) value="\#(value)" "#
            + #"startDate="\#(start)" endDate="\#(end)""#
        return inside.isEmpty ? "\(tag)/>\n" : "\(tag)>\(inside)</Record>\n"
    }

    private func steps(
        _ value: String, _ source: String, _ start: String, _ end: String, device: String = ""
    ) -> String {
        record(
            "QuantityTypeIdentifierStepCount", "count", value, source, start, end, device: device)
    }

    private func read(_ body: String, rules: AggregationRules = AggregationRules()) throws
        -> Reading
    {
        var result = Reading()
        let text = "<HealthData locale=\"en_US\">\n\(body)</HealthData>\n"
        var reading = ExportReading(
            source: MemorySource(Array(text.utf8)),
            mapper: RecordMapper(now: readingTime, rules: rules))
        result.report = try reading.run { sample, _ in result.samples.append(sample) }
        result.fold(in: rules.zone)
        return result
    }

    private func days(_ reading: Reading) -> [String] {
        reading.samples.filter { $0.kind == .activity }.map(FoldBench.text)
    }

    @Test func `every kind of record that a day is made of is read by its unit`() throws {
        let at = "2024-01-21 08:30:00 +0000"
        let end = "2024-01-21 08:40:00 +0000"
        let rows = [
            ("StepCount", "count", "812"), ("DistanceWalkingRunning", "mi", "1"),
            ("DistanceCycling", "m", "500"), ("ActiveEnergyBurned", "kJ", "418.4"),
            ("AppleExerciseTime", "hr", "0.5"), ("FlightsClimbed", "count", "3"),
            ("VO2Max", "mL/min·kg", "43.25"), ("RestingHeartRate", "count/min", "58"),
        ]

        let result = try read(
            rows.map { record("QuantityTypeIdentifier\($0.0)", $0.1, $0.2, "a", at, end) }.joined())

        #expect(days(result) == ["2024-01-21T00:00:00Z 24h 812/1.61/100/30/3/43.25/58.0"])
        #expect(result.report.aggregated == 7)
        #expect(result.report.unmapped == ["HKQuantityTypeIdentifierDistanceCycling": 1])
        #expect(result.report.made == [.activity: 1])
        #expect(result.report.samplesByKind == [:])
        #expect(result.report.bySource == ["a": 8])
        #expect(result.report.unexplained == 0)
    }

    @Test func `basal energy and the temperature of a wrist are no part of anything`() throws {
        let at = "2024-01-21 08:30:00 +0000"

        let result = try read(
            record("QuantityTypeIdentifierBasalEnergyBurned", "kcal", "20", "a", at, at)
                + record(
                    "QuantityTypeIdentifierAppleSleepingWristTemperature", "degC", "36", "a", at, at
                ))

        #expect(result.samples == [])
        #expect(result.report.unmapped.count == 2)
        #expect(result.report.unexplained == 0)
    }

    @Test func `temperature and glucose are measurements in their own units`() throws {
        let at = "2024-01-21 08:30:00 +0000"

        let result = try read(
            record("QuantityTypeIdentifierBodyTemperature", "degF", "98.6", "a", at, at)
                + record(
                    "QuantityTypeIdentifierBloodGlucose", "mmol&lt;180.1558800000541&gt;/L", "5.5",
                    "a", at, at))

        #expect(result.samples.map(\.canonicalValue) == ["37.0", "99"])
        #expect(result.report.samplesByKind == [.bodyTemperature: 1, .bloodGlucose: 1])
    }

    @Test func `the device tells a watch from a phone whatever they are called`() throws {
        let result = try read(
            steps(
                "100", "Left", "2024-01-21 08:00:00 +0000", "2024-01-21 08:10:00 +0000",
                device: Self.phone)
                + steps(
                    "70", "Right", "2024-01-21 08:00:00 +0000", "2024-01-21 08:10:00 +0000",
                    device: Self.watch)
                + steps("1", "Right", "2024-01-22 08:00:00 +0000", "2024-01-22 08:10:00 +0000")
                + steps(
                    "2", "Left", "2024-01-22 08:00:00 +0000", "2024-01-22 08:10:00 +0000",
                    device: Self.phone))

        #expect(
            days(result) == [
                "2024-01-21T00:00:00Z 24h 70/-/-/-/-/-/-", "2024-01-22T00:00:00Z 24h 1/-/-/-/-/-/-",
            ])
    }

    @Test func `a copy with another device pointer or creation date counts once`() throws {
        let first = steps(
            "100", "Right", "2024-01-21 08:00:00 +0000", "2024-01-21 08:10:00 +0000",
            device: Self.watch)

        let result = try read(
            first + first.replacing("0x1&", with: "0x9&") + first.replacing("+0000", with: "-0000")
                + first.replacing(" value=", with: #" creationDate="x" value="#))

        #expect(days(result) == ["2024-01-21T00:00:00Z 24h 100/-/-/-/-/-/-"])
        #expect(result.report.aggregated == 1)
        #expect(result.report.repeated == 3)
        #expect(result.report.unexplained == 0)
    }

    @Test func `the summary of a day gives its energy and exercise`() throws {
        let energy = record(
            "QuantityTypeIdentifierActiveEnergyBurned", "kcal", "100", "a",
            "2024-01-21 08:30:00 +0000", "2024-01-21 08:40:00 +0000")
        func summary(_ attributes: String) -> String {
            #"<ActivitySummary dateComponents="2024-01-21" \#(attributes)/>"#
        }

        let whole = try read(
            energy
                + summary(
                    #"activeEnergyBurned="1000" activeEnergyBurnedUnit="kJ" appleExerciseTime="52""#
                ))
        let zero = try read(
            energy
                + summary(
                    #"activeEnergyBurned="0" activeEnergyBurnedUnit="Cal" appleExerciseTime="0""#))
        let garbage = try read(
            energy
                + summary(
                    #"activeEnergyBurned="9" activeEnergyBurnedUnit="apples" appleExerciseTime="x""#
                )
                + #"<ActivitySummary dateComponents="0000-00-00" activeEnergyBurned="9"/>"#
                + "<ActivitySummary/>")

        #expect(days(whole) == ["2024-01-21T00:00:00Z 24h -/-/239/52/-/-/-"])
        #expect(days(zero) == ["2024-01-21T00:00:00Z 24h -/-/100/-/-/-/-"])
        #expect(days(garbage) == days(zero))
    }

    @Test func `the day and the night of the export wait for the next one`() throws {
        let body =
            #"<ExportDate value="2024-01-22 09:00:00 +0000"/>"#
            + steps("1", "a", "2024-01-21 08:00:00 +0000", "2024-01-21 08:10:00 +0000")
            + steps("2", "a", "2024-01-22 08:00:00 +0000", "2024-01-22 08:10:00 +0000")
            + record(
                "CategoryTypeIdentifierSleepAnalysis", "", "HKCategoryValueSleepAnalysisAsleepREM",
                "a", "2024-01-22 02:00:00 +0000", "2024-01-22 07:00:01 +0000")

        let result = try read(body)
        let next = try read(body.replacing("2024-01-22 09:00:00", with: "2024-01-23 00:00:00"))

        #expect(days(result) == ["2024-01-21T00:00:00Z 24h 1/-/-/-/-/-/-"])
        #expect(result.report.unfinished == [.activity: 1, .sleep: 1])
        #expect(result.report.aggregated == 3)
        #expect(result.report.stepMinutes.map(\.day.description) == ["2024-01-21", "2024-01-22"])
        #expect(result.report.stepMinutes.map(\.knownMinutes) == [1440, 540])
        #expect(next.report.made == [.activity: 2, .sleep: 1])
        #expect(next.report.unfinished == [:])
        #expect(result.report.unexplained == 0)
    }

    @Test func `a source that breaks off makes no days and no nights, which could lack a part`()
        throws
    {
        let night = record(
            "CategoryTypeIdentifierSleepAnalysis", "", "HKCategoryValueSleepAnalysisAsleepREM", "a",
            "2024-01-22 02:00:00 +0000", "2024-01-22 07:00:01 +0000")
        let body =
            steps("1", "a", "2024-01-21 08:00:00 +0000", "2024-01-21 08:10:00 +0000") + night
            + heartRate()
        let whole = "<HealthData>\(body)</HealthData>"
        func read(_ text: String, breaksWith: String?) throws -> Reading {
            var result = Reading()
            var reading = ExportReading(
                source: MemorySource(Array(text.utf8), breaksWith: breaksWith),
                mapper: RecordMapper(
                    now: Instant(secondsSince1970: seconds("2024-01-23T00:00:00Z"))))
            result.report = try reading.run { sample, _ in result.samples.append(sample) }
            result.fold(in: .utc)
            return result
        }

        #expect(try read(whole, breaksWith: nil).samples.count == 3)
        for (text, reason) in [
            ("<HealthData>\(body)", nil), ("<HealthData>\(body)<Rec", nil),
            (whole, "the archive is damaged"),
        ] {
            let result = try read(text, breaksWith: reason)
            #expect(result.samples == [.heartRate(61)])
            #expect(result.report.brokeAt != nil)
            #expect(result.report.unfinished == [.sleep: 1])
            #expect(result.report.stepMinutes == [])
            #expect(result.report.unexplained == 0)
        }
    }

    @Test func `a night is made of its stages and their zone`() throws {
        func stage(_ name: String, _ start: String, _ end: String) -> String {
            record(
                "CategoryTypeIdentifierSleepAnalysis", "", "HKCategoryValueSleepAnalysis\(name)",
                "Watch", "\(start) +0000", "\(end) +0000",
                inside: #"<MetadataEntry key="HKTimeZone" value="Test/Zone"/>"#
                    + #"<MetadataEntry key="Other" value="Other/Zone"/>"#)
        }
        let asked = Asked()
        let rules = AggregationRules { name in
            asked.names.append(name)
            return nil
        }

        let result = try read(
            stage("InBed", "2024-01-21 22:00:00", "2024-01-22 06:00:00")
                + stage("AsleepCore", "2024-01-21 22:24:00", "2024-01-22 02:00:00")
                + stage("Asleep", "2024-01-22 02:00:00", "2024-01-22 06:00:00")
                + stage("Dreaming", "2024-01-22 02:00:00", "2024-01-22 06:00:00")
                + stage("Awake", "2024-01-22 02:00:00", "2024-01-25 06:00:00"), rules: rules)

        #expect(
            result.samples.map(FoldBench.text) == [
                "2024-01-21T22:00:00Z 8h 456/0.950/0/0/456/0/0/24"
            ])
        #expect(result.samples.map(\.source) == ["Watch"])
        #expect(
            result.report.refused == [
                "unknown stage of sleep": 1, "longer than a record of its type can be": 1,
            ])
        #expect(asked.names == ["Test/Zone"])
        #expect(result.report.unexplained == 0)
    }

    @Test func `units that were switched between two exports make the same days`() throws {
        var generator = SeededGenerator(state: 99)
        var rows: [(kilometres: Double, kilocalories: Double, day: Int, minute: Int)] = []
        for day in 10..<28 {
            for minute in stride(from: 0, to: 1440, by: 10) {
                rows.append(
                    (
                        Double(generator.next() % 700_000) / 1e6,
                        Double(generator.next() % 30_000) / 1000, day, minute
                    ))
            }
        }
        func export(isMetric: Bool) throws -> [Sample] {
            try read(
                rows.map { row in
                    let hour = row.minute / 60
                    let rest = row.minute % 60
                    let start =
                        "2024-01-\(row.day) \(hour < 10 ? "0" : "")\(hour):"
                        + "\(rest < 10 ? "0" : "")\(rest):00 +0000"
                    let distance = isMetric ? row.kilometres : row.kilometres / 1.609344
                    let energy = isMetric ? row.kilocalories : row.kilocalories * 4.184
                    return record(
                        "QuantityTypeIdentifierDistanceWalkingRunning", isMetric ? "km" : "mi",
                        sixDigits(distance), "a", start, start)
                        + record(
                            "QuantityTypeIdentifierActiveEnergyBurned", isMetric ? "kcal" : "kJ",
                            sixDigits(energy), "a", start, start)
                }.joined()
            ).samples
        }

        let metric = try export(isMetric: true)
        let imperial = try export(isMetric: false)

        #expect(metric.count == 18)
        #expect(metric.map(\.identity) == imperial.map(\.identity), "seed 99")
    }

    /// Formats a number with six digits, as an export does.
    private func sixDigits(_ number: Double) -> String {
        var scale = 1e5
        var rest = number
        while rest >= 10 {
            rest /= 10
            scale /= 10
        }
        return "\((number * scale).rounded() / scale)"
    }

    private final class Asked: @unchecked Sendable {
        // A single test reads and writes this on one thread.
        var names: [String] = []
    }
}

extension Reading {
    /// Makes the days of the records that were read.
    fileprivate mutating func fold(in zone: Zone) {
        let merged = FoldBench.merged(report.days, in: zone)
        samples = merged.days.map(\.sample) + samples
        if !merged.days.isEmpty { report.made[.activity] = Int64(merged.days.count) }
        if merged.unfinished > 0 { report.unfinished[.activity] = merged.unfinished }
        report.days = nil
    }
}
