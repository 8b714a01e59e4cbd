import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// `activity`, `diary`, `ecgs`, `year` and `records --cut`, through the built program.
@Suite("Goals, diary, electrocardiograms and years", .timeLimit(.minutes(3)))
struct DiaryProgramTests {
    /// Each kind of entry of the diary: from an export, and from Health Auto Export.
    private static let entries = """
         <Record type="HKCategoryTypeIdentifierHeadache" sourceName="Health" \
        startDate="2025-02-10 09:00:00 +0000" endDate="2025-02-10 12:00:00 +0000" \
        value="HKCategoryValueSeverityModerate"/>
         <Record type="HKCategoryTypeIdentifierMenstrualFlow" sourceName="Health" \
        startDate="2025-02-11 09:00:00 +0000" endDate="2025-02-11 12:00:00 +0000" \
        value="HKCategoryValueVaginalBleedingLight"/>
         <Record type="HKCategoryTypeIdentifierHighHeartRateEvent" sourceName="Watch" \
        startDate="2025-02-11 19:00:00 +0000" endDate="2025-02-11 19:10:00 +0000" \
        value="HKCategoryValueNotApplicable">
          <MetadataEntry key="HKHeartRateEventThreshold" value="120 count/min"/>
         </Record>
         <StateOfMind kind="dailyMood" valence="-0.4" startDate="2025-02-12 19:00:00 +0000" \
        endDate="2025-02-12 19:00:00 +0000"><Label name="tense"/><Label name="tired"/></StateOfMind>
         <MedicationDoseEvent name="Ibuprofen" logStatus="skipped" dosage="400" unit="mg" \
        scheduledDate="2025-02-12 20:00:00 +0000"/>

        """

    private static let pushed = """
        {"data":{
         "symptoms":[{"start":"2025-02-13 07:35:00 +0000","end":"2025-02-13 07:36:00 +0000",
           "name":"Nausea","severity":"Mild","source":"Health"}],
         "medications":[{"displayText":"Vitamin D","start":"2025-02-13 08:00:00 +0000",
           "scheduledDate":"2025-02-13 08:00:00 +0000","form":"tablet","status":"Taken",
           "dosage":2}],
         "stateOfMind":[{"id":"m","start":"2025-02-13T09:00:00Z","end":"2025-02-13T09:00:00Z",
           "kind":"momentaryEmotion","labels":["calm"],"associations":["work"],"valence":0.5}],
         "ecg":[{"start":"2025-02-13 10:00:00 +0000","end":"2025-02-13 10:00:30 +0000",
           "classification":"Sinus Rhythm","averageHeartRate":64,
           "numberOfVoltageMeasurements":3,"samplingFrequency":100,"source":"Watch",
           "voltageMeasurements":[
            {"date":"2025-02-13 10:00:00 +0000","voltage":-0.25,"units":"mV"},
            {"date":"2025-02-13 10:00:00 +0000","voltage":0.5,"units":"mV"},
            {"date":"2025-02-13 10:00:00 +0000","voltage":1.25,"units":"mV"}]}]}}
        """

    /// The summary of a day; `move` of 500 kcal.
    private static func summary(
        _ day: String, move: Int, exercise: Int = 30, stand: Int = 12, goals: String = "500"
    ) -> String {
        """
         <ActivitySummary dateComponents="\(day)" activeEnergyBurned="\(move)" \
        activeEnergyBurnedGoal="\(goals)" activeEnergyBurnedUnit="Cal" appleMoveTime="0" \
        appleMoveTimeGoal="0" appleExerciseTime="\(exercise)" appleExerciseTimeGoal="30" \
        appleStandHours="\(stand)" appleStandHoursGoal="12"/>

        """
    }

    private static func steps(_ day: String, _ count: Int) -> String {
        """
         <Record type="HKQuantityTypeIdentifierStepCount" sourceName="Watch" unit="count" \
        startDate="\(day) 09:00:00 +0000" endDate="\(day) 09:30:00 +0000" value="\(count)"/>

        """
    }

    private static func cardiogram(_ recorded: String, _ classification: String) -> String {
        """
        Name,A
        Recorded Date,\(recorded)
        Classification,\(classification)
        Symptoms,"Rapid, pounding heartbeat"
        Device,"Watch7,1"
        Sample Rate,4 hertz

        Lead,Lead I
        Unit,µV

        -265.5
        12.25
        0
        8
        """
    }

