import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Database
import Testing

@testable import HealthStore
@testable import Import
@testable import ClarityJobs

/// Tests that the same records give the same samples, in whatever order a file has them.
@Suite struct OrderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Reads files one after the other into an account of its own, and returns its samples.
    private func samples(_ texts: [String], kind: SourceEntry.Kind) throws -> [String] {
        let bench = WorkBench()
        bench.clock.set(Instant(secondsSince1970: 4_000_000_000))
        let store = try bench.store()
        for (index, text) in texts.enumerated() {
            let path = try folder.write("\(index).file", Array(text.utf8))
            let source: any SampleSource =
                kind == .appleHealthExport
                ? AppleHealthExport(path: path, now: bench.clock.now)
                : HealthAutoExport(path: path, now: bench.clock.now, rules: AggregationRules())
            let intake = SourceIntake(store: store, clock: bench.clock)
            let result = try intake.read(source) { _ in }
            #expect(result.report.unexplained == 0)
        }
        let rows = try store.access { connection in
            try connection.all("SELECT id FROM outbox ORDER BY id") { $0.integer(0) }
        }
        return try rows.compactMap { try store.outbox.sample($0, withValue: true)?.sample }
            .map { "\($0.kind.rawValue) \($0.start) \($0.end) \($0.canonicalValue)" }.sorted()
    }

    private func file(_ points: [String]) -> String {
        #"{"data":{"metrics":[{"name":"sleep_analysis","units":"hr","data":["#
            + points.joined(separator: ",") + "]}]}}"
    }

    private func export(_ records: [String], on date: String = "2026-11-28") -> String {
        "<HealthData><ExportDate value=\"\(date) 20:00:00 +0000\"/>\n"
            + records.joined(separator: "\n") + "\n</HealthData>"
    }

    // MARK: Nights of one source among several

    /// A point of a whole night.
    private func night(
        _ source: String, _ start: String, _ end: String, total: Double, deep: Double = 0,
        rem: Double = 0
    ) -> String {
        """
        {"date":"2026-10-15","sleepStart":"\(start)","sleepEnd":"\(end)","totalSleep":\(total),
         "asleep":\(total - deep - rem),"deep":\(deep),"rem":\(rem),"source":"\(source)"}
        """
    }

    private var twoSources: [String] {
        [
            night("Band", "2026-10-14 23:00:00 +0200", "2026-10-15 07:00:00 +0200", total: 7.6),
            night(
                "Kim’s Apple Watch", "2026-10-14 23:10:00 +0200", "2026-10-15 06:50:00 +0200",
                total: 7, deep: 1, rem: 1.5),
        ]
    }

    @Test(arguments: [false, true])
    func `if two sources have the same night, the better one counts`(isReversed: Bool) throws {
        let found = try samples(
            [file(isReversed ? twoSources.reversed() : twoSources)], kind: .healthAutoExport)

        #expect(
            found == ["sleep 2026-10-14T21:10:00Z 2026-10-15T04:50:00Z 420/0.913/0/0/270/60/90/-"])
    }

    @Test func `the point of another source is refused by its reason`() throws {
        let path = try folder.write("points.json", Array(file(twoSources).utf8))
        var sources: [String?] = []

        let report = try HealthAutoExport(
            path: path, now: Instant(secondsSince1970: 4_000_000_000), rules: AggregationRules()
        ).read { sample, _ in sources.append(sample.source) }

        #expect(sources == ["Kim’s Apple Watch"])
        #expect(report.made == [.sleep: 1] && report.aggregated == 1 && report.unexplained == 0)
        #expect(report.refused == ["another source's point of the same time": 1])
    }

    // MARK: Unknown stages

    /// A stage of the night to 27 November 2026, whose hours are counted from midnight.
    private func stage(_ word: String, _ start: Double, _ end: Double) -> String {
        #"{"startDate":\#(time(start)),"endDate":\#(time(end)),"value":"\#(word)","source":"W"}"#
    }

    /// An hour of that night as seconds since 1970.
    private func time(_ hour: Double) -> Int64 { 1_795_734_000 + Int64(hour * 3600) }

    private func stages(_ words: [String]) -> String {
        file([
            stage(words[0], -1, 2), stage(words[1], 2, 3), stage(words[2], 3, 5),
            stage(words[3], 5, 6),
        ])
    }

    private var english: String { stages(["Core", "REM", "Deep", "REM"]) }
    private let whole =
        "sleep 2026-11-26T22:00:00Z 2026-11-27T05:00:00Z 420/1.000/0/0/180/120/120/-"

    @Test(arguments: [
        ["Kern", "REM", "Tief", "REM"], ["核心", "快速动眼期", "深度", "快速动眼期"],
        ["コア", "REM", "深い", "REM"],
    ])
    func `stages in a language that is known are understood`(words: [String]) throws {
        #expect(try samples([stages(words)], kind: .healthAutoExport) == [whole])
    }

    @Test func `a night with unknown stages never replaces one without`() throws {
        let unknown = stages(["Jádro", "REM", "Hluboký", "REM"])

        let later = try samples([english, unknown], kind: .healthAutoExport)
        let earlier = try samples([unknown, english], kind: .healthAutoExport)

        #expect(later == [whole] && earlier == [whole])
    }

    @Test func `a night with unknown stages makes none`() throws {
        let unknown = stages(["Jádro", "REM", "Hluboký", "REM"])

        #expect(try samples([unknown], kind: .healthAutoExport) == [])
    }

    /// An export with a night whose stages from 1 to 5 have a name.
    private func export(
        _ name: String, and others: [(String, Double, Double)] = [], on date: String
    ) -> String {
        let stages = [("AsleepREM", -1.0, 1.0), (name, 1, 5), ("AsleepREM", 5, 6)] + others
        let records = stages.map { name, start, end in
            func text(_ hour: Double) -> String {
                Instant(secondsSince1970: time(hour)).description.replacing("T", with: " ")
                    .replacing("Z", with: " +0000")
            }
            return #"<Record type="HKCategoryTypeIdentifierSleepAnalysis" sourceName="W" "#
                + #"startDate="\#(text(start))" endDate="\#(text(end))" "#
                + #"value="HKCategoryValueSleepAnalysis\#(name)"/>"#
        }
        return export(records, on: date)
    }

    private let light =
        "sleep 2026-11-26T22:00:00Z 2026-11-27T05:00:00Z 420/1.000/0/0/240/0/180/-"

    @Test func `a night with unknown stages in an export never replaces one without`() throws {
        let good = export("AsleepCore", on: "2026-11-27")
        let unknown = export("Dozing", on: "2026-11-28")

        let found = try samples([good, unknown], kind: .appleHealthExport)

        #expect(found == [light])
    }

    @Test func `a stage of an unknown name is sleep if HealthKit calls it so`() throws {
        let found = try samples(
            [export("AsleepLight", on: "2026-11-28")], kind: .appleHealthExport)
        let pushed = try samples(
            [stages(["Asleep Light", "REM", "Deep", "REM"])], kind: .healthAutoExport)

        #expect(found == [light])
        #expect(pushed == [whole])
    }

    /// What else is known of a night with an unknown stage, and the nights that it makes.
    private static let beside: [([(String, Double, Double)], [String])] = [
        ([], []), ([("InBed", -1.5, 6)], []), ([("AsleepCore", 1, 4)], []),
        (
            [("AsleepCore", 1, 5)],
            ["sleep 2026-11-26T22:00:00Z 2026-11-27T05:00:00Z 420/1.000/0/0/240/0/180/-"]
        ),
    ]

    @Test(arguments: beside)
    func `an unknown stage makes no night unless the others cover it`(
        others: [(String, Double, Double)], night: [String]
    ) throws {
        let unknown = export("Dozing", and: others, on: "2026-11-28")

        #expect(try samples([unknown], kind: .appleHealthExport) == night)
    }

    // MARK: Any order

    /// Shuffles the parts of a file 20 times and compares what becomes of them.
    private func checkOrder(
        _ parts: [String], kind: SourceEntry.Kind, _ text: ([String]) -> String
    ) throws {
        let seed = TrialSeed.first + 14
        var generator = SeededGenerator(seed: seed)
        let first = try samples([text(parts)], kind: kind)

        #expect(!first.isEmpty)
        for round in 0..<20 {
            let shuffled = parts.shuffled(using: &generator)
            #expect(
                try samples([text(shuffled)], kind: kind) == first,
                "CLARITY_TEST_SEED=\(seed - 14), round \(round)")
        }
    }

    @Test func `the order of points does not count`() throws {
        let nights = [
            night(
                "Zed’s Watch", "2026-10-14 22:00:00 +0000", "2026-10-15 05:00:00 +0000", total: 6),
            // One source has two points of a night, and a nap.
            night("Band", "2026-10-14 22:30:00 +0000", "2026-10-15 06:00:00 +0000", total: 7),
            night("Band", "2026-10-16 22:30:00 +0000", "2026-10-17 06:00:00 +0000", total: 7),
            night("Band", "2026-10-16 22:40:00 +0000", "2026-10-17 06:00:00 +0000", total: 6.5),
            night("Band", "2026-10-16 22:40:00 +0000", "2026-10-17 06:00:00 +0000", total: 6),
            night("Band", "2026-10-17 12:00:00 +0000", "2026-10-17 13:00:00 +0000", total: 1),
        ]
        let words = ["Core", "REM", "Deep", "Awake", "Asleep", "In Bed", "Spánek"]
        let stages = words.enumerated().map { stage($1, Double($0) - 2, Double($0)) }

        try checkOrder(twoSources + nights + stages, kind: .healthAutoExport, file)
    }

    /// A record of 5 October 2026.
    private func record(
        _ type: String, _ unit: String, _ value: String, _ start: String, _ end: String,
        source: String = "Watch"
    ) -> String {
        #"<Record type="HKQuantityTypeIdentifier\#(type)" sourceName="\#(source)" unit="\#(unit)" "#
            + #"startDate="2026-10-05 \#(start):00 +0000" endDate="2026-10-05 \#(end):00 +0000" "#
            + #"value="\#(value)"/>"#
    }

    @Test func `the order of records does not count`() throws {
        var records: [String] = []
        for source in ["Watch", "Phone", "Band"] {
            for value in ["10", "20"] {
                // The same time with other values, overlaps, and moments.
                for (start, end) in [("08:00", "08:10"), ("08:00", "08:05"), ("08:03", "08:03")] {
                    records.append(
                        record("StepCount", "count", value, start, end, source: source))
                }
                for type in ["VO2Max", "RestingHeartRate"] {
                    let unit = type == "VO2Max" ? "mL/min·kg" : "count/min"
                    records.append(
                        record(type, unit, value + "0", "09:00", "09:00", source: source))
                }
            }
        }
        for value in ["120", "130"] {
            records.append(record("BloodPressureSystolic", "mmHg", value, "10:00", "10:00"))
            records.append(
                record(
                    "BloodPressureDiastolic", "mmHg", value == "120" ? "80" : "90", "10:00", "10:00"
                ))
        }
        for energy in ["100", "200", "150"] {
            records.append(
                #"<Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="Watch" "#
                    + #"duration="60" durationUnit="min" totalEnergyBurned="\#(energy)" "#
                    + #"totalEnergyBurnedUnit="kcal" startDate="2026-10-05 11:00:00 +0000" "#
                    + #"endDate="2026-10-05 12:00:00 +0000"/>"#)
            records.append(
                #"<ActivitySummary dateComponents="2026-10-05" activeEnergyBurned="\#(energy)" "#
                    + #"activeEnergyBurnedUnit="kcal"/>"#)
        }

        try checkOrder(records, kind: .appleHealthExport) { export($0) }
    }
}
