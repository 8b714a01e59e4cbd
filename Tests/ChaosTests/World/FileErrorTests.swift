import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("A disk that fails", .serialized, .timeLimit(.minutes(40)))
struct FileErrorTests {
    @Test(arguments: DeliveryJudge.Policy.drawn("io"))
    func `whatever call on a file fails or does half, nothing is lost`(
        policy: DeliveryJudge.Policy
    ) async throws {
        let sweep = WorldSweep(
            part: "world-io",
            kinds: [
                .init(point: .write, action: "EIO"), .init(point: .write, action: "short"),
                .init(point: .write, action: "EINTR", mayGoOn: false),
                .init(point: .write, action: "EROFS"),
                .init(point: .sync, action: "EIO", whens: [.before, .after]),
                .init(point: .read, action: "EIO"), .init(point: .read, action: "short"),
                .init(point: .read, action: "EINTR", mayGoOn: false),
                .init(point: .open, action: "EMFILE"), .init(point: .open, action: "EIO"),
                .init(point: .open, action: "EROFS"), .init(point: .open, action: "EACCES"),
                .init(point: .open, action: "ENOMEM"), .init(point: .unlink, action: "EIO"),
                .init(point: .rename, action: "EIO"), .init(point: .rename, action: "ENOSPC"),
            ],
            deeds: [.upload, .refresh, .insights, .cleanup, .everything, .importing, .rotation],
            // 65 and 66 if the job file or an import cannot be read, 77 and 78 for the key.
            statuses: [0, 65, 66, 69, 74, 75, 77, 78], policy: policy)

        let line = try await sweep.run(rounds: ChaosPlan.current.size(slice: 3, whole: 80))

        line.tell()
        #expect(line.faults.values.reduce(0, +) > 0)
    }

    @Test(.enabled(if: TinyDisk.isAllowed, "this process may not mount a file system"))
    func `on a file system that is read-only all is refused in a line, and is there after it`()
        async throws
    {
        let scene = try await WorldScene()
        let path = scene.playground.statePath
        try scene.addSamples(16)
        var line = ChaosLine("world-io")
        try #require(mount(path, path, nil, UInt(MS_BIND), nil) == 0)
        defer { umount2(path, Int32(MNT_DETACH)) }
        try #require(mount(nil, path, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0)

        for deed in WorldScene.Deed.allCases {
            let result = try await scene.run(deed, [:])
            line.rounds += 1
            line.faults["read-only", default: 0] += 1
            line.judge(result, statuses: [69, 74, 77, 78], "\(deed.rawValue), read-only")
            #expect(result.errorLines.count == 1, "\(deed.rawValue): \(result.errors)")
        }
        let list = try await scene.playground.run("list")
        try #require(umount2(path, 0) == 0)
        let proof = try await scene.proof()

        line.add(proof)
        line.tell()
        #expect([0, 69].contains(list.status), "\(list.errors)")
        #expect(proof.holds, "\(proof)")
    }

    @Test(.enabled(if: PlainUser.isAtHand, "no user to whom permissions mean something"))
    func `a state directory that became read-only to its owner loses nothing`() async throws {
        let playground = try await Playground(
            sandboxOptions: ["--processing-steps", "1"], jobFile: WorldScene.jobFile)
        try playground.writeExport(heartRates: 24)
        PlainUser.admit(to: playground)
        chmod("\(playground.folder.path)/export.xml", 0o644)
        PlainUser.makeFolder(playground.statePath, 0o700)
        let login = try await PlainUser.run(
            playground, "auth", "login", "--email", "demo@example.com", "--password-stdin",
            input: "Demo-Passw0rd!\n")
        try #require(login.status == 0, "\(login.errors)")
        let first = try await PlainUser.run(playground, "run", "upload", "status")
        try #require(first.status == 0, "\(first.errors)")
        var line = ChaosLine("world-io")
        try playground.writeExport(heartRates: 48)
        chmod("\(playground.folder.path)/export.xml", 0o644)
        chmod(playground.statePath, 0o500)

        let refused = try await PlainUser.run(playground, "run", "upload")
        chmod(playground.statePath, 0o700)
        let clean = try await PlainUser.run(
            playground, "run", "refresh", "upload", "upload-too", "status", "insights", "cleanup")
        let audited = try await PlainUser.run(playground, "audit")
        let proof = try await StateProof(
            of: playground, expected: .export(heartRates: 48), audited: audited)

        line.rounds = 1
        line.faults["read-only-folder"] = 1
        line.judge(refused, statuses: [69, 74], "a folder without write permission")
        line.add(proof)
        line.tell()
        #expect(refused.errorLines.count == 1, "\(refused.errors)")
        #expect(clean.status == 0, "\(clean.errors)")
        #expect(proof.holds, "\(proof)")
    }
}
