import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("A disk that is full", .serialized, .timeLimit(.minutes(40)))
struct DiskTests {
    @Test(arguments: DeliveryJudge.Policy.drawn("disk"))
    func `at whatever write the space ends, nothing is lost`(
        policy: DeliveryJudge.Policy
    ) async throws {
        let sweep = WorldSweep(
            part: "world-disk",
            kinds: [
                .init(point: .write, action: "ENOSPC"), .init(point: .write, action: "EDQUOT"),
            ],
            deeds: [.upload, .refresh, .insights, .cleanup, .everything, .importing, .rotation],
            statuses: [0, 74], policy: policy)

        let line = try await sweep.run(rounds: ChaosPlan.current.size(slice: 2, whole: 80))

        line.tell()
        #expect(line.faults.values.reduce(0, +) > 0)
    }

    @Test(.enabled(if: TinyDisk.isAllowed, "this process may not mount a file system"))
    func `a disk that fills in the middle of an upload ends it, and space completes it`()
        async throws
    {
        var random = ChaosPlan.current.generator("world-tmpfs")
        var line = ChaosLine("world-disk")
        for _ in 0..<ChaosPlan.current.size(slice: 1, whole: 20) {
            let disk = OneDisk()
            let scene = try await WorldScene(isFresh: true) { playground in
                disk.disk = try TinyDisk(on: playground.statePath, kibibytes: 4096)
            }
            defer { disk.disk?.remove() }
            let tiny = try #require(disk.disk)
            try scene.addSamples(400)
            let uploads = Int.random(in: 0...40, using: &random)

            let full = try await scene.disturb {
                let upload = try scene.playground.start(["run", "upload"])
                try await scene.sandbox.wait(for: uploads, of: upload) {
                    try await $0.count("uploads")
                }
                try await blocking { try tiny.fill() }
                return await upload.finish()
            }
            let next = try await scene.playground.run("run", "refresh")
            try tiny.makeSpace(kibibytes: 30_000)
            let proof = try await scene.proof()

            line.rounds += 1
            if full.status != 0 || next.status != 0 { line.faults["full-disk", default: 0] += 1 }
            line.judge(full, statuses: [0, 74], "full after \(uploads) uploads")
            line.judge(next, statuses: [0, 74], "on a full disk")
            line.add(proof)
            #expect(proof.holds, "full after \(uploads) uploads: \(proof)")
        }
        line.tell()
        #expect(line.faults["full-disk", default: 0] > 0)
    }

    @Test func `a loop whose disk fails waits for it, and the next program goes on`() async throws {
        var random = ChaosPlan.current.generator("world-loop")
        var line = ChaosLine("world-disk")
        for _ in 0..<ChaosPlan.current.size(slice: 1, whole: 12) {
            let scene = try await WorldScene(isFresh: true)
            try scene.addSamples(16)
            let faultline = Faultline(counts: "\(scene.playground.folder.path)/counts")
            // Within the first runs, which need more writes than these.
            let full = Faultline.Rule(
                program: .scheduler, point: .write, when: .before,
                nth: Int.random(in: 1...240, using: &random), goesOn: true,
                action: Bool.random(using: &random) ? "ENOSPC" : "EIO")

            let end = try await scene.disturb {
                let loop = try scene.playground.start(
                    ["loop"],
                    environment: faultline.environment(
                        rules: [full], folder: scene.playground.folder.path))
                // A history that cannot even be created ends the loop.
                var said = ""
                while !said.contains("cannot "), let error = await loop.readErrorLine() {
                    said += "\(error)\n"
                }
                loop.signal(SIGTERM)
                var end = await loop.finish()
                end.errors = said + end.errors
                return end
            }
            let struck = try faultline.struck()
            let proof = try await scene.proof()

            line.rounds += 1
            line.faults["loop-\(full.action.lowercased())", default: 0] += struck > 0 ? 1 : 0
            line.judge(end, statuses: [74, 143], "\(full)")
            line.add(proof)
            #expect(proof.holds, "\(full): \(proof)")
        }
        line.tell()
    }

    /// Carries a disk out of a closure.
    private final class OneDisk { var disk: TinyDisk? }
}
