import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Database
import Testing

/// Kills a job that gives the records back while it replaces the last export.
@Suite("A kill while records are given back", .timeLimit(.minutes(30)))
struct ExportKillTests {
    private static let former = KnownRecords().adding(at: KnownRecords.august, count: 120)
        .adding("StepCount", at: KnownRecords.august, count: 40)
    private static let later = former.adding(at: KnownRecords.september, count: 60)

    @Test(arguments: ["csv", "sqlite"])
    func `a kill at any point leaves the last complete export or the new one`(
        format: String
    ) async throws {
        let playground = try await playground(format)
        let counting = Faultline(counts: "\(playground.folder.path)/counts")
        let nas = "\(playground.folder.path)/nas"
        let whole = try await exported(playground, counting.environment(folder: nas))
        #expect(whole.status == 0, "\(whole.errors)")
        #expect(try content(playground, format) == Self.later.lines.count)
        let all = try counting.count(of: .any, program: .worker)
        var random = ChaosPlan.current.generator("export-kill \(format)")
        let points = Array(1...all).shuffled(using: &random)
            .prefix(ChaosPlan.current.size(slice: 5, whole: 100))
        // The exchange of the folders, and the removal of the former, are the last points.
        var line = ChaosLine("kill", measures: [.lost, .crashes])
        var kept: Set<Int> = []
        for nth in Set(points).union(max(1, all - 2)...all).sorted() {
            try putBack(playground)
            let faultline = Faultline(counts: "\(playground.folder.path)/counts")
            faultline.reset()
            let kill = Faultline.Rule(
                program: .worker, point: .any, when: nth.isMultiple(of: 2) ? .before : .after,
                nth: nth, action: "kill-both")

            let killed = try await exported(
                playground, faultline.environment(rules: [kill], folder: nas))
            #expect(try killed.status == 137 && faultline.struck() == 1, "\(kill): \(killed)")
            let left = try content(playground, format)
            let isWhole = [Self.former.lines.count, Self.later.lines.count].contains(left)
            line.lost += isWhole ? 0 : 1
            #expect(isWhole, "\(kill)")
            kept.insert(left)
            try proveOwnersAlone(nas, "\(kill)")
            let next = try await exported(playground, [:])

            #expect(next.status == 0, "\(kill): \(next.errors)")
            #expect(try content(playground, format) == Self.later.lines.count, "\(kill)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: nas) == ["records"])
            line.rounds += 1
            line.faults["both", default: 0] += 1
        }
        line.tell()
        #expect(kept == [Self.former.lines.count, Self.later.lines.count])
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends the command export-data without an unfinished file`(
        signal: Int32
    ) async throws {
        let playground = try await playground("csv")
        let out = "\(playground.folder.path)/out"
        mkdir(out, 0o700)
        for (format, path) in [("csv", "\(out)/records"), ("sqlite", "\(out)/records.db")] {
            let faultline = Faultline(counts: "\(playground.folder.path)/counts")
            faultline.reset()
            // Stops the program while the first file is unfinished.
            let stop = Faultline.Rule(
                program: .scheduler, point: .open, when: .after, nth: 1, action: "stop")
            let program = try playground.start(
                ["export-data", "--out", path, "--format", format],
                environment: faultline.environment(rules: [stop], folder: out))
            try await ProcessTable.waitForStop(of: program.processID)
            let unfinished = try FileManager.default.subpathsOfDirectory(atPath: out)
            program.signal(signal)
            program.signal(SIGCONT)
            let end = await program.finish()

            #expect(unfinished.contains { $0.hasSuffix(".part") }, "\(unfinished)")
            #expect(end.status == 128 + signal && end.output.isEmpty, "\(end)")
            #expect(
                end.errorLines == [
                    "clarity-jobs: interrupted; each file that is there is whole"
                ], "\(end)")
            let left = try FileManager.default.subpathsOfDirectory(atPath: out)
            #expect(left.allSatisfy { !$0.hasSuffix(".part") && !$0.hasSuffix(".db") }, "\(left)")
        }
    }

    // MARK: Parts

    /// Returns a playground with one export in its folder, and more records in the archive.
    private func playground(_ format: String) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil, isInMemory: true) { _, folder in
            """
            version: 1
            backend: { url: "http://127.0.0.1:9/api/v1" }
            jobs:
              - id: records
                kind: export-data
                schedule: { every: 1d }
                retry: { attempts: 1 }
                options: { folder: "\(folder)/nas/records", format: \(format) }

            """
        }
        mkdir("\(playground.folder.path)/nas", 0o700)
        try Self.former.write(to: playground)
        #expect(try await playground.importExport().status == 0)
        let first = try await exported(playground, [:])
        #expect(first.status == 0, "\(first.errors)")
        #expect(try content(playground, format) == Self.former.lines.count)
        try Self.later.write(to: playground)
        #expect(try await playground.importExport().status == 0)
        let folder = playground.folder.path
        try FileManager.default.copyItem(atPath: "\(folder)/nas", toPath: "\(folder)/nas-kept")
        return playground
    }

    private func putBack(_ playground: Playground) throws {
        let folder = playground.folder.path
        try FileManager.default.removeItem(atPath: "\(folder)/nas")
        try FileManager.default.copyItem(atPath: "\(folder)/nas-kept", toPath: "\(folder)/nas")
    }

    private func exported(
        _ playground: Playground, _ environment: [String: String]
    ) async throws -> ProgramResult {
        try await playground.run("run", "records", "--force", environment: environment)
    }

    /// Checks an export against the records that were imported, and returns how many it has.
    private func content(_ playground: Playground, _ format: String) throws -> Int {
        let path = "\(playground.folder.path)/nas/records"
        let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
        let manifest = try JSONValue(
            String(decoding: try TemporaryFolder.read("\(path)/export.json"), as: UTF8.self))
        let written = try #require(manifest["records"].number)
        if format == "csv" {
            let lines = try Playground.csvLines(in: path)
            let isWhole = lines == Self.former.lines || lines == Self.later.lines
            #expect(isWhole && lines.count == written)
            #expect(names.allSatisfy { $0 == "export.json" || $0.hasSuffix(".csv") }, "\(names)")
        } else {
            #expect(names == ["export.json", "records.db"])
            let database = try FileConnection(path: "\(path)/records.db", access: .immutable)
            #expect(try database.first("PRAGMA integrity_check") { $0.text(0) } == "ok")
            let count = try database.first(#"SELECT count(*) FROM "all records""#) { $0.integer(0) }
            #expect(count == Int64(written))
        }
        return written
    }

    /// Checks that nobody else can read a file, a hidden one included.
    private func proveOwnersAlone(_ folder: String, _ what: String) throws {
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            var status = stat()
            #expect(lstat("\(folder)/\(name)", &status) == 0)
            #expect(status.st_mode & 0o077 == 0, "\(what): \(name)")
        }
    }
}
