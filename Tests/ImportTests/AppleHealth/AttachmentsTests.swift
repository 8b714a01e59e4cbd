import ClarityTestSupport
import Glibc
import Testing

@testable import Import

@Suite struct AttachmentsTests {
    private static let document = Array("<HealthData>\(heartRate())</HealthData>".utf8)

    @Test(
        arguments: [
            ("apple_health_export/electrocardiograms/ecg_2024-01-21.csv", .electrocardiograms),
            ("apple_health_export/workout-routes/route_2024-01-21_8.30am.gpx", .workoutRoutes),
            ("apple_health_export/clinical-records/Observation-1.JSON", .clinicalRecords),
            ("apple_health_export/export_cda.xml", .clinicalDocuments),
            ("apple_health_export/eksport_cda.xml", .others),
            ("gpx", .others), ("", .others), ("a/", nil), ("workout-routes/", nil),
        ] as [(String, Attachments?)])
    func `the ending of a name tells what lies beside the text`(name: String, sort: Attachments?) {
        #expect(Attachments(name: Array(name.utf8)) == sort)
    }

    @Test func `a name that cannot be read is one of the others`() {
        #expect(Attachments(name: nil) == .others)
    }

    @Test(arguments: [0, 3, 6])
    func `members before and behind the export in an archive are counted`(place: Int) throws {
        var members = [
            "electrocardiograms/ecg_1.csv", "electrocardiograms/ecg_2.csv", "workout-routes/r.gpx",
            "clinical-records/o.json", "export_cda.xml", "readme.txt",
        ].map { ZipWriter.Member("apple_health_export/\($0)", Array("<x/>".utf8)) }
        members.insert(.init("apple_health_export/export.xml", Self.document), at: place)
        let folder = try TemporaryFolder()
        try Files.write(ZipWriter.archive(members), to: "\(folder.path)/export.zip")

        let report = try AppleHealthExport(path: "\(folder.path)/export.zip", now: readingTime)
            .read { _, _ in }

        #expect(report.recordsRead == 1)
        #expect(
            report.attachments == [
                "electrocardiograms": 2, "workout routes": 1, "clinical records": 1,
                "clinical documents": 1, "others": 1,
            ])
    }

    @Test func `files beside the export in a folder are counted`() throws {
        let folder = try TemporaryFolder()
        for name in ["electrocardiograms", "workout-routes", "empty"] {
            mkdir("\(folder.path)/\(name)", 0o700)
        }
        for name in [
            "electrocardiograms/a.csv", "workout-routes/a.gpx", "workout-routes/b.gpx",
            "export_cda.xml", ".hidden",
        ] {
            try Files.write([], to: "\(folder.path)/\(name)")
        }
        try Files.write(Self.document, to: "\(folder.path)/export.xml")

        let report = try AppleHealthExport(path: folder.path, now: readingTime).read { _, _ in }

        #expect(report.recordsRead == 1)
        #expect(
            report.attachments == [
                "electrocardiograms": 1, "workout routes": 2, "clinical documents": 1,
            ])
    }

    @Test func `a plain file has nothing beside it`() throws {
        let folder = try TemporaryFolder()
        try Files.write(Self.document, to: "\(folder.path)/export.xml")
        try Files.write(Self.document, to: "\(folder.path)/b.csv")

        let report = try AppleHealthExport(path: "\(folder.path)/export.xml", now: readingTime)
            .read { _, _ in }

        #expect(report.attachments == [:])
    }
}
