import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import ClarityTestSupport
import Glibc
import JSON
import Testing

@testable import Import

@Suite struct HealthAutoExportTests {
    private let folder: TemporaryFolder
    private let now = Instant(secondsSince1970: 1_790_000_000)

    init() throws { folder = try TemporaryFolder() }

    /// Reads a file with this text, and returns a line such as
    /// `heart_rate 2024-02-06T22:30:00Z+0s 72.0` for each sample, with `~` before an aggregate.
    private func read(
        _ text: String, zone: String = "UTC"
    ) throws -> (samples: [String], report: SourceReport) {
        let path = try folder.write("export.json", Array(text.utf8))
        let zone = try #require(SystemZones(environment: [:]).zone(named: zone))
        var samples: [String] = []
        let report = try HealthAutoExport(path: path, now: now, rules: AggregationRules(zone: zone))
            .read { sample, nature in
                let mark = nature.isAggregate ? "~" : ""
                let length = (sample.end - sample.start).milliseconds / 1000
                samples.append(
                    "\(mark)\(sample.kind.rawValue) \(sample.start)+\(length)s \(sample.canonicalValue)"
                )
            }
        for (key, layer) in report.days?.layers() ?? [:] {
            let quantity = try #require(DayQuantity(key.kind))
            for part in layer.parts.values.joined().sorted() {
                let start = Instant(secondsSince1970: part.start)
                let sample = Sample(
                    kind: key.kind, start: start, end: start,
                    value: .single(Double(part.amount) / quantity.scale))
                samples.append(
                    "~\(key.kind.rawValue) \(start)+\(part.end - part.start)s "
                        + sample.canonicalValue)
            }
        }
        #expect(report.unexplained == 0)
        return (samples, report)
    }

    private func metric(_ name: String, _ units: String, _ points: String) -> String {
        #"{"data":{"metrics":[{"name":"\#(name)","units":"\#(units)","data":[\#(points)]}]}}"#
    }

    @Test(
        arguments: [
            (
                "heart_rate", "count/min",
                #"{"date":"2024-02-06 14:30:00 -0800","Min":65,"Avg":72,"Max":85,"source":"Watch"}"#,
                "~heart_rate 2024-02-06T22:30:00Z+0s 72.0"
            ),
            (
                "heart_rate", "bpm", #"{"date":"2024-02-06T22:30:00Z","Min":61,"Avg":61,"Max":61}"#,
                "heart_rate 2024-02-06T22:30:00Z+0s 61.0"
            ),
            (
                "heart_rate", "bpm", #"{"date":1707258600,"qty":64.5}"#,
                "~heart_rate 2024-02-06T22:30:00Z+0s 64.5"
            ),
            (
                "resting_heart_rate", "count/min",
                #"{"date":"2024-02-06 00:00:00 +0000","qty":52}"#,
                "~resting_heart_rate 2024-02-06T00:00:00Z+86400s 52.0"
            ),
            (
                "step_count", "count", #"{"qty":812.5,"date":"2024-02-06 14:00:00 +0000"}"#,
                "~steps 2024-02-06T14:00:00Z+3600s 813"
            ),
            (
                "step_count", "steps", #"{"qty":8120,"date":"2024-02-06"}"#,
                "~steps 2024-02-06T00:00:00Z+86400s 8120"
            ),
            (
                "walking_running_distance", "mi", #"{"qty":2,"date":"2024-02-06 14:00:00 +0000"}"#,
                "~distance 2024-02-06T14:00:00Z+3600s 3.219"
            ),
            (
                "active_energy", "kJ", #"{"qty":4184,"date":"2024-02-06 14:00:00 +0000"}"#,
                "~active_energy 2024-02-06T14:00:00Z+3600s 1000.00"
            ),
            (
                "blood_oxygen_saturation", "%", #"{"qty":97,"date":"2024-02-06 14:00:00 +0000"}"#,
                "~oxygen_saturation 2024-02-06T14:00:00Z+0s 97.0"
            ),
            (
                "blood_pressure", "mmHg",
                #"{"systolic":121.6,"diastolic":79.2,"date":"2024-02-06 14:00:00 +0000"}"#,
                "blood_pressure 2024-02-06T14:00:00Z+0s 122/79"
            ),
            (
                "blood_glucose", "mmol/L",
                #"{"qty":5.5,"mealTime":"Before Meal","date":"2024-02-06 14:00:00 +0000"}"#,
                "blood_glucose 2024-02-06T14:00:00Z+0s 99"
            ),
            (
                "body_temperature", "°F", #"{"qty":98.6,"date":"2024-02-06 14:00:00 +0000"}"#,
                "~body_temperature 2024-02-06T14:00:00Z+0s 37.0"
            ),
            (
                "vo2_max", "ml/(kg·min)", #"{"qty":41.5,"date":"2024-02-06 14:00:00 +0000"}"#,
                "~vo2_max 2024-02-06T14:00:00Z+0s 41.50"
            ),
            (
                "apple_exercise_time", "min", #"{"qty":30,"date":"2024-02-06 14:00:00 +0000"}"#,
                "~exercise_minutes 2024-02-06T14:00:00Z+3600s 30.0"
            ),
        ])
    func `a point of each metric is a sample`(
        name: String, units: String, point: String, sample: String
    ) throws {
        let found = try read(metric(name, units, point))

        #expect(found.samples == [sample])
        #expect(found.report.recordsRead == 1)
    }

