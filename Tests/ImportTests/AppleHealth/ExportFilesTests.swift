import ClarityTestSupport
import Glibc
import Testing

@testable import HealthStore
@testable import Import

@Suite("Files beside the text of an export")
struct ExportFilesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let document = """
        <HealthData><ExportDate value="2026-02-01 10:00:00 +0000"/>\(heartRate())\
        <ClinicalRecord type="Condition" identifier="c" sourceName="Clinic" \
        receivedDate="2025-12-31 08:30:00 +0130" resourceFilePath="/clinical-records/a.json"/>\
        </HealthData>
        """
    private static let resource =
        "{\n \"resourceType\" : \"Condition\",\n \"note\": \"\\u00e9 & <\"}\n"
    private static let curve = "Recorded Date,2026-01-31 08:30:00 +0000\nClassification,x\n1\n2\n"
    private static let cda =
        "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///c'>]><a>&b;</a>"
    private static let point =
        #"<trkpt lon="13.4" lat="52.5"><time>2026-01-10T10:00:00Z</time></trkpt>"#

    /// The files of a whole export by their names in it.
    private static let files: [String: [UInt8]] = [
        "clinical-records/a.json": Array(resource.utf8),
        "clinical-records/b.json": Array(resource.utf8),
        "electrocardiograms/ecg_1.csv": Array(curve.utf8),
        "workout-routes/r.gpx": Array("<gpx>\(point)</gpx>".utf8),
        "export_cda.xml": Array(cda.utf8), "readme.txt": [7],
    ]

    /// Reads an export with these files beside it, in an archive or a folder.
    private func read(
        _ files: [String: [UInt8]], document: String = document, inFolder: Bool = false
    ) throws -> SourceReport {
        var path = "\(folder.path)/export"
        if inFolder {
            mkdir(path, 0o700)
            for (name, bytes) in files.merging(
                ["eksport.xml": Array(document.utf8)], uniquingKeysWith: { $1 })
            {
                let parts = name.split(separator: "/")
                if parts.count > 1 { mkdir("\(path)/\(parts[0])", 0o700) }
                try Files.write(bytes, to: "\(path)/\(name)")
            }
        } else {
            path += ".zip"
            let members = files.sorted { $0.key < $1.key }.map {
                ZipWriter.Member("apple_health_export/\($0.key)", $0.value)
            }
            try Files.write(
                ZipWriter.archive(
                    members + [.init("apple_health_export/eksport.xml", Array(document.utf8))]),
                to: path)
        }
        return try AppleHealthExport(path: path, now: readingTime).read { _, _ in }
    }

    @Test(arguments: [false, true])
    func `each file is a record, documents are kept as they came, and entities stay text`(
        inFolder: Bool
    ) throws {
        let report = try read(Self.files, inFolder: inFolder)

        let lines = try #require(try report.records?.lines())
        #expect(
            Set(lines.filter { !$0.hasPrefix("HKQuantity") && !$0.hasPrefix("ClinicalRecord C") })
                == [
                    // At the time when the clinic's record of it was received.
                    "ClinicalRecordFile /clinical-records/a.json|-|-|-|-| 1767164400 1767164400 - "
                        + "90 'Condition' {content|\(Self.resource)|}",
                    // No clinical record names this one.
                    "ClinicalRecordFile /clinical-records/b.json|-|-|-|-| 1769940000 1769940000 - "
                        + "0 'Condition' {content|\(Self.resource)|}",
                    "ClinicalDocument /export_cda.xml|-|-|-|-| 1769940000 1769940000 - 0 none "
                        + "{content|\(Self.cda)|}",
                    "HKDataTypeIdentifierElectrocardiogram -|-|-|-|-| 1769848200 1769848200 - 0 'x' "
                        + "{curve|1 2|}",
                    "WorkoutRoutePoint /workout-routes/r.gpx|-|-|-|-| 1768039200 1768039200 - 0 none "
                        + "{lat|52.5|lon|13.4|}",
                ])
        #expect(lines.count == 7)
        #expect(report.filesRefused == [:] && report.elementsRefused == [:])
        #expect(report.elements["ClinicalRecordFile"] == 2)
        #expect(report.elements["Electrocardiogram"] == 1)
        #expect(report.elements["ClinicalDocument"] == 1)
        #expect(report.recordsRead == 1)
    }

    private static let large = [UInt8](repeating: 0x20, count: ExportFiles.longestFile)

    /// Each row is a file, what the report calls it, and why it is refused.
    @Test(
        arguments: [
            (
                "clinical-records/x.json", Array("{\"resourceType\":".utf8),
                "no FHIR resource in JSON"
            ),
            ("clinical-records/x.json", Array("{\"data\":{}}".utf8), "no FHIR resource in JSON"),
            ("clinical-records/x.json", Array("[1]".utf8), "no FHIR resource in JSON"),
            ("clinical-records/x.json", [0x22, 0xE9, 0x22], "not UTF-8"),
            (
                "electrocardiograms/x.csv", Array("Name,Alex\nDate of Birth,\n".utf8),
                "no list of numbers behind a heading"
            ),
            (
                "electrocardiograms/x.csv", Array("a,b\n5\n".utf8),
                "nothing says of which time it is"
            ),
            ("workout-routes/x.gpx", Array("<kml></kml>".utf8), "no GPX"),
            ("export_cda.xml", [0x3C, 0, 0x3E], "not UTF-8"),
            ("export_cda.xml", large + [1], "too large"),
        ] as [(String, [UInt8], String)])
    func `a file that cannot be kept is counted and named, and nothing else stops`(
        name: String, bytes: [UInt8], reason: String
    ) throws {
        for inFolder in [false, true] {
            let report = try read(
                Self.files.merging([name: bytes]) { $1 }, inFolder: inFolder)

            #expect(report.filesRefused == ["/\(name)": reason])
            #expect(report.elementsRefused.values.reduce(0, +) == 1)
            #expect(report.records?.count == (name == "export_cda.xml" ? 6 : 7))
            #expect(report.brokeAt == nil && report.recordsRead == 1)
        }
    }

    @Test func `of many refused files the first hundred are named, and all are counted`() throws {
        let files = Dictionary(
            uniqueKeysWithValues: (0..<120).map { ("clinical-records/\($0).json", [UInt8(0x5B)]) })

        let report = try read(files)

        #expect(report.filesRefused.count == 100)
        #expect(report.elementsRefused == ["ClinicalRecordFile": 120])
    }

    @Test func `a document of which nothing says when it was is refused`() throws {
        let report = try read(Self.files, document: "<HealthData>\(heartRate())</HealthData>")

        #expect(
            Set(report.filesRefused.keys) == [
                "/clinical-records/a.json", "/clinical-records/b.json", "/export_cda.xml",
            ])
        #expect(report.records?.count == 3)
    }
}
