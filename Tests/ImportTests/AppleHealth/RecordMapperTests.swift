import HealthModel
import HealthStore
import ClarityScheduler
import Testing

@testable import Import

@Suite struct RecordMapperTests {
    @Test func `a record becomes a sample in canonical units`() throws {
        let result = try reading(body: heartRate(value: #"value="1.5""#, unit: #"unit="count/s""#))

        #expect(result.samples == [.heartRate(90)])
        #expect(result.report.samplesByKind == [.heartRate: 1])
        #expect(result.report.recordsRead == 1)
        #expect(result.report.brokeAt == nil)
    }

    @Test(arguments: [
        (heartRate(value: ""), "no value"),
        (heartRate(value: #"value="""#), "bad value"),
        (heartRate(value: #"value="nan""#), "bad value"),
        (heartRate(value: #"value="1e400""#), "bad value"),
        (heartRate(value: #"value="72,5""#), "bad value"),
        (heartRate(value: #"value="-1""#), "negative value"),
        (heartRate(unit: ""), "no unit"),
        (heartRate(unit: #"unit="ms""#), "unknown unit"),
        (heartRate(dates: ""), "no date"),
        (heartRate(dates: #"startDate="2024-01-21 08:30:00 -0500""#), "no date"),
        (heartRate(dates: #"startDate="yesterday" endDate="today""#), "bad date"),
        (
            heartRate(
                dates:
                    #"startDate="2024-01-21 08:30:00 -0500" endDate="2024-01-21 08:29:59 -0500""#),
            "end before start"
        ),
        (
            heartRate(
                dates:
                    #"startDate="2026-11-15 00:00:01 +0000" endDate="2026-11-15 00:00:01 +0000""#),
            "in the future"
        ),
        (#" <Record sourceName="a" unit="count" value="1"/>"#, "no type"),
    ])
    func `a record that cannot be a sample is refused with its reason`(
        record: String, reason: String
    ) throws {
        let result = try reading(body: record)

        #expect(result.samples == [])
        #expect(result.report.refused == [reason: 1])
        #expect(result.report.unexplained == 0)
    }

    @Test func `a sample may begin at the time of the reading and end later`() throws {
        let result = try reading(
            body: heartRate(
                dates:
                    #"startDate="2026-11-15 00:00:00 +0000" endDate="2026-11-15 00:00:30 +0000""#))

        #expect(result.samples.map(\.start) == [readingTime])
    }

    private static let dates =
        #"startDate="2026-11-15 00:00:00 +0000" endDate="2026-11-15 00:00:30 +0000""#

    @Test func `types without a field are counted by type, and only their dates must be right`()
        throws
    {
        let result = try reading(
            body: """
                <Record type="HKCategoryTypeIdentifierAppleStandHour" \(Self.dates)/>
                <Record type="HKQuantityTypeIdentifierDietaryWater" value="x" \(Self.dates)/>
                <Record type="HKCategoryTypeIdentifierAppleStandHour" \(Self.dates)/>
                <Record type="HKCategoryTypeIdentifierAppleStandHour"/>
                <Record type="HKCategoryTypeIdentifierAppleStandHour" startDate="never" endDate="x"/>
                """)

        #expect(
            result.report.unmapped == [
                "HKCategoryTypeIdentifierAppleStandHour": 2,
                "HKQuantityTypeIdentifierDietaryWater": 1,
            ])
        #expect(result.report.refused == ["no date": 1, "bad date": 1])
        #expect(result.report.unexplained == 0)
    }

    @Test func `types beyond the thousandth share one count`() throws {
        let body = (0..<1100).map { "<Record type=\"T\($0)\" \(Self.dates)/>" }.joined()

        let result = try reading(body: body)

        #expect(result.report.unmapped.count == 1025)
        #expect(result.report.unmapped["(other types)"] == 76)
        #expect(result.report.unexplained == 0)
    }

    @Test func `the name of a source is cut after 256 bytes`() throws {
        let name = String(repeating: "n", count: 300)

        let result = try reading(body: heartRate(source: "sourceName=\"\(name)\""))

        #expect(result.samples.map(\.source) == [String(name.prefix(256))])
    }

    @Test func `a mindful session is the minutes of its interval`() throws {
        let result = try reading(
            body: """
                <Record type="HKCategoryTypeIdentifierMindfulSession" sourceName="a" \
                startDate="2024-01-21 08:30:00 -0500" endDate="2024-01-21 08:40:30 -0500"/>
                """)

        #expect(result.samples.map(\.value) == [.single(10.5)])
        #expect(result.samples.map(\.kind) == [.meditationMinutes])
    }

    @Test func `a record of iOS 8 names its source and its average in its own way`() throws {
        let result = try reading(
            body: heartRate(
                source: #"source="a""#, value: #"min="58" max="64" average="61" recordCount="3""#,
                dates: #"startDate="20240121083000-0500" endDate="20240121083000-0500""#))

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.bySource == ["a": 1])
        #expect(result.report.malformations == [:])
    }

    @Test(arguments: [
        #"average="99" value="61" source="b" sourceName="a""#,
        #"sourceName="a" source="b" value="61" average="99""#,
    ])
    func `the names of later versions come before those of iOS 8`(attributes: String) throws {
        let result = try reading(body: heartRate(source: "", value: attributes))

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.malformations == [:])
    }

    @Test(
        arguments: [
            ("0", .inBed), ("1", .asleep), ("2", .awake), ("3", .core), ("4", .deep), ("5", .rem),
            ("6", nil), ("01", nil), ("", nil),
        ] as [(String, SleepStage?)])
    func `a stage of sleep may be a number`(value: String, stage: SleepStage?) {
        #expect(SleepStage(healthKitValue: value) == stage)
    }

    @Test func `references are decoded in every attribute`() throws {
        let result = try reading(
            body: """
                <Record type="HKQuantityTypeIdentifier&#72;eartRate" sourceName="Salt &amp; Pepper" \
                unit="count&#47;min" startDate="2024-01-21&#32;08:30:00 -0500" \
                endDate="2024-01-21 08:30:00 &#45;0500" value="6&#49;"/>
                """)

        #expect(result.samples == [.heartRate(61, source: "Salt & Pepper")])
        #expect(result.report.malformations == [:])
    }

    @Test func `a blood pressure is one sample of two records and its correlation repeats them`()
        throws
    {
        let halves = ["Systolic", "Diastolic"].enumerated().map { index, name in
            """
            <Record type="HKQuantityTypeIdentifierBloodPressure\(name)" sourceName="Cuff" \
            unit="\(index == 0 ? "kPa" : "mmHg")" value="\(index == 0 ? "16" : "79.6")" \
            startDate="2024-01-21 08:30:00 -0500" endDate="2024-01-21 08:30:00 -0500"/>
            """
        }
        let correlation = "<Correlation type=\"x\">\(halves.joined())</Correlation>"

        let before = try reading(body: correlation + halves.joined())
        let after = try reading(body: halves.joined() + correlation)
        let alone = try reading(body: correlation)
        let without = try reading(body: halves.joined())

        for result in [before, after, alone, without] {
            #expect(result.samples.map(\.value) == [.pressure(systolic: 120, diastolic: 80)])
            #expect(result.report.unexplained == 0)
            #expect(result.report.pairedPartners == 1)
        }
        #expect(before.report == after.report)
        #expect(before.report.bySource == ["Cuff": 2])
        #expect(after.report.recordsRead == 2)
        #expect(after.report.nestedSkipped == 2)
        #expect(alone.report.nestedTaken == 2)
        #expect(alone.report.nestedSkipped == 0)
        #expect(without.report.nestedSkipped == 0)
    }

    @Test func `the same record with other offsets, devices and names is the same sample`() throws {
        let result = try reading(
            body: heartRate()
                + heartRate(
                    source: #"sourceName="b" device="&lt;0x1&gt;" creationDate="x""#,
                    dates:
                        #"startDate="2024-01-21 14:30:00 +0100" endDate="2024-01-21 14:30:00 +0100""#
                ) + heartRate(value: #"value="62""#))

        let identities = result.samples.map(\.identity)

        #expect(identities.count == 3)
        #expect(identities[0] == identities[1])
        #expect(identities[0] != identities[2])
    }
}