    @Test(
        arguments: [
            ("heart_rate", "bpm", #"{"Avg":72}"#, "no date"),
            ("heart_rate", "bpm", #"{"date":"soon","Avg":72}"#, "bad date"),
            ("heart_rate", "bpm", #"{"date":"2024-02-06T22:30:00Z"}"#, "no value"),
            ("heart_rate", "bpm", #"{"date":"2024-02-06T22:30:00Z","qty":"72"}"#, "bad value"),
            ("heart_rate", "bpm", #"{"date":"2024-02-06T22:30:00Z","qty":-1}"#, "negative value"),
            ("heart_rate", "", #"{"date":"2024-02-06T22:30:00Z","qty":1}"#, "no unit"),
            ("heart_rate", "km", #"{"date":"2024-02-06T22:30:00Z","qty":1}"#, "unknown unit"),
            ("heart_rate", "bpm", #"{"date":"2094-02-06T22:30:00Z","qty":1}"#, "in the future"),
            ("heart_rate", "bpm", "7", "no object"),
            (
                "blood_pressure", "mmHg", #"{"date":"2024-02-06T22:30:00Z","systolic":120}"#,
                "no value"
            ),
            // The day of the export is not over yet.
            ("step_count", "count", #"{"date":"2026-09-21","qty":1}"#, "in the future"),
        ])
    func `a point that is none is counted by its reason`(
        name: String, units: String, point: String, reason: String
    ) throws {
        let found = try read(metric(name, units, point))

        #expect(found.samples == [])
        #expect(found.report.refused == [reason: 1])
    }

    @Test(
        arguments: [
            // In version 7, `totalSleep` is the whole sleep.
            (
                #""totalSleep":7.5,"asleep":0,"core":4.5,"deep":1,"rem":2,"awake":0.5,"inBed":8.25,"#,
                SleepNight(
                    totalMinutes: 450, efficiency: 0.9375, awakeMinutes: 30, lightMinutes: 270,
                    deepMinutes: 60, remMinutes: 120, minutesToSleep: 15)
            ),
            // In earlier versions, `asleep` is.
            (
                #""asleep":7.5,"inBed":8,"#,
                SleepNight(
                    totalMinutes: 450, efficiency: 0.9375, lightMinutes: 450, minutesToSleep: 15)
            ),
            // A band without stages.
            (
                #""totalSleep":6,"core":0,"deep":0,"rem":0,"awake":0,"#,
                SleepNight(
                    totalMinutes: 360, efficiency: 0.75, lightMinutes: 360, minutesToSleep: 15)
            ),
        ])
    func `aggregated sleep is a night`(hours: String, night: SleepNight) throws {
        let path = try folder.write(
            "sleep.json",
            Array(
                metric(
                    "sleep_analysis", "hr",
                    "{\"date\":\"2024-02-06\",\(hours)"
                        + #""sleepStart":"2024-02-05 23:00:00 +0000","sleepEnd":"2024-02-06 07:00:00 +0000","#
                        + #""inBedStart":"2024-02-05 22:45:00 +0000","inBedEnd":"2024-02-06 07:00:00 +0000","#
                        + #""sleepSource":"Band"}"#
                ).utf8))
        let written = timespec(tv_sec: 1_710_000_000, tv_nsec: 0)
        utimensat(AT_FDCWD, path, [written, written], 0)
        var found: [(Sample, SampleNature)] = []

        _ = try HealthAutoExport(path: path, now: now, rules: AggregationRules()).read {
            found.append(($0, $1))
        }

        #expect(found.map(\.0.value) == [.sleep(night)])
        #expect(found.map(\.1) == [.aggregate(asOf: Instant(secondsSince1970: 1_710_000_000))])
        #expect(found.first?.0.start == Instant(rfc3339: "2024-02-05T23:00:00Z"))
        #expect(found.first?.0.end == Instant(rfc3339: "2024-02-06T07:00:00Z"))
        #expect(found.first?.0.source == "Band")
    }

    @Test(arguments: [
        (#""totalSleep":0"#, "no value"), (#""totalSleep":23"#, "bad value"),
        (#""totalSleep":-1"#, "negative value"), (#""totalSleep":7,"deep":4,"rem":4"#, "bad value"),
        (#""totalSleep":1e9"#, "bad value"),
    ])
    func `a night that cannot have been is refused`(hours: String, reason: String) throws {
        let found = try read(
            metric(
                "sleep_analysis", "hr",
                #"{"sleepStart":"2024-02-05 23:00:00 +0000","sleepEnd":"2024-02-06 07:00:00 +0000","#
                    + "\(hours)}"))

        #expect(found.report.refused == [reason: 1])
    }

    @Test func `data of which each point is at midnight are days`() throws {
        let daily = try read(
            metric(
                "step_count", "count",
                #"{"qty":1,"date":"2024-03-31 00:00:00 +0000"},{"qty":2,"date":"2024-04-01 00:00:00 +0100"}"#
            ), zone: "Europe/London")
        let hourly = try read(
            metric(
                "step_count", "count",
                #"{"qty":1,"date":"2024-03-31 00:00:00 +0000"},{"qty":2,"date":"2024-03-31 02:00:00 +0100"}"#
            ), zone: "Europe/London")

        #expect(
            daily.samples == [
                "~steps 2024-03-31T00:00:00Z+82800s 1", "~steps 2024-03-31T23:00:00Z+86400s 2",
            ])
        #expect(
            hourly.samples == [
                "~steps 2024-03-31T00:00:00Z+3600s 1", "~steps 2024-03-31T01:00:00Z+3600s 2",
            ])
    }

    @Test func `what has no field is counted by its name and kept, if it says when it was`() throws
    {
        let time = "2024-02-06 14:30:00 -0800"
        let found = try read(
            """
            {"data":{"workouts":[{"name":"Run","start":"\(time)","end":1707258660,"route":[{"lat":1}]},{}],
             "stateOfMind":[{"start":"\(time)"}],"ecg":{"a":1},
             "metrics":[{"name":"cycling_distance","units":"km","data":[{"date":"\(time)","qty":1.50,"source":"w"},{"qty":2}]},
              {"name":"Alice's own","units":"","data":[{"date":"\(time)"}]},
              {"data":[{"date":"2024-02-06T22:30:00Z","qty":7}],"units":"bpm","name":"heart_rate"}, 5]},"more":[1]}
            """)

        #expect(found.samples == ["~heart_rate 2024-02-06T22:30:00Z+0s 7.0"])
        #expect(
            found.report.unmapped == [
                "workouts": 1, "stateOfMind": 1, "cycling_distance": 1, "(other types)": 1,
            ])
        #expect(found.report.refused == ["no object": 1, "no date": 3])
        #expect(
            try found.report.records?.lines() == [
                "(other types) -|-|-||Alice's own| 1707258600 1707258600 - 0 none "
                    + "{date|\(time)|}",
                "cycling_distance w|-|-|km|-| 1707258600 1707258600 - 0 1.5 {date|\(time)|}",
                "heart_rate -|-|-|bpm|-| 1707258600 1707258600 - 0 7 {date|2024-02-06T22:30:00Z|}",
                "stateOfMind -|-|-|-|-| 1707258600 1707258600 - 0 none {start|\(time)|}",
                "workouts -|-|-|-|-| 1707258600 1707258660 - 0 none "
                    + #"{name|Run|start|\#(time)|end|1707258660|route|[{"lat":1}]|}"#,
            ])
    }

    @Test(arguments: [(9, nil), (33, "larger than 32 MiB")] as [(Int, String?)])
    func `a long workout is kept, and one of more than half a file is refused as that`(
        mebibytes: Int, refusal: String?
    ) throws {
        let point = #"{"latitude":52.5,"longitude":13.4,"timestamp":"2024-02-06 14:30:00 -0800"}"#
        let count = (mebibytes << 20) / (point.utf8.count + 1)
        let route = Array(repeating: point, count: count).joined(separator: ",")
        let found = try read(
            #"{"data":{"workouts":[{"name":"Run","start":1707258600,"route":[\#(route)]}]}}"#)

        #expect(found.report.refused == (refusal.map { [$0: 1] } ?? [:]))
        #expect(found.report.records?.count == (refusal == nil ? 1 : 0))
        #expect(found.report.recordsRead == 1 && found.report.unexplained == 0)
    }

    @Test(
        arguments: [
            (#""source":"Watch|Phone""#, "Watch|Phone"), (#""source":{"name":"Watch"}"#, "Watch"),
            (#""source":{"id":1}"#, nil), (#""source":null"#, nil), (#""other":1"#, nil),
        ] as [(String, String?)])
    func `a source is a text, an object or nothing`(field: String, source: String?) throws {
        let path = try folder.write(
            "export.json",
            Array(metric("heart_rate", "bpm", "{\"date\":1707258600,\"qty\":60,\(field)}").utf8))
        var sources: [String?] = []

        let report = try HealthAutoExport(path: path, now: now, rules: AggregationRules()).read {
            sample, _ in
            sources.append(sample.source)
        }

        #expect(sources == [source])
        #expect(report.bySource == (source.map { [$0: 1] } ?? [:]))
    }

    @Test func `a text that breaks off keeps what stood before`() throws {
        let whole = metric(
            "heart_rate", "bpm", #"{"date":1707258600,"qty":60},{"date":1707258660,"qty":61}"#)

        let found = try read(String(whole.dropLast(8)))

        #expect(found.samples == ["~heart_rate 2024-02-06T22:30:00Z+0s 60.0"])
        #expect(
            found.report.brokeAt
                == SourceBreak(
                    byteOffset: Int64(whole.utf8.count - 8),
                    reason: "the text ends where a value should be"))
    }

    @Test func `of a text that breaks off no night is made of stages`() throws {
        let whole = metric(
            "sleep_analysis", "hr",
            (0..<4).map { hour in
                """
                {"value":"Core","startDate":"2024-02-06 0\(hour):00:00 +0000",\
                "endDate":"2024-02-06 0\(hour + 1):00:00 +0000","source":"Watch"}
                """
            }.joined(separator: ","))

        let broken = try read(String(whole.dropLast(150)))

        #expect(try read(whole).samples.map { $0.prefix(27) } == ["~sleep 2024-02-06T00:00:00Z"])
        #expect(broken.samples == [])
        #expect(broken.report.unfinished == [.sleep: 1])
        #expect(broken.report.brokeAt != nil)
    }

    @Test func `of sums of one time by several sources the best source's counts`() throws {
        let found = try read(
            metric(
                "mindful_minutes", "min",
                """
                {"qty":90,"date":"2024-02-06 14:00:00 +0000","source":"Phone"},
                {"qty":100,"date":"2024-02-06 14:00:00 +0000","source":"Watch"},
                {"qty":7,"date":"2024-02-06 15:00:00 +0000","source":"Phone"},
                {"qty":-5,"date":"2024-02-06 16:00:00 +0000","source":"Watch"},
                {"qty":8,"date":"2024-02-06 17:00:00 +0100","source":"Phone"},
                {"qty":9,"date":"2024-02-06 16:00:00 +0000"}
                """))

        #expect(
            found.samples == [
                "~meditation_minutes 2024-02-06T14:00:00Z+0s 100.00",
                "~meditation_minutes 2024-02-06T15:00:00Z+0s 7.00",
                "~meditation_minutes 2024-02-06T16:00:00Z+0s 8.00",
            ])
        #expect(
            found.report.refused == [
                "another source's point of the same time": 2, "negative value": 1,
            ])
    }

    @Test func `averages of one time by several sources all stay`() throws {
        let found = try read(
            metric(
                "heart_rate", "bpm",
                """
                {"Avg":61,"date":"2024-02-06 14:00:00 +0000","source":"Phone"},
                {"Avg":62,"date":"2024-02-06 14:00:00 +0000","source":"Watch"}
                """))

        #expect(found.samples.count == 2)
    }

    @Test(arguments: [
        #"{"date":1707258600,"qty":60,"source":"\ud800"}"#, #"{"date":1707258600,"qty":6.}"#,
        #"{"date":1707258600,"qty":60,"source":"\x"}"#,
    ])
    func `a point that is no JSON is refused, and the others are taken`(point: String) throws {
        let found = try read(
            metric("heart_rate", "bpm", "\(point),{\"date\":1707258660,\"qty\":61}"))

        #expect(found.samples == ["~heart_rate 2024-02-06T22:31:00Z+0s 61.0"])
        #expect(found.report.refused == ["no JSON": 1])
        #expect(found.report.brokeAt == nil)
    }

    @Test func `a name with a space is not shown`() throws {
        let found = try read(metric("Pain of Alice", "", #"{"date":1707258600}"#))

        #expect(found.report.unmapped == ["(other types)": 1])
    }

    @Test func `a name or a unit that is no JSON does not end the reading`() throws {
        let point = #"{"date":"2024-02-06 14:30:00 -0800","Avg":72}"#
        let long = String(repeating: "x", count: 70_000)

        let (samples, report) = try read(
            #"{"data":{"metrics":[{"name":"\#(long)","units":1e999,"data":[]},"#
                + #"{"name":"heart_rate","units":"bpm","data":[\#(point)]}]}}"#)

        #expect(samples == ["~heart_rate 2024-02-06T22:30:00Z+0s 72.0"])
        #expect(report.brokeAt == nil)
    }

    @Test func `the data may come after much else`() throws {
        let (samples, _) = try read(
            #"{"note":"\#(String(repeating: "x", count: 10_000))","data":{"metrics":[{"name":"#
                + #""heart_rate","units":"bpm","data":[{"date":1707258600,"Avg":72}]}]}}"#)

        #expect(samples == ["~heart_rate 2024-02-06T22:30:00Z+0s 72.0"])
    }

    @Test(arguments: ["\u{FEFF}{", "{\"version\":\"8.1\",\"options\":{\"data\":{}},"])
    func `a file is known by its data, whatever stands before`(front: String) throws {
        let text = metric("heart_rate", "bpm", #"{"date":1707258660,"qty":61}"#)

        let found = try read(front + text.dropFirst())

        #expect(found.samples == ["~heart_rate 2024-02-06T22:31:00Z+0s 61.0"])
        #expect(found.report.brokeAt == nil)
    }

    @Test(arguments: [
        ("{\"data\":[]}", "is no file of Health Auto Export"),
        ("[]", "is no file of Health Auto Export"),
        ("<HealthData/>", "is no file of Health Auto Export"),
        ("", "is empty; export it from the phone again"),
    ])
    func `another file is refused`(text: String, message: String) throws {
        let path = try folder.write("other.json", Array(text.utf8))

        let error = #expect(throws: SourceError.self) {
            try HealthAutoExport(path: path, now: now, rules: AggregationRules()).read { _, _ in }
        }

        #expect(error?.description == "`\(path)` \(message)")
    }

    @Test func `a folder has its files in the order of their names`() throws {
        for name in ["b.json", "a.JSON", ".hidden.json", "notes.txt"] {
            try folder.write(name, [1])
        }

        #expect(
            try HealthAutoExport.files(at: SourcePlace(folder.path)).map(\.path)
                == ["\(folder.path)/a.JSON", "\(folder.path)/b.json"])
        #expect(
            try HealthAutoExport.files(at: SourcePlace("\(folder.path)/b.json")).map(\.path)
                == ["\(folder.path)/b.json"])
    }
}
