import ClarityTestSupport
import Testing

@testable import Import

/// Tests archives that another program writes.
@Suite(.enabled(if: Python.isPresent, "\(Python.need)")) struct ForeignArchiveTests {
    /// Writes an archive in zip64 form, with other files beside the export. A streamed archive has
    /// sizes and checksum after each member; a `far` one has the export beyond 4 GiB.
    private static let writer = """
        import sys, zipfile
        class Pipe:
            def __init__(self, file): self.file = file
            def write(self, data): return self.file.write(data)
            def flush(self): self.file.flush()
        path, kind, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
        record = ('<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="a" '
            'unit="count/min" startDate="2024-01-21 08:30:00 -0500" '
            'endDate="2024-01-21 08:30:00 -0500" value="61"/>')
        method = zipfile.ZIP_STORED if kind == 'stored' else zipfile.ZIP_DEFLATED
        with open(path, 'wb') as file:
            target = Pipe(file) if kind == 'streamed' else file
            with zipfile.ZipFile(target, 'w', method, allowZip64=True, compresslevel=1) as archive:
                archive.writestr('apple_health_export/workout-routes/a.gpx', '<gpx/>')
                # A hole in the file, where a member of that length could be.
                if kind == 'far': archive.start_dir += 4300 << 20
                name = 'apple_health_export/\\u044d\\u043a\\u0441\\u043f\\u043e\\u0440\\u0442.xml'
                with archive.open(name, 'w', force_zip64=True) as member:
                    member.write(b'<HealthData>\\n')
                    piece = b' ' * (1 << 20)
                    for _ in range(size >> 20): member.write(piece)
                    member.write((record + '</HealthData>').encode())
                archive.writestr('apple_health_export/export_cda.xml', '<ClinicalDocument/>')
        """

    @Test(arguments: ["deflated", "stored", "streamed", "far"])
    func `an archive in zip64 form is read`(kind: String) throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/renamed.zip"
        try Python.run(ForeignArchiveTests.writer, [path, kind, "4194304"])

        let report = try AppleHealthExport(path: path, now: readingTime).read { _, _ in }

        #expect(report.recordsRead == 1)
        #expect(report.brokeAt == nil)
        #expect(report.attachments == ["workout routes": 1, "clinical documents": 1])
        #expect(report.bytesRead > 4_194_304)
    }
}
