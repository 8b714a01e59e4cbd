import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import ClarityTestSupport
import Testing

@testable import Reports

@Suite struct HealthReaderTests {
    private let bench: StoreBench
    private let now: Instant
    private let berlin: Zone

    init() throws {
        bench = try StoreBench()
        now = try #require(Instant(rfc3339: "2026-01-05T12:00:00Z"))
        berlin = try #require(SystemZones(environment: [:]).zone(named: "Europe/Berlin"))
    }

    private func reader(width: Int = 80) throws -> HealthReader {
        HealthReader(
            try bench.store(), now: now, zone: berlin, style: PageStyle(width: width, isPlain: true)
        )
    }

    private func keep(_ type: String, _ timestamp: String, _ json: String) throws {
        let row = CachedRow(
            id: "\(type) \(timestamp)", type: type,
            timestamp: try #require(Instant(rfc3339: timestamp)), json: Array(json.utf8),
            numbers: MetricNumbers(row: Array(json.utf8), type: type))
        _ = try bench.store().cache.upsert([row], into: .metrics, syncedAt: now)
    }

    private func keepInsight(_ id: String, _ timestamp: String, _ narrative: String) throws {
        let row = CachedRow(
            id: id, type: CachedRow.insightPreview,
            timestamp: try #require(Instant(rfc3339: timestamp)),
            json: Array(#"{"narrative":"\#(narrative)","confidence_score":0.5}"#.utf8))
        _ = try bench.store().analyses.upsertInsights([row], syncedAt: now)
    }

    // MARK: Days of another time zone

    /// Stores a pulled day that lasts from one midnight of a zone to the next.
    private func keepDay(from start: String, to end: String, steps: Int) throws {
        try keep(
            "activity_level", start,
            """
            {"activity_data":{"steps":\(steps),"resting_heart_rate":\(steps)},
             "metadata":{"start_date":"\(start)","end_date":"\(end)"}}
            """)
    }

    @Test(arguments: [
        // The 4th, 5th and 6th of January, each in Auckland, London and Los Angeles.
        [
            ("2026-01-03T11:00:00Z", "2026-01-04T11:00:00Z"),
            ("2026-01-04T11:00:00Z", "2026-01-05T11:00:00Z"),
            ("2026-01-05T11:00:00Z", "2026-01-06T11:00:00Z"),
        ],
        [
            ("2026-01-04T00:00:00Z", "2026-01-05T00:00:00Z"),
            ("2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z"),
            ("2026-01-06T00:00:00Z", "2026-01-07T00:00:00Z"),
        ],
        [
            ("2026-01-04T08:00:00Z", "2026-01-05T08:00:00Z"),
            ("2026-01-05T08:00:00Z", "2026-01-06T08:00:00Z"),
            ("2026-01-06T08:00:00Z", "2026-01-07T08:00:00Z"),
        ],
    ])
    func `a day of another time zone is shown on the date of most of its hours`(
        days: [(String, String)]
    ) throws {
        for (index, day) in days.enumerated() {
            try keepDay(from: day.0, to: day.1, steps: 4 + index)
        }

        let summary = try reader().summary()
        let steps = try reader().metrics(
            try #require(MetricSelection(named: "steps")),
            since: try #require(HealthReader.Since("2026-01-04")))

        for item in ["steps", "resting_heart_rate"] {
            #expect(
                summary.cells.first { $0.first == item }?[1...3].joined(separator: " ")
                    .hasPrefix("5 ") == true, "\(summary.cells)")
        }
        #expect(
            steps.cells.dropFirst().map { "\($0[2]) \($0[7])" }
                == ["2026-01-04 4", "2026-01-05 5"])
    }

    // MARK: Implausible numbers

    @Test(arguments: ["1e300", "-1e300", "1.7e308", "1e9", "9.3e18", "0"])
    func `a night of any length is shown`(minutes: String) throws {
        try keep(
            "sleep_analysis", "2026-01-04T22:30:00Z",
            """
            {"sleep_data":{"total_sleep_minutes":\(minutes),
             "sleep_start":"2026-01-04T22:30:00Z","sleep_end":"2026-01-05T06:30:00Z"}}
            """)

        let sheet = try reader().summary()

        #expect(sheet.lines.contains { $0.hasPrefix("sleep ") && $0.contains("today") })
    }

    @Test func `values at both ends of what a number can be are shown day by day`() throws {
        for (day, value) in [("03", "1.7e308"), ("04", "-1.7e308"), ("05", "1.7e308")] {
            for minute in 0..<2 {
                try keep(
                    "heart_rate", "2026-01-\(day)T10:0\(minute):00Z", #"{"value":\#(value)}"#)
            }
        }
        let selection = try #require(MetricSelection(named: "heart_rate"))

        let sheet = try reader().metrics(selection, since: .days(5))

        for form in ReportForm.allCases { #expect(!sheet.text(form).isEmpty) }
        #expect(try reader().summary().lines.contains { $0.hasPrefix("heart rate ") })
    }

    // MARK: The instant that a date stands for

    @Test(arguments: [
        (nil, "2026-01-05T12:00:00Z"), ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        // A day in Berlin, and the two days on which its clock changes.
        ("2026-01-02", "2026-01-02T22:59:59.999Z"), ("2026-03-29", "2026-03-29T21:59:59.999Z"),
        ("2026-10-25", "2026-10-25T22:59:59.999Z"),
        // Today has not ended.
        ("2026-01-05", "2026-01-05T12:00:00Z"), ("30d", "2026-01-05T12:00:00Z"),
    ])
    func `a date is its end on the clock of the sources`(text: String?, instant: String) {
        #expect(HealthReader.present(text, in: berlin, now: now).description == instant)
    }

    // MARK: Insights

    @Test func `the latest insight of a day is none that came later`() throws {
        try keepInsight("a", "2026-01-04T10:00:00Z", "of the day before")
        // Still the 5th in Berlin, and then the 6th.
        try keepInsight("b", "2026-01-05T22:59:59Z", "of the day")
        try keepInsight("c", "2026-01-05T23:00:00Z", "of the day after")

        let lines = try reader().summary().lines

        #expect(lines.contains("of the day"))
    }

    @Test func `the text has the room in a list of insights`() throws {
        let narrative = "you slept well in seven of nine nights, and more evenly than before"
        for id in ["1f0c7e52-6a1d-4f0e", "1f0c7e52-6b1d-4f0e", "2f0c7e52-6b1d-4f0e"] {
            try keepInsight(id, "2026-01-05T10:26:59Z", narrative)
        }

        let lines = try reader().insights().lines

        #expect(
            lines.prefix(4) == [
                "ID           MADE               CONFIDENCE  NARRATIVE",
                "1f0c7e52-6a  2026-01-05 10:26Z        0.50  you slept well in seven of nine n...",
                "1f0c7e52-6b  2026-01-05 10:26Z        0.50  you slept well in seven of nine n...",
                "2f0c7e52     2026-01-05 10:26Z        0.50  you slept well in seven of nine n...",
            ])
        for line in lines[1...3] {
            let name = String(line.prefix { $0 != " " })
            #expect(try reader().insight(name) != nil, "\(name)")
        }
    }

    @Test func `portions of the list have every insight once`() throws {
        for day in 1...5 { try keepInsight("i-\(day)", "2026-01-0\(day)T10:00:00Z", "of \(day)") }
        func narratives(_ limit: Int, _ offset: Int) throws -> [String] {
            try reader().insights(limit: limit, offset: offset).cells.dropFirst().map { $0[3] }
        }

        #expect(try narratives(2, 0) == ["of 5", "of 4"])
        #expect(try narratives(2, 2) == ["of 3", "of 2"])
        #expect(try narratives(2, 4) == ["of 1"])
        let end = try reader().insights(limit: 2, offset: 5)
        #expect(end.lines.first == "there are no earlier insights" && end.cells.count == 1)
    }

    @Test func `a long text does not hold the list up`() throws {
        let narrative = String(repeating: "word ", count: 900)
        let rows = (0..<300).map { number in
            CachedRow(
                id: "i-\(number)", type: CachedRow.insightPreview, timestamp: now,
                json: Array(#"{"narrative":"\#(narrative)"}"#.utf8))
        }
        _ = try bench.store().analyses.upsertInsights(rows, syncedAt: now)

        let sheet = try reader().insights()

        #expect(sheet.lines.count == 302)
        #expect(sheet.lines.allSatisfy { $0.count <= 80 })
        #expect(sheet.cells[1][3] == narrative)
    }

    // MARK: The list of metrics

    @Test func `the names of a type's measures are shown whole`() throws {
        try keep("sleep_analysis", "2026-01-04T22:30:00Z", #"{"sleep_data":{"wake_count":2}}"#)
        try keep("heart_rate_variability", "2026-01-04T22:30:00Z", #"{"value":42}"#)

        let lines = try reader().metrics().lines

        #expect(lines.allSatisfy { $0.count <= 80 && !$0.contains("...") }, "\(lines)")
        let names = lines.joined(separator: " ")
        for measure in MetricGroup.sleep.measures {
            #expect(names.contains(measure.rawValue), "\(measure)")
        }
    }
}
