import HealthStore
import Glibc
import Testing

@testable import Import

@Suite struct AppleHealthExportTests {
    private static let document = Array(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE HealthData []>\n<HealthData>\(heartRate())</HealthData>\n"
            .utf8)

    private func read(_ path: String) throws -> Reading {
        var result = Reading()
        result.report = try AppleHealthExport(path: path, now: readingTime).read {
            sample, _ in result.samples.append(sample)
        }
        return result
    }

    /// Reads an archive with these members.
    private func read(_ members: [ZipWriter.Member]) throws -> Reading {
        try Files.withFolder { folder in
            try Files.write(ZipWriter.archive(members), to: "\(folder)/export.zip")
            return try read("\(folder)/export.zip")
        }
    }

    @Test func `a plain file is read`() throws {
        let result = try Files.withFolder { folder in
            try Files.write(Self.document, to: "\(folder)/whatever")
            return try read("\(folder)/whatever")
        }

        #expect(result.samples == [.heartRate(61)])
        #expect(result.report.bytesRead == Int64(Self.document.count))
    }

    @Test func `a folder is read when it holds an export`() throws {
        let result = try Files.withFolder { folder in
            try Files.write(Array("<ClinicalDocument/>".utf8), to: "\(folder)/export_cda.xml")
            try Files.write(Self.document, to: "\(folder)/vienti.XML")
            try Files.write(Self.document, to: "\(folder)/notes.txt")
            return try read(folder)
        }

        #expect(result.samples == [.heartRate(61)])
    }

