import HealthStore
import ClarityScheduler
@testable import Reports
import ClarityTestSupport
import Foundation
import Testing

@Suite struct ExportFolderTests {
    private let folder: TemporaryFolder
    private let store: HealthStore
    private let now = Instant(secondsSince1970: 1_760_000_000)

    init() throws {
        folder = try TemporaryFolder()
        store = try HealthStore(stateDirectory: "\(folder.path)/state", environment: [:])
        mkdir("\(folder.path)/nas", 0o700)
        try keep(1)
    }

    private var path: String { "\(folder.path)/nas/records" }

    /// Stores a heart rate for each of so many minutes.
    private func keep(_ count: Int) throws {
        var collector = ArchiveCollector()
        let number = collector.type("HKQuantityTypeIdentifierHeartRate")
        let type = try #require(number)
        let origin = collector.texts.index(of: RecordOrigin(source: "Watch").bytes)
        for minute in 0..<count {
            let start = 1_700_000_000 + Int64(minute) * 60
            collector.add(
                ArchivedRecord(
                    start: start, end: start, created: nil, offsets: ClockOffsets(),
                    origin: origin, value: .number(mantissa: 60, decimals: 0)),
                type: type)
        }
        _ = try store.archive.keep(collector, of: "test", zone: nil)
    }

    private func replace(
        canExchange: Bool = true,
        progress: (RecordExport.Progress) throws(RecordExport.Fault) -> Void = { _ in }
    ) throws(RecordExport.Fault) -> RecordExport.Receipt {
        let types = try RecordExport.types(of: store, named: [])
        return try ExportFolder(path, canExchange: canExchange).replace(
            types, of: store, as: .csv, at: now, progress: progress)
    }

    /// The names beside the folder and in it, hidden ones too.
    private func names(in folder: String = "nas") throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: "\(self.folder.path)/\(folder)")
            .sorted()
    }

    private static let complete = [
        "records", "records/HKQuantityTypeIdentifierHeartRate.csv", "records/export.json",
    ]

    @Test(arguments: [true, false])
    func `an export takes the place of the last one`(canExchange: Bool) throws {
        _ = try replace(canExchange: canExchange)
        try keep(3)

        let receipt = try replace(canExchange: canExchange)

        #expect(receipt.path == path && receipt.records == 3)
        #expect(try names() == Self.complete)
        let manifest = String(
            decoding: try TemporaryFolder.read("\(path)/export.json"), as: UTF8.self)
        #expect(manifest.contains(#""written_by": "clarity-jobs""#))
        #expect(manifest.contains(#""at": "\#(now)""#) && manifest.contains(#""records": 3"#))
    }

    @Test func `a reader finds a complete export at every step of the next one`() throws {
        _ = try replace()
        try keep(2)
        let before = try TemporaryFolder.read("\(path)/export.json")

        _ = try replace { _ throws(RecordExport.Fault) in
            #expect((try? TemporaryFolder.read("\(path)/export.json")) == before)
            #expect((try? names(in: "nas/records").count) == 2)
        }

        #expect(try TemporaryFolder.read("\(path)/export.json") != before)
    }

    @Test func `an export that is stopped leaves the last one, and nothing else`() throws {
        _ = try replace()
        let before = try TemporaryFolder.read("\(path)/export.json")

        #expect {
            try replace { _ throws(RecordExport.Fault) in throw .stopped }
        } throws: { error in
            if case RecordExport.Fault.stopped = error { true } else { false }
        }

        #expect(try names() == Self.complete)
        #expect(try TemporaryFolder.read("\(path)/export.json") == before)
    }

    @Test func `what a killed export left is removed, and the former export comes back`() throws {
        _ = try replace(canExchange: false)
        let before = try TemporaryFolder.read("\(path)/export.json")
        // A kill between two renames, on a file system that cannot exchange folders.
        rename(path, "\(folder.path)/nas/.records.clarity-jobs-former")
        mkdir("\(folder.path)/nas/.records.clarity-jobs-part", 0o700)
        try folder.write("nas/.records.clarity-jobs-part/HK.csv.part", [1])

        #expect {
            try replace { _ throws(RecordExport.Fault) in throw .stopped }
        } throws: { error in
            if case RecordExport.Fault.stopped = error { true } else { false }
        }

        #expect(try names() == Self.complete)
        #expect(try TemporaryFolder.read("\(path)/export.json") == before)
        _ = try replace(canExchange: false)
        #expect(try names() == Self.complete)
    }

    @Test func `only one process writes beside a folder`() throws {
        var inner: RecordExport.Fault?

        _ = try replace { _ throws(RecordExport.Fault) in
            do throws(RecordExport.Fault) { _ = try replace() } catch { inner = error }
        }

        let failure = try #require(inner?.failure)
        #expect(failure == Failure(.disk, "another process writes beside `\(path)`"))
        #expect(try names() == Self.complete)
    }

    @Test func `a folder that no export made is not replaced`() throws {
        mkdir(path, 0o700)
        try folder.write("nas/records/thesis.odt", [1])

        #expect {
            try replace()
        } throws: { error in
            (error as? RecordExport.Fault)?.failure
                == Failure(.configuration, "`\(path)` is not empty; name another folder")
        }

        #expect(try names() == ["records", "records/thesis.odt"])
    }

    @Test func `a link to a folder stays, and is not replaced if it leads nowhere`() throws {
        symlink("\(folder.path)/share", path)
        #expect {
            try replace()
        } throws: { error in
            (error as? RecordExport.Fault)?.failure
                == Failure(.disk, "cannot write `\(path)`: No such file or directory")
        }
        mkdir("\(folder.path)/share", 0o700)

        let receipt = try replace()

        #expect(receipt.path == "\(folder.path)/share")
        #expect(try names() == ["records"])
        #expect(try names(in: "share") == ["HKQuantityTypeIdentifierHeartRate.csv", "export.json"])
    }

    @Test func `a folder is not made in one that is missing`() throws {
        rmdir("\(folder.path)/nas")

        #expect {
            try replace()
        } throws: { error in
            (error as? RecordExport.Fault)?.failure
                == Failure(
                    .disk, "cannot write `\(folder.path)/nas`: No such file or directory")
        }
    }
}
