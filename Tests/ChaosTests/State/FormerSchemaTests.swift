@testable import ClarityHost
@testable import HealthStore
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

/// State files as every earlier version of the schemas had them.
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
                0x0fd8_9031_654d_5f22, 0x24b2_300e_d818_5cf9, 0x1452_7481_f6a6_ce9a,
                0x286b_7112_2146_e176, 0xe945_e410_866b_4121, 0x18a7_a6b7_a6de_425f,
                0xdaa5_d3d5_9f70_6c98, 0x73a3_409a_e44a_0f2d,
                0xde4e_a583_c6f4_54a5, 0x5386_8dbf_5e51_9cb2,
                0x573e_d9fa_97d2_e5d0, 0x7542_f9f2_d3c4_be9b,
                0x8d50_0b4c_b671_e4d0,
            ]),
        Steps(
            testDescription: "health", migrations: HealthSchema.migrations,
            sums: [
                0xc6d7_ad14_076e_12af, 0x0757_f3b1_adea_f027, 0xd1cc_d13c_a198_02da,
                0xdf13_74f2_8db4_cc90, 0x7eec_822c_0a25_7b3f, 0x5ace_be1b_b677_6158,
                0xfd5c_0fe1_0355_0438, 0x6ed1_2b93_7dc7_1913, 0x9748_027d_61d9_48f1,
                0x30ee_34a7_9fc3_d9b0, 0xc15a_5d3c_506d_ef32, 0x7c7d_e206_b64d_0540,
                0xc53d_8851_d892_3fff, 0x218f_3060_2e72_33d5, 0x68e5_dcc4_df5f_336f,
                0xe12e_a16d_cd29_2f62, 0x952e_66c7_24ab_effe, 0x209f_1720_5008_5532,
                0xeaa8_e05c_fb99_a4d8, 0x546b_ff95_e07f_f402, 0x8c70_dd49_70af_53c6,
                0x6751_f356_0929_7153, 0xb3b7_8b7d_b901_1723, 0x65cc_8b45_e9e1_aa02,
                0x42fb_60a7_0f24_ccec,
            ]),
    ]

    @Test(arguments: FormerSchemaTests.steps)
    func `a step is what it was`(steps: Steps) {
        let found = steps.migrations.steps.map { text in
            text.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
                ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
            }
        }

        #expect(found == steps.sums)
    }

    /// A file has one schema, whichever its first version was.
    @Test(arguments: FormerSchemaTests.steps)
    func `all steps together create the schema of a new file, and its rows`(steps: Steps) throws {
        var apart = steps.migrations
        apart.steps = steps.migrations.steps
        let file = try FileConnection(path: ":memory:", access: .readWrite)
        let new = try FileConnection(path: ":memory:", access: .readWrite)
        try apart.migrate(file)
        try steps.migrations.migrate(new)

        #expect(steps.migrations.schema != nil && apart.schema == nil)
        #expect(try apart.form() == steps.migrations.form())
        for connection in [file, new] {
            try connection.requireSoundness(steps.migrations.form())
        }
        let tables = try new.all(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ) { $0.text(0) }
        #expect(!tables.isEmpty)
        for table in tables {
            #expect(try rows(of: table, in: file) == rows(of: table, in: new), "\(table)")
        }
    }

    /// Returns the rows of a table of numbers and texts.
    private func rows(of table: String, in connection: Connection) throws -> [[String]] {
        try connection.all("SELECT * FROM \"\(table)\"") { row in
            (0..<row.columnCount).map { row.text($0) }
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
        let newest = HealthSchema.migrations.steps.count
        let others = (2..<newest).shuffled(using: &random)
        for version in [1] + others.prefix(ChaosPlan.current.size(slice: 2, whole: newest)) {
            try await kept.putBack()
            let historyVersion = 1 + version % (historyMigrations.steps.count - 1)
            let history = try FormerFile(
                "\(playground.statePath)/history.db", historyMigrations, historyVersion)
            let health = try FormerFile(
                "\(playground.statePath)/health.db", HealthSchema.migrations, version)
            try health.forgetAuditNote(state: playground.statePath)

            let list = try await playground.run("list")
            let resume = try await playground.run("resume", "--all")
            let audit = try await playground.run("audit")

            line.rounds += 1
            line.faults["health-\(version)", default: 0] += 1
            line.faults["history-\(historyVersion)", default: 0] += 1
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
