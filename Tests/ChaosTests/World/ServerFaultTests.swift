import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite(
    "A database server that fails", .serialized, .timeLimit(.minutes(40)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct ServerFaultTests {
    /// The statuses of a command that lost its backend or its database, or whose run waits.
    private static let statuses: Set<Int32> = [0, 69, 74, 75]

    /// A connection to the backend is struck as often as one to the database.
    @Test(arguments: DeliveryJudge.Policy.drawn("database"))
    func `at whatever send or receive a session breaks, nothing is lost or doubled`(
        policy: DeliveryJudge.Policy
    ) async throws {
        let sweep = WorldSweep(
            part: "world-database",
            kinds: [
                .init(point: .send, action: "ECONNRESET", whens: [.before, .after]),
                .init(point: .receive, action: "ECONNRESET", whens: [.before, .after]),
                .init(point: .receive, action: "short"),
                .init(point: .connect, action: "ETIMEDOUT"),
            ],
            deeds: [.upload, .refresh, .insights, .cleanup, .everything, .importing],
            statuses: Self.statuses, policy: policy, isOnServer: true)

        let line = try await sweep.run(rounds: ChaosPlan.current.size(slice: 2, whole: 80))

        line.tell()
        #expect(line.faults.values.reduce(0, +) > 0)
    }

    /// What befalls a server while somebody uploads.
    enum Fault: String, CaseIterable, CustomTestStringConvertible {
        /// It crashes, and starts again when the upload has ended.
        case crash
        /// It crashes and starts again at once.
        case restart
        /// It stops answering for a while.
        case hang
        /// It has no connection left.
        case full

        var testDescription: String { rawValue }
    }

    @Test(arguments: Fault.allCases)
    func `a server that fails in the middle of an upload ends it, and the next completes it`(
        fault: Fault
    ) async throws {
        var random = ChaosPlan.current.generator("world-server \(fault)")
        let server = try await PostgresServer(connections: 30)
        let scene = try await WorldScene(isFresh: true, on: try await StateDatabase(on: server))
        try await scene.sandbox.addFault("POST /health-data/upload: latency=20ms x*")
        var line = ChaosLine("world-database")
        for _ in 0..<ChaosPlan.current.size(slice: 1, whole: 12) {
            try scene.addSamples(200)
            let taken = try await scene.sandbox.count("uploads")
            let uploads = Int.random(in: 0...20, using: &random)
            let span = Duration.milliseconds(Int.random(in: 200...3000, using: &random))

            let result = try await scene.disturb {
                let upload = try scene.playground.start(["run", "upload"])
                try await scene.sandbox.wait(for: taken + uploads, of: upload) {
                    try await $0.count("uploads")
                }
                return try await ServerFaultTests.strike(fault, server, for: span, upload)
            }
            let proof = try await scene.proof()

            line.rounds += 1
            line.faults["server-\(fault)", default: 0] += 1
            line.judge(result, statuses: Self.statuses, "\(fault) after \(uploads) uploads")
            line.add(proof)
            #expect(proof.holds, "\(fault) after \(uploads) uploads: \(proof)")
        }
        line.tell()
    }

    private static func strike(
        _ fault: Fault, _ server: PostgresServer, for span: Duration, _ upload: ChildProgram
    ) async throws -> ProgramResult {
        switch fault {
        case .crash:
            await server.crash()
            let result = await upload.finish()
            try await server.restart()
            return result
        case .restart:
            await server.crash()
            try await server.restart()
        case .hang:
            await server.freeze()
            try await Task.sleep(for: span)
            await server.thaw()
        case .full:
            let sessions = server.takeAllConnections()
            defer { withExtendedLifetime(sessions) {} }
            return await upload.finish()
        }
        return await upload.finish()
    }

    @Test(.enabled(if: TinyDisk.isAllowed, "this process may not mount a file system"))
    func `a server whose disk is full ends an upload, and space completes it`() async throws {
        var random = ChaosPlan.current.generator("world-server disk")
        let folder = try TemporaryFolder()
        let disk = try TinyDisk(on: "\(folder.path)/data", kibibytes: 120 * 1024)
        defer { disk.remove() }
        let server = try await PostgresServer(in: folder)
        let scene = try await WorldScene(isFresh: true, on: try await StateDatabase(on: server))
        var line = ChaosLine("world-database")
        for _ in 0..<ChaosPlan.current.size(slice: 1, whole: 10) {
            try scene.addSamples(400)
            let taken = try await scene.sandbox.count("uploads")
            let uploads = Int.random(in: 0...40, using: &random)

            let full = try await scene.disturb {
                let upload = try scene.playground.start(["run", "upload"])
                try await scene.sandbox.wait(for: taken + uploads, of: upload) {
                    try await $0.count("uploads")
                }
                try await blocking { try disk.fill() }
                return await upload.finish()
            }
            let next = try await scene.playground.run("run", "refresh")
            try disk.makeSpace(kibibytes: 140 * 1024)
            // It may have ended when it could not write.
            await server.crash()
            try await server.restart()
            let proof = try await scene.proof()

            line.rounds += 1
            if full.status != 0 || next.status != 0 { line.faults["full-disk", default: 0] += 1 }
            line.judge(full, statuses: Self.statuses, "full after \(uploads) uploads")
            line.judge(next, statuses: Self.statuses, "on a full disk")
            line.add(proof)
            #expect(proof.holds, "full after \(uploads) uploads: \(proof)")
        }
        line.tell()
        #expect(line.faults["full-disk", default: 0] > 0)
    }
}
