import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// `nights`, `workouts`, `trends` and `summary` over years, through the built program.
@Suite("Nights, workouts and trends", .timeLimit(.minutes(3)))
struct SpanProgramTests {
    /// An archive without a backend, whose newest data is of October 2024: nights of two hours in two
    /// stages, a run and a walk, and steps of each first day of the 14 months before.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            sources:
              - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
            jobs:
              - { id: import, kind: import, schedule: 1h }

            """
        }
        func record(_ type: String, _ from: String, _ to: String, _ value: String, _ unit: String)
            -> String
        {
            " <Record type=\"HK\(type)\" sourceName=\"Watch\" \(unit) startDate=\"\(from) +0000\" "
                + "endDate=\"\(to) +0000\" value=\"\(value)\"/>\n"
        }
        var text =
            "<HealthData locale=\"en_GB\">\n <ExportDate value=\"2024-10-21 08:00:00 +0000\"/>\n"
        for (day, deep) in [
            ("2024-09-30", "23:40"), ("2024-10-19", "23:30"), ("2024-10-20", "23:50"),
        ] {
            let sleep = "CategoryTypeIdentifierSleepAnalysis"
            let stage = "HKCategoryValueSleepAnalysisAsleep"
            let next =
                day == "2024-09-30"
                ? "2024-10-01" : day == "2024-10-19" ? "2024-10-20" : "2024-10-21"
            text += record(sleep, "\(day) 23:00:00", "\(day) \(deep):00", "\(stage)Core", "")
            text += record(sleep, "\(day) \(deep):00", "\(next) 01:00:00", "\(stage)Deep", "")
        }
        for (kind, start, end, kilometres) in [
            ("Running", "2024-09-12 17:00:00", "2024-09-12 17:30:00", "5.5"),
            ("Walking", "2024-10-18 08:00:00", "2024-10-18 09:00:00", "4"),
        ] {
            text += """
                 <Workout workoutActivityType="HKWorkoutActivityType\(kind)" sourceName="Watch" \
                startDate="\(start) +0000" endDate="\(end) +0000">
                  <WorkoutStatistics type="HKQuantityTypeIdentifierDistanceWalkingRunning" \
                sum="\(kilometres)" unit="km"/>
                 </Workout>

                """
        }
        for (index, month) in Self.months.enumerated() {
            text += record(
                "QuantityTypeIdentifierStepCount", "\(month)-01 09:00:00", "\(month)-01 09:30:00",
                "\(1000 + index)", "unit=\"count\"")
        }
        try playground.folder.write("export.xml", Array((text + "</HealthData>\n").utf8))
        let imported = try await playground.run("run", "import")
        #expect(imported.status == 0, "\(imported.errors)")
        return playground
    }

    private static let months =
        (8...12).map { "2023-\($0 < 10 ? "0" : "")\($0)" }
        + (1...10).map { "2024-\($0 < 10 ? "0" : "")\($0)" }

    @Test func `nights are counted back from the newest one, and months have what is usual`()
        async throws
    {
        let playground = try await playground()

        let last = try await playground.json("nights", "--since", "2d")
        let months = try await playground.json("nights", "--by", "month")
        let table = try await playground.run("nights", "--by", "month")
        // Before the year 0 there is no date.
        let first = try await playground.json("nights", "--until", "0000-01-02")

        #expect(first["since"].text == "0000-01-01" && first["rows"].elements == [])
        #expect(last["newest"].text == "2024-10-21" && last["since"].text == "2024-10-20")
        let rows = last["rows"].elements
        #expect(rows.map { $0["night"].text } == ["2024-10-21", "2024-10-20"])
        #expect(rows.map { $0["asleep_minutes"].number } == [120, 120])
        #expect(rows.map { $0["deep_minutes"].number } == [70, 90])
        #expect(rows.map { $0["parts"].elements.count } == [2, 2])
        #expect(months["rows"].elements.map { $0["month"].text } == ["2024-10"])
        let october = try #require(months["rows"].elements.first)
        #expect(october["nights"].number == 3 && october["asleep_minutes"].number == 120)
        #expect(october["usual_start"].number == -60 && october["usual_end"].number == 60)
        #expect(table.outputLines.last?.contains("23:00  01:00") == true, "\(table.output)")
    }

    @Test func `workouts have their sums, and months their number`() async throws {
        let playground = try await playground()

        let all = try await playground.json("workouts", "--since", "2020-01-01")
        let days = try await playground.json("workouts", "--since", "7d")
        let months = try await playground.json("workouts", "--by", "month")

        let rows = all["rows"].elements
        #expect(rows.map { $0["title"].text } == ["Walking", "Running"])
        #expect(rows.map { $0["minutes"].number } == [60, 30])
        #expect(rows.map { $0["distance"] } == [.number(4), .real(5.5)])
        #expect(rows.map { $0["distance_unit"].text } == ["km", "km"])
        #expect(days["rows"].elements.count == 1 && days["until"].text == "2024-10-18")
        #expect(months["rows"].elements.map { $0["workouts"].number } == [1, 1])
        #expect(months["rows"].elements.map { $0["most"].text } == ["Running", "Walking"])
    }

    @Test func `a month is compared with the twelve before it and no more`() async throws {
        let playground = try await playground()

        let october = try await playground.json("trends", "--month", "2024-10")
        let newest = try await playground.json("trends")
        let none = try await playground.run("trends", "--month", "2019-01")

        let steps = try #require(october["trends"].elements.first { $0["measure"].text == "steps" })
        #expect(steps["value"].number == 1014 && steps["place"].text == "highest")
        #expect(
            steps["before"].elements.map { $0["month"].text } == Self.months.dropFirst(2).dropLast()
        )
        #expect(steps["usual_from"] == .real(1004.75) && steps["usual_to"] == .real(1010.25))
        #expect(steps["words"].text == "higher than in each of the 12 months before")
        // October has more than ten days of data before its newest.
        #expect(newest["month"].text == "2024-10" && newest["is_over"] == .bool(true))
        #expect(none.status == 0 && none.output.contains("nothing is known of January 2019"))
    }

    @Test func `a summary without a day is of the newest day that has data`() async throws {
        let playground = try await playground()

        let newest = try await playground.json("summary")
        let text = try await playground.run("summary")
        let asked = try await playground.json("summary", "--now", "2026-10-01")

        #expect(newest["day"].text == "2024-10-21")
        #expect(text.outputLines.dropFirst().first == "nothing is newer than this day")
        #expect(asked["day"].text == "2026-10-01")
    }
}
