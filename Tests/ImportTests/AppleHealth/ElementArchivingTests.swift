import ClarityScheduler
import HealthModel
import Testing

@testable import HealthStore
@testable import Import

/// What the archive gets of the elements beside the records of an export.
@Suite("Elements for the archive")
struct ElementArchivingTests {
    /// Reads a text and returns its records as lines.
    private func lines(_ body: String) throws -> [String] {
        try #require(try reading(body: body).report.records).lines()
    }

    private let dates =
        #"creationDate="2026-01-31 08:31:00 +0130" startDate="2026-01-31 08:30:00 +0130" "#
        + #"endDate="2026-01-31 08:30:30 +0130""#
    private let times = "1769842800 1769842830 1769842860 90"

    @Test func `a workout is kept with its statistics, events and route`() throws {
        let found = try lines(
            """
            <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="0.5" \
            durationUnit="min" sourceName="W" sourceVersion="10" device="&lt;&lt;HKDevice: \
            0x2&gt;, name:Watch&gt;" \(dates)>
              <MetadataEntry key="HKIndoorWorkout" value="0"/>
              <WorkoutEvent type="Pause" date="2026-01-31 08:30:10 +0130"/>
              <WorkoutEvent type="Resume" date="2026-01-31 08:30:20 +0130">
                <MetadataEntry key="k" value="&quot;v&quot;"/>
              </WorkoutEvent>
              <WorkoutStatistics type="HKQuantityTypeIdentifierHeartRate" average="150"/>
              <WorkoutRoute sourceName="W" startDate="2026-01-31 08:30:00 +0130">
                <FileReference path="/workout-routes/route.gpx"/>
              </WorkoutRoute>
            </Workout>
            <Record type="T" sourceName="s" \(dates) value="2"/>
            """)

        #expect(
            Set(found) == [
                "T s|-|-|-|-| \(times) 2",
                "Workout W|10|<<HKDevice: >, name:Watch>|-|-| \(times) "
                    + "'HKWorkoutActivityTypeRunning' {duration|0.5|durationUnit|min|"
                    + "HKIndoorWorkout|0|"
                    + #"WorkoutEvent|[{"type":"Pause","date":"2026-01-31T07:00:10Z"},"#
                    + #"{"type":"Resume","date":"2026-01-31T07:00:20Z","#
                    + #""MetadataEntry":{"k":"\"v\""}}]|"#
                    + #"WorkoutStatistics|[{"type":"HKQuantityTypeIdentifierHeartRate","#
                    + #""average":"150"}]|WorkoutRoute|[{"sourceName":"W","#
                    + #""startDate":"2026-01-31T07:00:00Z","#
                    + #""FileReference":[{"path":"/workout-routes/route.gpx"}]}]|}"#,
            ])
    }

    @Test func `a correlation names its records, whose own metadata the top level has`() throws {
        let found = try lines(
            """
            <Correlation type="HKCorrelationTypeIdentifierFood" sourceName="s" \(dates)>
              <MetadataEntry key="meal" value="lunch"/>
              <Record type="T" sourceName="s" unit="g" \(dates) value="2">
                <MetadataEntry key="k" value="v"/>
              </Record>
              <MetadataEntry key="place" value="home"/>
            </Correlation>
            <Record type="T" sourceName="s" unit="g" \(dates) value="2">
              <MetadataEntry key="k" value="v"/>
            </Record>
            """)

        #expect(
            Set(found) == [
                "T s|-|-|g|-| \(times) 2 {k|v|}",
                "HKCorrelationTypeIdentifierFood s|-|-|-|-| \(times) none {meal|lunch|place|home|"
                    + #"Record|[{"type":"T","unit":"g","value":"2","#
                    + #""startDate":"2026-01-31T07:00:00Z","endDate":"2026-01-31T07:00:30Z"}]|}"#,
            ])
    }

    @Test func `summaries, clinical records and prescriptions stand at their day`() throws {
        let found = try lines(
            """
            <ActivitySummary dateComponents="2026-01-31" appleStandHours="9"/>
            <ClinicalRecord type="MedicationOrder" identifier="m" sourceName="Clinic" \
            receivedDate="2026-01-31 08:30:00 +0130" resourceFilePath="/c/m.json"/>
            <VisionPrescription type="Glasses" dateIssued="2026-01-31">
              <RightEye sphere="1.5"/>
            </VisionPrescription>
            """)

        #expect(
            Set(found) == [
                "ActivitySummary -|-|-|-|-| 1769817600 1769817600 - 0 none "
                    + "{dateComponents|2026-01-31|appleStandHours|9|}",
                "ClinicalRecord Clinic|-|-|-|-| 1769842800 1769842800 - 90 'MedicationOrder' "
                    + "{identifier|m|receivedDate|2026-01-31T07:00:00Z|"
                    + "resourceFilePath|/c/m.json|}",
                "VisionPrescription -|-|-|-|-| 1769817600 1769817600 - 0 'Glasses' "
                    + #"{dateIssued|2026-01-31|RightEye|[{"sphere":"1.5"}]|}"#,
            ])
    }

    @Test func `an element without a date or of too much text is counted and left out`() throws {
        let long = String(repeating: "v", count: 1 << 14)
        let entry = "<MetadataEntry key='k' value='\(long)'/>"
        let report = try reading(
            body: """
                <Workout workoutActivityType="Running" sourceName="s"/>
                <Workout workoutActivityType="Running" sourceName="s" \(dates)
                x="\(String(repeating: long, count: 65))">\(entry)</Workout>
                <Workout workoutActivityType="Cycling" sourceName="s" \(dates)/>
                """
        ).report

        #expect(report.elementsRefused == ["Workout": 2, "MetadataEntry": 1])
        #expect(
            try report.records?.lines() == [
                "Workout s|-|-|-|-| \(times) 'Cycling'"
            ])
    }

    @Test func `of an element with too much text inside it the last of that is left out`() throws {
        let long = String(repeating: "v", count: 1 << 14)
        let entry = "<MetadataEntry key='k' value='\(long)'/>"
        let event = "<WorkoutEvent type='\(long)'/>"
        let report = try reading(
            body: """
                <Workout workoutActivityType="Running" sourceName="s" \(dates)>
                \(String(repeating: event, count: 50))<WorkoutStatistics type="t" sum="1"/>
                \(String(repeating: entry, count: 20))<WorkoutStatistics type="t" sum="2"/>
                </Workout>
                """
        ).report

        // 3/4 of 1 MiB has 47 events, and the rest has 16 entries.
        #expect(report.elementsRefused == ["WorkoutEvent": 3, "MetadataEntry": 4])
        let line = try #require(try report.records?.lines().first)
        #expect(line.contains(#""sum":"1""#) && line.contains(#""sum":"2""#))
        #expect(line.split(separator: long).count - 1 == 47 + 16)
        #expect(report.refused == [:] && report.made.count == 1)
    }

    @Test func `an element that never ends has nothing of what follows`() throws {
        let found = try lines(
            """
            <Workout workoutActivityType="A" sourceName="s" \(dates)>
            <MetadataEntry key="a" value="1"/>
            <Workout workoutActivityType="B" sourceName="s" \(dates)>
            <WorkoutEvent type="e">
            <Record type="T" sourceName="s" \(dates) value="2">
              <MetadataEntry key="t" value="2"/>
            </Record>
            <MetadataEntry key="nobody" value="3"/>
            """)

        #expect(
            Set(found) == [
                "Workout s|-|-|-|-| \(times) 'A' {a|1|}",
                "Workout s|-|-|-|-| \(times) 'B' {WorkoutEvent|[{\"type\":\"e\"}]|}",
                "T s|-|-|-|-| \(times) 2 {t|2|}",
            ])
    }

    @Test func `a record inside a workout is its own, and what follows is the workout's`() throws {
        let found = try reading(
            body: """
                <Workout workoutActivityType="A" sourceName="s" \(dates)>
                <WorkoutZoneGroup unit="count/min"><WorkoutZone maximum="132"/></WorkoutZoneGroup>
                <Record type="T" sourceName="s" \(dates) value="2">
                  <MetadataEntry key="t" value="2"/>
                </Record>
                <WorkoutStatistics type="t" sum="1"/><MetadataEntry key="w" value="3"/>
                </Workout>
                <Record type="T" sourceName="s" \(dates) value="4"/>
                """
        ).report

        #expect(
            try Set(#require(found.records).lines()) == [
                "T s|-|-|-|-| \(times) 2 {t|2|}", "T s|-|-|-|-| \(times) 4",
                "Workout s|-|-|-|-| \(times) 'A' {w|3|"
                    + #"WorkoutZoneGroup|[{"unit":"count/min","#
                    + #""WorkoutZone":[{"maximum":"132"}]}]|"#
                    + #"WorkoutStatistics|[{"type":"t","sum":"1"}]|}"#,
            ])
        #expect(found.made == [.workout: 1] && found.elementsRefused == [:])
    }

    @Test func `after many records an open workout counts as one that never ends`() throws {
        let record = #"<Record type="T" sourceName="s" \#(dates) value="2"/>"#
        let found = try reading(
            body: """
                <Workout workoutActivityType="A" sourceName="s" \(dates)>
                \(String(repeating: record, count: 65))
                <WorkoutStatistics type="t" sum="1"/></Workout>
                """
        ).report

        #expect(
            try #require(found.records).lines().contains("Workout s|-|-|-|-| \(times) 'A'"))
        #expect(found.elementsRefused == ["WorkoutStatistics": 1])
    }

    @Test func `what nests too deep is counted, and what follows is in its place`() throws {
        let open = (1...10).map { #"<N\#($0) \#($0 == 1 ? dates : "")>"# }.joined()
        let close = (2...10).reversed().map { "</N\($0)>" }.joined()
        let found = try reading(
            body: open + "<MetadataEntry key='k' value='v'/>" + close + #"<Late b="1"/></N1>"#
        ).report

        let lines = try #require(found.records).lines()
        #expect(found.elementsRefused == ["N9": 1, "N10": 1])
        #expect(lines.count == 1)
        #expect(lines.contains { $0.hasSuffix(#"|Late|[{"b":"1"}]|}"#) })
    }

    @Test func `a later export of the same workout, in winter, is the same record`() throws {
        func tag(_ offset: String, _ hour: String) throws -> Fingerprint {
            let collector = try #require(
                try reading(
                    body: """
                        <Workout workoutActivityType="A" sourceName="s" \
                        startDate="2026-07-01 \(hour):00:00 \(offset)" \
                        endDate="2026-07-01 \(hour):30:00 \(offset)">
                          <WorkoutEvent type="e" date="2026-07-01 \(hour):10:00 \(offset)"/>
                        </Workout>
                        """
                ).report.records)
            let segment = try collector.segment(0, Decompressor())
            let tags = RecordTags(Array(repeating: 1, count: 16), segment.texts)
            return tags.fingerprint(of: segment.records)
        }

        #expect(try tag("-0400", "08") == tag("-0500", "07"))
    }

    @Test func `the facts about the person are a record of the time of the export`() throws {
        let me = #"<Me HKCharacteristicTypeIdentifierBloodType="HKBloodTypeAPositive"/>"#
        let found = try lines(#"<ExportDate value="2026-01-31 08:30:00 +0130"/>"# + me)
        let undated = try reading(body: me).report

        #expect(
            found == [
                "Me -|-|-|-|-| 1769842800 1769842800 - 90 none "
                    + "{HKCharacteristicTypeIdentifierBloodType|HKBloodTypeAPositive|"
                    + "locale|en_US|}"
            ])
        #expect(undated.elementsRefused == ["Me": 1])
    }

    @Test func `an unknown element without a date is of the time of the export`() throws {
        let found = try reading(
            body: #"<ExportDate value="2026-01-31 08:30:00 +0130"/>"#
                + #"<Medication name="Ibuprofen"/>"#
        ).report

        #expect(found.unmapped == ["Medication": 1] && found.refused == [:])
        #expect(
            try found.records?.lines() == [
                "Medication -|-|-|-|-| 1769842800 1769842800 - 90 none {name|Ibuprofen|}"
            ])
    }

    @Test func `what nobody knows in a record is kept with its metadata`() throws {
        let found = try lines(
            #"""
            <Record type="T" sourceName="s" mood="&quot;fair&quot;" \#(dates) value="1"/>
            <Record type="T" sourceName="s" \#(dates) value="2">
              <MetadataEntry key="k" value="v"/>
              <Accuracy unit="a &amp; b" sinceDate="2026-01-31 08:30:00 +0130"/>
              <Accuracy unit="c"/>
            </Record>
            <Record type="T" sourceName="s" \#(dates) value="3"/>
            """#)

        #expect(
            Set(found) == [
                "T s|-|-|-|-| \(times) 1 {mood|\"fair\"|}",
                "T s|-|-|-|-| \(times) 2 {k|v|"
                    + #"Accuracy|{"unit":"a & b","sinceDate":"2026-01-31T07:00:00Z"}|"#
                    + #"Accuracy|{"unit":"c"}|}"#,
                "T s|-|-|-|-| \(times) 3",
            ])
    }

    // The times of beats are those of a clock on the wall, in the phone's language and zone.
    @Test(arguments: [
        ["9:30:01.10 AM", "9:30:01.95 AM", "9:29:59.50 AM", "9:45:02.00 AM"],
        ["20:15:01,10", "20:15:01,95", "20:14:59,50", "20:30:02,00"],
    ])
    func `beats are a record beside theirs, in seconds after its start`(
        _ clock: [String]
    ) throws {
        let beats = clock.map { #"<InstantaneousBeatsPerMinute bpm="62" time="\#($0)"/>"# }
        let found = try lines(
            """
            <Record type="HKQuantityTypeIdentifierHeartRateVariabilitySDNN" sourceName="W" \
            unit="ms" \(dates) value="50">
              <MetadataEntry key="k" value="v"/>
              <HeartRateVariabilityMetadataList>
                \(beats.joined())
                <InstantaneousBeatsPerMinute bpm="high" time="later"/>
              </HeartRateVariabilityMetadataList>
            </Record>
            <Record type="T" sourceName="s" \(dates) value="2"/>
            """)

        #expect(
            Set(found) == [
                "HKQuantityTypeIdentifierHeartRateVariabilitySDNN W|-|-|ms|-| \(times) 50 {k|v|}",
                "HKDataTypeIdentifierHeartbeatSeries W|-|-|-|-| \(times) none "
                    + "{beats|[[1.10,62],[1.95,62],[-0.50,62],[2.00,62],[null,null]]|}",
                "T s|-|-|-|-| \(times) 2",
            ])
    }

    @Test func `a series of beats that never ends does not fill the memory`() throws {
        let beat = #"<InstantaneousBeatsPerMinute bpm="60" time="7:04:44.86 PM"/>"#
        let found = try lines(
            """
            <Record type="HKQuantityTypeIdentifierHeartRateVariabilitySDNN" sourceName="W" \
            unit="ms" \(dates) value="50"><HeartRateVariabilityMetadataList>
            \(String(repeating: beat, count: 150_000))
            </HeartRateVariabilityMetadataList></Record>
            """)

        let series = try #require(found.first { $0.contains("beats|") })
        #expect((900_000..<1_100_000).contains(series.utf8.count))
        #expect(series.hasSuffix(",60]]|}"))
    }
}
