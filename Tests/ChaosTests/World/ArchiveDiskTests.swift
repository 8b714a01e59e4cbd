import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// A disk without space while records or packed samples are written.
@Suite("A disk that is full while the archive is written", .timeLimit(.minutes(30)))
struct ArchiveDiskTests {
    @Test func `an import whose disk is full says so, loses nothing, and is completed later`()
        async throws
    {
        let scene = try await ArchiveScene()
        var random = ChaosPlan.current.generator("archive-disk")
        let writes = try scene.count(of: .write)
        let rounds = ChaosPlan.current.size(slice: 3, whole: 60)
        var line = ChaosLine("world-disk", measures: [.lost, .doubled, .crashes])
        var failures = 0
        for round in 0..<rounds {
            // One in each part of the import, the last with the archive.
            let (low, high) = (writes * round / rounds, writes * (round + 1) / rounds)
            let full = Faultline.Rule(
                program: ArchiveScene.program, point: .write, when: .before,
                nth: Int.random(in: low + 1...max(low + 1, high), using: &random), goesOn: true,
                action: Bool.random(using: &random) ? "ENOSPC" : "EDQUOT")
            let (result, struck) = try await scene.disturbed(by: full)
            let isComplete = result.status == 0
            #expect(struck, "\(full)")
            #expect(isComplete || result.errorLines.count == 1, "\(full): \(result.errors)")
            line.rounds += 1
            line.faults["write-\(full.action.lowercased())", default: 0] += struck ? 1 : 0
            line.judge(result, statuses: [0, 74], "\(full)")
            // It is complete only if nothing but the copy of the log into the database failed.
            let wasComplete = try await scene.prove("\(full)", &line)
            #expect(wasComplete || !isComplete, "\(full)")
            failures += isComplete ? 0 : 1
        }
        line.tell()
        #expect(failures > 0)
    }

    @Test(.enabled(if: TinyDisk.isAllowed, "this process may not mount a file system"))
    func `a file system that is really full stops an import, and space completes it`() async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        let disk = try TinyDisk(on: playground.statePath, kibibytes: 2048)
        defer { disk.remove() }
        let former = KnownRecords().adding(at: KnownRecords.august, count: 200)
        let whole = former.adding(at: KnownRecords.september, count: 30_000)
        try former.write(to: playground)
        #expect(try await playground.importExport().status == 0)
        try whole.write(to: playground)

        let full = try await playground.importExport()
        let next = try await playground.importExport()
        try disk.makeSpace(kibibytes: 60_000)
        let between = try await playground.archivedLines()
        let completed = try await playground.importExport()
        let audit = try await playground.run("audit")

        for result in [full, next] {
            #expect(result.status == 74 && result.errorLines.count == 1, "\(result)")
            #expect(result.errors.contains("full"), "\(result)")
        }
        #expect(between.lacks(former.lines) == 0 && completed.status == 0)
        let isComplete = try await playground.archivedLines() == whole.lines
        #expect(isComplete)
        #expect(audit.output.contains("the archive is sound: 30200 records\n"), "\(audit)")
    }

    @Test func `packing on a full disk loses nothing and is completed later`() async throws {
        let scene = try await PackingScene()
        var random = ChaosPlan.current.generator("packing-disk")
        var line = ChaosLine("world-disk", measures: [.lost, .crashes])
        var failures = 0
        let rounds = ChaosPlan.current.size(slice: 2, whole: 40)
        for round in 0..<rounds {
            let (low, high) = (scene.writes * round / rounds, scene.writes * (round + 1) / rounds)
            let full = Faultline.Rule(
                program: .worker, point: .write, when: .before,
                nth: Int.random(in: low + 1...max(low + 1, high), using: &random), goesOn: true,
                action: "ENOSPC")
            let (result, struck) = try await scene.disturbed(by: full)
            #expect(struck, "\(full)")
            line.rounds += 1
            line.faults["write-enospc", default: 0] += struck ? 1 : 0
            line.judge(result, statuses: [0, 74], "\(full)")
            failures += result.status == 0 ? 0 : 1
            #expect(try result.status == 74 || scene.rows() == 0, "\(full)")
            line.lost += try await scene.prove("\(full)")
        }
        line.tell()
        #expect(failures > 0)
        try await scene.proveKnown()
    }
}