    @Test func `a folder or an archive with two exports is refused, whichever comes first`() throws
    {
        try Files.withFolder { folder in
            let path = "\(folder)/apple_health_export"
            mkdir(path, 0o700)
            let names = ["export.xml", "export 2.xml"]
            for name in names { try Files.write(Self.document, to: "\(path)/\(name)") }
            let zip = "\(folder)/export.zip"
            let members = names.map { ZipWriter.Member("apple_health_export/\($0)", Self.document) }
            let route = ZipWriter.Member("apple_health_export/workout-routes/a.gpx", [0x3C])

            #expect(throws: SourceError.severalExports(path: path, names.reversed())) {
                try read(path)
            }
            for members in [members, [members[0], route, members[1]]] {
                try Files.write(ZipWriter.archive(members), to: zip)
                let found = names.map { "apple_health_export/\($0)" }
                #expect(throws: SourceError.severalExports(path: zip, found)) { try read(zip) }
            }
            #expect(
                "\(SourceError.severalExports(path: "x.zip", names))"
                    == "`x.zip` has two Apple Health exports in it, `export.xml` and "
                    + "`export 2.xml`; leave the newer one alone there")
        }
    }

    @Test func `what cannot be opened beside an export is passed over`() throws {
        let result = try Files.withFolder { folder in
            symlink("\(folder)/gone", "\(folder)/a.xml")
            symlink("\(folder)/b.xml", "\(folder)/b.xml")
            try Files.write([], to: "\(folder)/c.xml")
            try Files.write(Self.document, to: "\(folder)/export.xml")
            return try read(folder)
        }

        #expect(result.samples == [.heartRate(61)])
    }

    @Test(arguments: [
        "apple_health_export/export.xml", "apple_health_export/eksport.xml", "exportar.xml",
        "apple_health_export/\u{44D}\u{43A}\u{441}\u{43F}\u{43E}\u{440}\u{442}.xml",
        "Export/Export.XML",
    ])
    func `the export in an archive is found by what it holds`(name: String) throws {
        for isUTF8 in [true, false] {
            let result = try read([
                .init("apple_health_export/export_cda.xml", Array("<ClinicalDocument/>".utf8)),
                .init("apple_health_export/electrocardiograms/ecg.csv", Array("Name,\n".utf8)),
                .init("apple_health_export/empty.xml", []),
                .init(name, Self.document, isUTF8: isUTF8),
            ])

            #expect(result.samples == [.heartRate(61)])
            #expect(result.report.brokeAt == nil)
        }
    }

    @Test func `a member in zip64 form is read`() throws {
        let result = try read([.init("a/export.xml", Self.document, isZip64: true)])

        #expect(result.samples == [.heartRate(61)])
    }

    @Test(arguments: ["a/b/export.xml", "a/export.txt", "export"])
    func `a member that lies deeper or is no xml is not taken`(name: String) throws {
        #expect(throws: SourceError.self) { try read([.init(name, Self.document)]) }
    }

    @Test func `a wrong checksum is reported and what was read stands`() throws {
        let result = try read([.init("a/export.xml", Self.document, isCorrupt: true)])

        #expect(result.samples == [.heartRate(61)])
        let broken = try #require(result.report.brokeAt)
        #expect(broken.reason.contains("CRC"), "\(broken.reason)")
        #expect(broken.byteOffset == Int64(Self.document.count))
    }

    @Test func `a truncated archive gives what is in it and says that it broke`() throws {
        let whole = try Files.bytes("\(Files.root)/Examples/export.zip")

        let result = try Files.withFolder { folder in
            try Files.write(Array(whole.prefix(whole.count / 2)), to: "\(folder)/export.zip")
            return try read("\(folder)/export.zip")
        }

        let broken = try #require(result.report.brokeAt)
        #expect(result.report.recordsRead > 500)
        #expect(result.report.unexplained == 0)
        #expect(broken.byteOffset == result.report.bytesRead)
        #expect(broken.reason.hasPrefix("the archive is damaged or cut off ("))
    }

    @Test func `a damaged archive is read up to the damage`() throws {
        var damaged = try Files.bytes("\(Files.root)/Examples/export.zip")
        for index in damaged.count / 2..<damaged.count / 2 + 64 { damaged[index] ^= 0xA5 }

        let result = try Files.withFolder { folder in
            try Files.write(damaged, to: "\(folder)/export.zip")
            return try read("\(folder)/export.zip")
        }

        #expect(result.report.brokeAt != nil)
        #expect(result.report.recordsRead > 500)
        #expect(result.report.unexplained == 0)
    }

    @Test func `an export that is damaged from its first byte is not taken for a missing one`()
        throws
    {
        var damaged = try Files.bytes("\(Files.root)/Examples/export-malformed.zip")
        // Damages nearly all data of the last member, which is before the central directory.
        let directory = try #require(damaged.firstRange(of: [0x50, 0x4B, 0x01, 0x02]))
        for index in directory.lowerBound - 1900..<directory.lowerBound { damaged[index] = 0xFF }

        try Files.withFolder { folder in
            try Files.write(damaged, to: "\(folder)/export.zip")

            #expect(
                message("\(folder)/export.zip")?.hasPrefix(
                    "cannot read the zip archive `\(folder)/export.zip`: the archive is damaged")
                    == true)
        }
    }

    @Test func `an archive that inflates beyond the limit is stopped`() throws {
        let path = "\(Files.root)/Examples/export.zip"
        let source = try ArchiveSource(try OpenFile(path: path), path: path, limit: 200_000)
        var reading = ExportReading(source: source, mapper: RecordMapper(now: readingTime))

        let report = try reading.run { _, _ in }

        #expect(
            report.brokeAt
                == SourceBreak(
                    byteOffset: 200_000,
                    reason: "the archive inflates to more than 200000 bytes; it is not read on"))
        #expect(report.bytesRead == 200_000)
    }

    @Test func `an error of the caller goes through an archive`() throws {
        struct Stop: Error {}

        try Files.withFolder { folder in
            let path = "\(folder)/export.zip"
            try Files.write(ZipWriter.archive([.init("export.xml", Self.document)]), to: path)

            #expect(throws: Stop.self) {
                try AppleHealthExport(path: path, now: readingTime).read { _, _ in throw Stop() }
            }
        }
    }

    @Test func `progress in an archive knows the whole`() throws {
        var last: SourceProgress?

        _ = try AppleHealthExport(path: "\(Files.root)/Examples/export.zip", now: readingTime)
            .read(progress: { last = $0 }) { _, _ in }

        let progress = try #require(last)
        #expect(progress.bytesRead > 500_000)
        #expect(progress.bytesTotal == progress.bytesRead)
    }

    @Test func `what cannot be read at all says so in one line`() throws {
        try Files.withFolder { folder in
            try Files.write([], to: "\(folder)/empty")
            try Files.write(Array("hello".utf8), to: "\(folder)/text")
            try Files.write(ZipWriter.archive([]), to: "\(folder)/none.zip")
            try Files.write(
                ZipWriter.archive([.init("a.xml", Array("<x/>".utf8))]), to: "\(folder)/other.zip")
            try Files.write(Array("PK\u{03}\u{04}rubbish".utf8), to: "\(folder)/bad.zip")
            mkfifo("\(folder)/pipe", 0o600)

            #expect(message("\(folder)/no") == "no file or folder `\(folder)/no`")
            #expect(message("\(folder)/text/x") == "no file or folder `\(folder)/text/x`")
            #expect(
                message("\(folder)/empty")
                    == "`\(folder)/empty` is empty; export it from the phone again")
            #expect(
                message("\(folder)/text")
                    == "`\(folder)/text` is neither a zip archive nor an Apple Health export")
            for name in ["none.zip", "other.zip"] {
                #expect(
                    message("\(folder)/\(name)")
                        == "`\(folder)/\(name)` has no Apple Health export in it "
                        + "(an xml file whose root is `HealthData`)")
            }
            #expect(
                message(folder)
                    == "`\(folder)` has no Apple Health export in it "
                    + "(an xml file whose root is `HealthData`)")
            #expect(message("\(folder)/pipe") == "`\(folder)/pipe` is neither a file nor a folder")
            #expect(
                message("\(folder)/bad.zip")?
                    .hasPrefix("cannot read the zip archive `\(folder)/bad.zip`: ") == true)
        }
    }

    // The superuser may read every file.
    @Test(.enabled(if: geteuid() != 0))
    func `a file without permission says so`() throws {
        try Files.withFolder { folder in
            try Files.write(Self.document, to: "\(folder)/export.xml")
            chmod("\(folder)/export.xml", 0)

            #expect(
                message("\(folder)/export.xml") == "no permission to read `\(folder)/export.xml`")
        }
    }

    private func message(_ path: String) -> String? {
        do {
            _ = try read(path)
            return nil
        } catch let error as SourceError {
            return error.description
        } catch {
            return "another error: \(error)"
        }
    }
}
