@testable import ClarityHost
@testable import HealthStore
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

/// State files as every version of the schemas since 0.1.0 had them.
@Suite("State files of earlier versions", .timeLimit(.minutes(10)))
struct FormerSchemaTests {
    /// The migrations of a file, and FNV-1a of each one's text. A new migration adds its own sum
    /// here, and no sum ever changes.
    struct Steps: CustomTestStringConvertible {
        var testDescription: String
        var migrations: Migrations
        var sums: [UInt64]
    }

    static let steps = [
        Steps(
            testDescription: "history", migrations: historyMigrations,
            sums: [
                0x7542_f9f2_d3c4_be9b, 0x8d50_0b4c_b671_e4d0, 0x16f3_d5cb_f4e9_2c50,
                0xeb78_d5f6_10b6_972d,
            ]),
        Steps(
            testDescription: "health", migrations: HealthSchema.migrations,
            sums: [0x42fb_60a7_0f24_ccec, 0x5f3f_0fc0_e909_39a9]),
    ]

    @Test(arguments: FormerSchemaTests.steps)
    func `no step of a released schema has changed`(steps: Steps) {
        let found = steps.migrations.steps.map { text in
            text.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
                ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
            }
        }

        #expect(found == steps.sums)
    }

    /// A file has one schema, whichever its first version was.
    @Test(arguments: FormerSchemaTests.steps)
    func `the steps bring the tables of 0.1.0 to the schema of a new file`(steps: Steps) throws {
        let file = try FileConnection(path: ":memory:", access: .readWrite)
        let new = try FileConnection(path: ":memory:", access: .readWrite)
        try FirstRelease.make("\(steps.testDescription).db", in: file)
        let released = try file.first("PRAGMA user_version") { Int($0.integer(0)) }
        try steps.migrations.migrate(file)
        try steps.migrations.migrate(new)

        #expect(released == steps.migrations.oldest)
        for connection in [file, new] {
            try connection.requireSoundness(steps.migrations.form())
            #expect(
                try connection.first("PRAGMA user_version") { Int($0.integer(0)) }
                    == steps.migrations.newest)
        }
    }

    @Test func `files of every earlier version open, keep their rows and are sent once`()
        async throws
    {
        let kept = try await KeptState()
        let playground = kept.playground
        let pulled = try await playground.run("run", "refresh", "insights", "--force")
        try #require(pulled.status == 0, "\(pulled.errors)")
        try await kept.keep()
        var random = ChaosPlan.current.generator("state-versions")
        var line = ChaosLine("state-versions", measures: [.lost])
        let (ofHistory, ofHealth) = (historyMigrations, HealthSchema.migrations)
        let pairs = (ofHistory.oldest..<ofHistory.newest).flatMap { history in
            (ofHealth.oldest..<ofHealth.newest).map { (history: history, health: $0) }
        }.shuffled(using: &random)
        for version in pairs.prefix(ChaosPlan.current.size(slice: 2, whole: pairs.count)) {
            try await kept.putBack()
            let history = try FormerFile(
                "\(playground.statePath)/history.db", ofHistory, version.history)
            let health = try FormerFile(
                "\(playground.statePath)/health.db", ofHealth, version.health)
            if version.health == ofHealth.oldest {
                try health.forgetCounts(state: playground.statePath)
            }

            let list = try await playground.run("list")
            let resume = try await playground.run("resume", "--all")
            let audit = try await playground.run("audit")

            line.rounds += 1
            line.faults["health-\(version.health)", default: 0] += 1
            line.faults["history-\(version.history)", default: 0] += 1
            for result in [list, resume, audit] {
                #expect(result.status == 0, "\(version): \(result)")
            }
            for file in [history, health] {
                let lost = try file.lost()
                if !lost.isEmpty { line.lost += 1 }
                #expect(lost == [], "\(version)")
            }
            let faults = try await kept.faultsAfterCleanRun()
            #expect(faults.isEmpty, "\(version): \(faults)")
        }
        line.tell()
    }
}
