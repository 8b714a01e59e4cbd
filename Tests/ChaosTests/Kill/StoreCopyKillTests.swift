import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite(
    "A copy of the state that is killed", .serialized, .timeLimit(.minutes(20)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct StoreCopyKillTests {
    private static let copy = ["store", "copy", "--to", "database"]
    private static let samples = 60

    /// A state in files, half of it sent, and an empty database for it.
    private struct Scene {
        let playground: Playground
        let database: StateDatabase

        init() async throws {
            playground = try await Playground(isInMemory: true)
            database = try await StateDatabase()
            try await playground.logIn()
            try playground.writeExport(heartRates: samples / 2)
            _ = try await playground.run("run", "upload")
            try playground.writeExport(heartRates: samples)
            _ = try await playground.run("import", "\(playground.folder.path)/export.xml")
            // From here on, the state is in the database.
            try playground.write { [database] in
                Playground.standardJobFile(url: $0, folder: $1).placed(in: database.address)
            }
        }
    }

    @Test
    func `wherever a copy is killed, the next one completes it, and each sample arrives once`()
        async throws
    {
        let plan = ChaosPlan.current
        var random = plan.generator("kill store copy")
        let first = try await Scene()
        let counting = Faultline(counts: "\(first.playground.folder.path)/counts")
        let whole = try await first.playground.start(
            Self.copy, environment: counting.environment(folder: first.playground.folder.path)
        ).finish()
        try #require(whole.status == 0, "\(whole.errors)")
        let points = try counting.count(of: .any, program: .scheduler)
        var line = ChaosLine("kill-copy")
        for _ in 0..<plan.size(slice: 2, whole: 60) {
            let scene = try await Scene()
            let playground = scene.playground
            let faultline = Faultline(counts: "\(playground.folder.path)/counts")
            let rule = Faultline.Rule(
                program: .scheduler, point: .any,
                when: Bool.random(using: &random) ? .before : .after,
                nth: Int.random(in: 1...points, using: &random), action: "kill")

            let killed = try await playground.start(
                Self.copy,
                environment: faultline.environment(rules: [rule], folder: playground.folder.path)
            ).finish()
            try await scene.database.waitUntilUnused()
            let again = try await playground.start(Self.copy).finish()
            let upload = try await playground.run("run", "upload")
            let audits = [
                try await playground.run("audit"),
                try await playground.run("audit", "log", "--verify"),
            ]

            let sandbox = try #require(playground.sandbox)
            let (all, distinct) = (
                try await sandbox.count("metrics"), try await sandbox.count("distinct_metric_ids")
            )
            line.rounds += 1
            if killed.status == 137 { line.faults["kill", default: 0] += 1 }
            line.lost += Self.samples - distinct
            line.doubled += all - distinct
            #expect([0, 137].contains(killed.status), "\(rule): \(killed.errors)")
            #expect(again.status == 0, "\(rule): \(again.output)\(again.errors)")
            #expect(upload.status == 0, "\(rule): \(upload.errors)")
            #expect(audits.map(\.status) == [0, 0], "\(rule): \(audits)")
            #expect(all == Self.samples && distinct == Self.samples, "\(rule)")
        }
        line.tell()
        #expect(line.faults["kill", default: 0] > 0)
    }
}
