import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// `records`: the archive, looked at.
@Suite("Records shown", .timeLimit(.minutes(5)))
struct RecordsProgramTests {
    /// Returns a playground without a backend that has read the shipped export and a workout.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.useExample("export.zip")
        let result = try await playground.run(
            "import", "\(playground.folder.path)/export.xml", "-q", environment: ["TZ": "UTC"])
        #expect(result.status == 0, "\(result.errors)")
        return playground
    }

    /// Runs `records` on the time of the export.
    private func records(_ playground: Playground, _ words: String...) async throws -> ProgramResult
    {
        let span = ["--since", "2026-10-01", "--until", "2026-11-15", "--now", "2026-11-16"]
        return try await playground.start(["records"] + words + span).finish()
    }

    @Test func `the list has every type with its number, its dates and its unit`() async throws {
        let playground = try await playground()

        let shown = try await playground.run("records")
        let found = try await playground.json("records")

        #expect(shown.status == 0, "\(shown.errors)")
        #expect(
            shown.outputLines.first
                == "TYPE                      RECORDS  FROM        TO          UNIT")
        #expect(
            shown.outputLines.contains { $0.hasPrefix("HeartRate ") && $0.hasSuffix("count/min") })
        #expect(found.elements.reduce(0) { $0 + ($1["records"].number ?? 0) } == 2231)
    }

    /// Adds up what `export-data` wrote of a type by day.
    private static let sums = """
        import csv, json, sys, zoneinfo
        from datetime import datetime
        zone = zoneinfo.ZoneInfo(sys.argv[2])
        days = {}
        for row in csv.DictReader(open(sys.argv[1], newline='', encoding='utf-8')):
            day = datetime.fromisoformat(row['start']).astimezone(zone).date().isoformat()
            days.setdefault(day, []).append(float(row['value']))
        print(json.dumps([[d, len(v), min(v), max(v), round(sum(v), 3)]
            for d, v in sorted(days.items())]))
        """

    @Test func `days are what Python makes of the records`() async throws {
        let playground = try await playground()
        let folder = "\(playground.folder.path)/records"
        _ = try await playground.run("export-data", "--out", folder, "--types", "HeartRate")

        let found = try JSONValue(
            try await records(playground, "HeartRate", "-o", "json").output)

        let python = try ChildProgram(
            "/usr/bin/python3",
            [
                "-c", Self.sums, "\(folder)/HKQuantityTypeIdentifierHeartRate.csv",
                try #require(found["time_zone"].text),
            ], environment: ["PATH": "/usr/bin:/bin"])
        let expected = try JSONValue(await python.finish().output)
        #expect(found["rows"].elements.count == expected.elements.count)
        for (row, day) in zip(found["rows"].elements, expected.elements) {
            let numbers = ["count", "min", "max", "sum"].map { row[$0].number }
            #expect(row["day"] == day.elements[0] && row["unit"].text == "count/min")
            #expect(numbers == day.elements.dropFirst().map { $0.number })
        }
    }

    @Test func `hours and months add up to the days`() async throws {
        let playground = try await playground()
        var counts: [Int] = []
        for period in ["raw", "hour", "day", "month"] {
            let found = try JSONValue(
                try await records(playground, "StepCount", "--by", period, "-o", "json").output)
            counts.append(found["rows"].elements.reduce(0) { $0 + ($1["count"].number ?? 1) })
        }
        // CSV has the sums as they are.
        var sums: [Double] = []
        for period in ["hour", "day", "month"] {
            let text = try await records(playground, "StepCount", "--by", period, "-o", "csv")
                .output
            let rows = text.split(separator: "\r\n").dropFirst()
            sums.append(rows.reduce(0) { $0 + (Double($1.split(separator: ",")[7]) ?? 0) })
        }

        #expect(Set(counts).count == 1 && counts[0] > 100, "\(counts)")
        #expect(sums.allSatisfy { abs($0 - sums[0]) < 1 } && sums[0] > 1000, "\(sums)")
    }

    @Test func `stages of sleep and workouts are shown by their words`() async throws {
        let playground = try await playground()
        let sleep = try await records(playground, "SleepAnalysis")
        let workouts = try await records(playground, "Workout", "--by", "raw")

        #expect(sleep.outputLines.prefix(2).last == "DAY         VALUE       COUNT  MINUTES")
        #expect(sleep.output.contains("  AsleepDeep "))
        #expect(workouts.outputLines.prefix(2).last == "START             MINUTES  VALUE    SOURCE")
        #expect(workouts.output.contains("  Running  Robin’s Apple Watch"))
    }

    @Test func `a damaged month is named and the others are shown`() async throws {
        let playground = try await playground()
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite).execute(
            """
            UPDATE segments SET sealed = x'00' WHERE id =
                (SELECT min(id) FROM segments WHERE type LIKE '%HeartRate');
            DELETE FROM segment_days
            """)

        let result = try await records(playground, "HeartRate")

        #expect(result.status == 1)
        #expect(result.errors.contains("1 row is damaged and left out: "))
        #expect(result.outputLines.count > 3)
    }

    @Test func `what cannot be shown is refused in a line`() async throws {
        let playground = try await playground()

        let unknown = try await playground.run("records", "HeartRat")
        let late = try await playground.run("records", "HeartRate", "--until", "soon")
        let lost = try await playground.run("records", "--by", "day")

        #expect(
            unknown.isRefusal(
                64,
                "clarity-jobs: the archive has no records of the type `HeartRat`; "
                    + "did you mean `HeartRate`?"))
        #expect(
            late.isRefusal(64, "clarity-jobs: --until is a date such as `2026-01-31`, got `soon`"))
        #expect(lost.isRefusal(64, "clarity-jobs: --by wants a type: `records HeartRate`"))
    }
}
