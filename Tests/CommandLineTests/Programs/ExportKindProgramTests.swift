import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Database
import Testing

@Suite("Records given back on a schedule", .timeLimit(.minutes(5)))
struct ExportKindProgramTests {
    /// Returns a playground with a job that exports the records of the shipped export, which it has
    /// read if `isFilled`.
    private func playground(
        _ options: String = "", isFilled: Bool = true
    ) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { url, folder in
            """
            version: 1
            backend: { url: "\(url)" }
            jobs:
              - id: records
                kind: export-data
                schedule: { every: 1d }
                retry: { attempts: 1 }
                options: { folder: "\(folder)/nas/records"\(options) }

            """
        }
        mkdir("\(playground.folder.path)/nas", 0o700)
        guard isFilled else { return playground }
        try playground.useExample("export.zip")
        let path = "\(playground.folder.path)/export.xml"
        let read = try await playground.run("import", path, "-q", environment: ["TZ": "UTC"])
        #expect(read.status == 0, "\(read.errors)")
        return playground
    }

    /// Returns the content of each file in the folder beside which the exports are, hidden ones too.
    private func files(_ playground: Playground) throws -> [String: [UInt8]] {
        let folder = "\(playground.folder.path)/nas"
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            var isFolder: ObjCBool = false
            let path = "\(folder)/\(name)"
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            files[name] = isFolder.boolValue ? [] : try TemporaryFolder.read(path)
        }
        return files
    }

    @Test func `a job writes what the command writes, for the owner alone, and logs it`()
        async throws
    {
        let playground = try await playground()
        let folder = "\(playground.folder.path)/nas/records"
        _ = try await playground.run("export-data", "--out", "\(playground.folder.path)/wanted")

        let run = try await playground.run("run", "records", "-v")
        let log = try await playground.run("audit", "log")

        #expect(run.status == 0, "\(run.errors)")
        #expect(
            run.output.contains("records: succeeded") && run.output.contains("2231 records written")
        )
        #expect(
            (run.output + run.errors).contains(
                "wrote 25 types as csv to `\(folder)`, not encrypted"))
        let manager = FileManager.default
        let wanted = try manager.contentsOfDirectory(atPath: "\(playground.folder.path)/wanted")
        let found = try manager.contentsOfDirectory(atPath: folder)
        #expect(found.sorted() == (wanted + ["export.json"]).sorted())
        for name in wanted {
            #expect(
                try TemporaryFolder.read("\(folder)/\(name)")
                    == TemporaryFolder.read("\(playground.folder.path)/wanted/\(name)"), "\(name)")
        }
        for path in [folder] + found.map({ "\(folder)/\($0)" }) {
            let mode = try manager.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == (path == folder ? 0o700 : 0o600), "\(path)")
        }
        let entry = log.outputLines.last ?? ""
        #expect(entry.contains("exported  months of records"), "\(log.output)")
        #expect(entry.contains("(as csv, by export-data)  records run 1 attempt 1"), "\(entry)")
    }

    @Test(arguments: [
        (
            "fhir, grain: hourly", "HeartRate",
            ["Device.ndjson", "Observation.HKQuantityTypeIdentifierHeartRate.ndjson"]
        ),
        ("sqlite", "HeartRate, VO2Max", ["records.db"]),
    ])
    func `a job has a format and types`(
        format: String, types: String, names: [String]
    ) async throws {
        let playground = try await playground(", format: \(format), types: [\(types)]")

        let run = try await playground.run("run", "records")
        let again = try await playground.run("run", "records", "--force")

        #expect(run.status == 0 && again.status == 0, "\(run.errors) \(again.errors)")
        #expect(
            try files(playground).keys.sorted()
                == ["records"] + (names + ["export.json"]).sorted().map { "records/\($0)" })
    }

    @Test func `an attempt that is killed leaves the last export, and the next one no trace`()
        async throws
    {
        let playground = try await playground()
        _ = try await playground.run("run", "records")
        let last = try files(playground)
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        let kill = Faultline.Rule(
            program: .worker, point: .write, when: .before, nth: 12, action: "kill-both")

        let killed = try await playground.run(
            "run", "records", "--force",
            environment: faultline.environment(
                rules: [kill], folder: "\(playground.folder.path)/nas"))
        let left = try files(playground)
        let next = try await playground.run("run", "records", "--force")

        #expect(try faultline.struck() == 1)
        #expect(killed.status == 137)
        #expect(left.filter { last[$0.key] != nil } == last)
        #expect(left.keys.contains { $0.hasPrefix(".records.clarity-jobs-part/") })
        #expect(next.status == 0, "\(next.errors)")
        #expect(try files(playground).keys.sorted() == last.keys.sorted())
    }

    @Test func `a full disk leaves the last export and nothing beside it`() async throws {
        let playground = try await playground()
        _ = try await playground.run("run", "records")
        let last = try files(playground)
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        let full = Faultline.Rule(
            program: .worker, point: .write, when: .before, nth: 3, goesOn: true,
            action: "ENOSPC")

        let failed = try await playground.run(
            "run", "records", "--force",
            environment: faultline.environment(
                rules: [full], folder: "\(playground.folder.path)/nas"))

        #expect(failed.status == 74, "\(failed.output) \(failed.errors)")
        #expect((failed.output + failed.errors).contains("No space left on device"))
        #expect(try files(playground) == last)
    }

    @Test func `damaged records leave the last complete export`() async throws {
        let playground = try await playground()
        _ = try await playground.run("run", "records")
        let last = try files(playground)
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite).execute(
            """
            UPDATE segments
            SET sealed = CAST(x'00' || substr(sealed, 2) AS BLOB)
            WHERE id = (SELECT min(id) FROM segments WHERE type LIKE '%HeartRate')
            """)

        let failed = try await playground.run("run", "records", "--force")

        #expect(failed.status == 74, "\(failed.output) \(failed.errors)")
        #expect(
            (failed.output + failed.errors).contains(
                "damaged records in 1 month; `\(playground.folder.path)/nas/records` stays as it "
                    + "is, and `clarity-jobs audit` names them"))
        #expect(try files(playground) == last)
    }

    @Test func `an archive without records, and a type that it does not have, write nothing`()
        async throws
    {
        let empty = try await playground(", types: [HeartRat]", isFilled: false)
        let filled = try await playground(", types: [HeartRat]")

        let nothing = try await empty.run("run", "records", "-v")
        let unknown = try await filled.run("run", "records", "-v")

        #expect(nothing.status == 0, "\(nothing.errors)")
        #expect((nothing.output + nothing.errors).contains("the archive has no records yet"))
        #expect(unknown.status == 78, "\(unknown.output) \(unknown.errors)")
        #expect(
            (unknown.output + unknown.errors).contains(
                "the archive has no records of the type `HeartRat`; did you mean `HeartRate`?"))
        #expect(try files(empty).isEmpty && files(filled).isEmpty)
    }

    @Test func `a dry run says what it would write, and writes nothing`() async throws {
        let playground = try await playground(", format: fhir")

        let dry = try await playground.run("dry-run", "records")

        #expect(dry.status == 0, "\(dry.errors)")
        #expect(
            dry.output.contains(
                "would write 25 types as fhir to `\(playground.folder.path)/nas/records`, not "
                    + "encrypted"))
        #expect(try files(playground).isEmpty)
    }
}