    /// An archive of an export and a push, in the zone `America/New_York`.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, folder in
            """
            version: 1
            sources:
              - kind: apple-health-export
                path: \(folder)/export
                time_zone: America/New_York
            jobs:
              - { id: import, kind: import, schedule: 1h }

            """
        }
        for folder in ["export", "export/electrocardiograms"] {
            mkdir("\(playground.folder.path)/\(folder)", 0o700)
        }
        var text = "<HealthData locale=\"en_US\">\n"
        text += " <ExportDate value=\"2025-02-28 12:00:00 +0000\"/>\n"
        text += Self.steps("2024-02-10", 4000) + Self.steps("2024-03-10", 9000)
        text += Self.steps("2025-01-10", 5000) + Self.steps("2025-02-10", 7000)
        text += Self.entries
        for day in [1, 2, 3, 5, 6] { text += Self.summary("2025-02-0\(day)", move: 500) }
        text +=
            Self.summary("2025-02-04", move: 499) + Self.summary("2025-02-07", move: 0, stand: 3)
        text += Self.summary("2025-02-08", move: 700, goals: "0")
        text += """
             <Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="Watch" \
            startDate="2025-02-12 17:00:00 +0000" endDate="2025-02-12 17:30:00 +0000">
              <WorkoutStatistics type="HKQuantityTypeIdentifierDistanceWalkingRunning" sum="5.5" \
            unit="km"/>
             </Workout>
            </HealthData>

            """
        try playground.folder.write("export/export.xml", Array(text.utf8))
        for (name, at) in [("a", "2025-02-10 07:30:00 +0000"), ("b", "2025-02-11 07:30:00 +0000")] {
            try playground.folder.write(
                "export/electrocardiograms/ecg_\(name).csv",
                Array(Self.cardiogram(at, name == "a" ? "Sinus Rhythm" : "Inconclusive").utf8))
        }
        let imported = try await playground.run("run", "import")
        #expect(imported.status == 0, "\(imported.errors)")
        try playground.folder.write("push.json", Array(Self.pushed.utf8))
        let pushed = try await playground.run("import", "\(playground.folder.path)/push.json")
        #expect(pushed.status == 0, "\(pushed.errors)")
        return playground
    }

    @Test func `a summary of a day has its own date, and its goals are met or not`() async throws {
        let playground = try await playground()
        // An earlier export had this day as it was so far.
        let half = "<HealthData>\n\(Self.summary("2025-02-05", move: 120, stand: 4))</HealthData>\n"
        try playground.folder.write("half.xml", Array(half.utf8))
        let again = try await playground.run("import", "\(playground.folder.path)/half.xml")

        let days = try await playground.json("activity")
        let some = try await playground.json(
            "activity", "--since", "2025-02-04", "--until", "2025-02-05")
        let months = try await playground.json("activity", "--by", "month")
        let table = try await playground.run("activity")

        #expect(again.status == 0, "\(again.errors)")
        // The days are the watch's, though midnight of UTC is an evening in New York.
        let rows = days["rows"].elements
        #expect(rows.map { $0["day"].text } == (1...8).reversed().map { "2025-02-0\($0)" })
        #expect(days["newest"].text == "2025-02-08")
        let closed = rows.map { $0["all_closed"] == .bool(true) }
        #expect(closed == [true, false, true, true, false, true, true, true])
        #expect(rows[0]["move_goal"] == .null && rows[0]["move"].number == 700)
        #expect(some["rows"].elements.map { $0["move"].number } == [500, 499])
        let month = try #require(months["rows"].elements.first)
        #expect(
            ["days", "move_closed", "exercise_closed", "stand_closed", "all_closed"].map {
                month[$0].number
            } == [8, 5, 8, 7, 6])
        #expect(month["longest_streak"].number == 3)
        #expect(table.output.contains("2025-02-04  499 of 500 kcal"), "\(table.output)")
    }

    @Test func `the diary has what was noted, with a skipped dose as skipped`() async throws {
        let playground = try await playground()

        let diary = try await playground.json("diary")
        let two = try await playground.json("diary", "--until", "2025-02-10", "--since", "2d")

        let rows = diary["rows"].elements.map { row in
            ["kind", "title", "value", "details"].map { row[$0].text ?? "-" }.joined(separator: "|")
        }
        #expect(
            rows == [
                "mood|Momentary emotion|pleasant|calm, work", "medication|Vitamin D|taken|2 tablet",
                "symptom|Nausea|mild|-", "medication|Ibuprofen|skipped|400 mg",
                "mood|Daily mood|unpleasant|tense, tired",
                "notification|High heart rate event|-|threshold 120 count/min",
                "cycle|Menstrual flow|light|-", "symptom|Headache|moderate|-",
            ])
        #expect(two["rows"].elements.map { $0["title"].text } == ["Headache"])
        #expect(diary["newest"].text == "2025-02-13")
    }

    @Test func `an electrocardiogram is listed without its curve and shown with it`() async throws {
        let playground = try await playground()

        let all = try await playground.json("ecgs")
        let one = try await playground.json("ecgs", "2025-02-11T07:30:00Z")
        let pushed = try await playground.json("ecgs", "2025-02-13T10:00:00Z")
        let none = try await playground.run("ecgs", "2025-02-11T07:30:01Z")
        let some = try await playground.json("ecgs", "--until", "2025-02-10")

        let rows = all["rows"].elements
        #expect(
            rows.map { $0["classification"].text }
                == ["Sinus Rhythm", "Inconclusive", "Sinus Rhythm"])
        #expect(rows.map { $0["samples"].number } == [3, 4, 4])
        #expect(rows.allSatisfy { $0["curve"] == .null })
        let shown = try #require(one["rows"].elements.first)
        #expect(
            shown["curve"].elements == [.real(-265.5), .real(12.25), .number(0), .number(8)])
        #expect(shown["hertz"].number == 4 && shown["seconds"].number == 1)
        #expect(shown["unit"].text == "µV" && shown["lead"].text == "Lead I")
        #expect(shown["symptoms"].text == "Rapid, pounding heartbeat")
        let push = try #require(pushed["rows"].elements.first)
        #expect(push["curve"].elements == [.real(-0.25), .real(0.5), .real(1.25)])
        #expect(push["unit"].text == "mV" && push["heart_rate"].number == 64)
        #expect(none.status == 66 && none.errors.contains("no electrocardiogram begins at"))
        #expect(some["rows"].elements.count == 1)
    }

    @Test func `a year is compared with the same part of the one before`() async throws {
        let playground = try await playground()

        let unfinished = try await playground.json("year", "--now", "2025-02-28")
        let whole = try await playground.json("year", "2025")
        let first = try await playground.json("year", "2024")
        let bad = try await playground.run("year", "25")

        func steps(_ year: JSONValue) throws -> JSONValue {
            try #require(year["measures"].elements.first { $0["measure"].text == "steps" })
        }
        #expect(unfinished["year"].number == 2025 && unfinished["is_over"] == .bool(false))
        // The 9,000 steps of March 2024 are of no part of it.
        #expect(try steps(unfinished)["value"].number == 6000)
        #expect(try steps(unfinished)["before"].number == 4000)
        #expect(try steps(whole)["before"].number == 6500)
        #expect(try steps(whole)["total"].number == 12_000)
        #expect(try steps(whole)["highest"].text == "2025-02")
        #expect(try steps(whole)["best_day"].text == "2025-02-10")
        #expect(try steps(first)["before"] == .null)
        #expect(whole["activities"].elements.map { $0["title"].text } == ["Running"])
        #expect(whole["activities"].elements.first?["distance"] == .real(5.5))
        #expect(whole["ring_days"].number == 8 && whole["rings_closed"].number == 6)
        #expect(whole["nights"] == .null)
        #expect(bad.status == 64 && bad.errors.contains("takes a year such as `2025`"))
    }

    @Test func `a year is written as one page without scripts`() async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/2025.html"

        let written = try await playground.run("report", "--year", "2025", "--out", path)
        let both = try await playground.run(
            "report", "--year", "2025", "--month", "2025-02", "--out", "-")
        let empty = try await playground.run("report", "--year", "1999", "--out", "-")
        let page = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        let log = try await playground.run("audit", "log")

        #expect(written.status == 0, "\(written.errors)")
        #expect(written.output.hasPrefix("2025, 10 days with data, in "), "\(written.output)")
        for text in [
            "<h1>Health in 2025</h1>", "<data value=\"6000\">6,000</data>",
            "6,500 in the same part of 2024 (\u{2212}7.7 %)", "Running",
            "Every goal was met on <data value=\"6\">6</data> of 8 days",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(!page.contains("<script") && !page.contains("://"))
        #expect(both.status == 64 && both.errors.contains("exclude each other"))
        #expect(empty.status == 66 && empty.errors.contains("no data is kept of `1999`"))
        #expect(log.output.contains("as html: report of 2025"), "\(log.output)")
    }

    @Test func `long texts of metadata are cut where somebody asks for it`() async throws {
        let playground = try await playground()

        func records(_ words: String...) async throws -> JSONValue {
            let asked = ["records", "Electrocardiogram", "--by", "raw", "--since", "2025-02-10"]
            let result = try await playground.start(asked + words + ["-o", "json"]).finish()
            return try JSONValue(result.output)
        }
        let whole = try await records()
        let cut = try await records("--cut", "5")

        func curves(_ answer: JSONValue) -> [String?] {
            answer["rows"].elements.map { $0["metadata"]["curve"].text }
        }
        #expect(curves(whole) == ["-265.5 12.25 0 8", "-265.5 12.25 0 8"])
        #expect(curves(cut).first == "-265.... (16 characters)")
        #expect(cut["rows"].elements.first?["value"].text == "Sinus Rhythm")
    }
}
