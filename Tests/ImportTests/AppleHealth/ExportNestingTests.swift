import Testing

@testable import Import

@Suite struct ExportNestingTests {
    /// Each row is a body, and what the scanner must report of it.
    @Test(arguments: [
        (
            "<ExportDate value='2026-11-15 08:00:00 +0000'/><Me a='b'/>",
            ["date 2026-11-15%2008:00:00%20+0000"]
        ),
        ("<Record type='a' device='&lt;b&gt;'/>", ["record type=a device=<b>"]),
        ("<Record type='a'></Record>", ["record type=a", "end"]),
        (
            "<Record type='a'> <MetadataEntry key='HKTimeZone' value='Europe/London'/> "
                + "<HeartRateVariabilityMetadataList><InstantaneousBeatsPerMinute bpm='61' "
                + "time='7:04:44.86 PM'/></HeartRateVariabilityMetadataList></Record>",
            ["record type=a", "metadata HKTimeZone=Europe/London", "end"]
        ),
        (
            "<Record type='a'><MetadataEntry key='k'/><MetadataEntry value='v'/></Record>",
            ["record type=a", "end"]
        ),
        (
            "<Record type='a'/><MetadataEntry key='k' value='v'/><Record type='b'></Record>"
                + "<MetadataEntry key='k' value='v'/>",
            ["record type=a", "record type=b", "end"]
        ),
        (
            "<Workout><MetadataEntry key='k' value='v'/></Workout>"
                + "<Correlation><Record type='a'><MetadataEntry key='k' value='v'/></Record>"
                + "</Correlation>",
            ["nested type=a", "close"]
        ),
        (
            "<ActivitySummary dateComponents='2024-01-21' activeEnergyBurned='412.5' "
                + "activeEnergyBurnedGoal='500' activeEnergyBurnedUnit='kcal' "
                + "appleExerciseTime='31' appleStandHours='11'/><ActivitySummary/>",
            ["summary 2024-01-21 412.5 kcal 31 11", "summary - - - - -"]
        ),
        ("<Record type='a' <Record type='b'/>", ["refused unclosed tag", "record type=b"]),
        (
            "<Correlation><Record type='a' <Record type='b'/></Correlation>",
            ["nested unreadable", "nested type=b", "close"]
        ),
    ])
    func `what is found is told in the order of the text`(body: String, lines: [String]) throws {
        let text = try ScannedText(body: body)

        #expect(text.lines == lines)
        #expect(text.report.brokeAt == nil)
    }

    @Test(arguments: [
        "<Record type='b'/>", "<Correlation/>", "<Workout/>", "<ActivitySummary/>",
        "<ClinicalRecord/>", "<Audiogram/>", "<VisionPrescription/>", "<HealthData>",
        "<Record type='b' <Me/>", "",
    ])
    func `a record that is never closed ends where what cannot stand in it begins`(next: String)
        throws
    {
        let text = try ScannedText(body: "<Record type='a'>\(next)")

        #expect(text.lines.prefix(2) == ["record type=a", "end"])
        #expect(text.report.malformations["unclosed record"] == 1)
        #expect(text.report.firstOffsets["unclosed record"] == 29)
    }

    @Test func `a record that the text ends in is ended`() throws {
        let text = try ScannedText(Array("<HealthData><Record type='a'>".utf8))

        #expect(text.lines == ["record type=a", "end"])
        #expect(text.report.malformations == [:])
        #expect(text.report.brokeAt?.reason == "the text ends before `</HealthData>`")
    }

    @Test func `every element is counted by its name`() throws {
        let elements = ExportElement.allCases.filter { $0 != .other && $0 != .root }
        let body =
            elements.map { "<\($0.name) a='1'/><\($0.name) a='1'></\($0.name)>" }.joined()
            + "<Recorder/><unknown-thing/><é/><Workout <Record <Correlation"

        let report = try ScannedText(body: body).report

        var counts = Dictionary(uniqueKeysWithValues: elements.map { ("\($0.name)", Int64(2)) })
        counts["HealthData"] = 1
        counts["Recorder"] = 1
        counts["(other elements)"] = 2
        counts["Workout"] = 3
        counts["Record"] = 3
        counts["Correlation"] = 3
        #expect(report.elements == counts)
    }

    @Test(
        arguments: [
            (
                "<VisionPrescription dateIssued='1' x='2' dateIssued='3'/>",
                ["duplicate attribute": 1]
            ),
            ("<Me a='1' a='2' a='3'/>", ["duplicate attribute": 2]),
            ("<Workout a='\u{0B}'/>", ["control character": 1]),
            (
                "<Audiogram a=1 b c='&x;'/>",
                [
                    "attribute value without quotes": 1, "attribute name with a space": 1,
                    "unknown entity": 1,
                ]
            ),
        ] as [(String, [String: Int64])])
    func `what is wrong in elements without a meaning here is counted too`(
        body: String, malformations: [String: Int64]
    ) throws {
        #expect(try ScannedText(body: body).report.malformations == malformations)
    }

    @Test func `the first eight places of a malformation are kept in the order of the text`() throws
    {
        let tag = "<Me a='\u{0B}'/>"

        let report = try ScannedText(body: String(repeating: tag, count: 10)).report

        #expect(report.malformations == ["control character": 10])
        #expect(report.offsets["control character"] == (0..<8).map { Int64(19 + $0 * 11) })
        #expect(report.firstOffsets["control character"] == 19)
    }

    @Test func `the places of malformations are kept in order though they are found out of it`() {
        var tally = MalformationTally()
        var report = SourceReport()

        for offset in [90, 10, 50, 20, 80, 30, 70, 40, 60, 5] as [Int64] {
            tally.note(.badUTF8, at: offset)
        }
        tally.write(to: &report)

        #expect(report.offsets["bad UTF-8"] == [5, 10, 20, 30, 40, 50, 60, 70])
        #expect(report.malformations["bad UTF-8"] == 10)
    }

    @Test func `a tag may have any number of attributes`() throws {
        let many = (0..<5000).map { " a\($0)='1'" }.joined()

        let text = try ScannedText(body: "<Me\(many)/><Record type='a'\(many)/>")

        #expect(text.report.malformations == [:])
        #expect(text.lines.count == 1)
    }
}
