import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import SQLite
import Testing

/// Kills the programs while samples are packed that the backend has confirmed.
@Suite("A kill while samples are packed", .timeLimit(.minutes(10)))
struct PackingKillTests {
    private static let count = 1500

    @Test func `no sample is lost and none is sent twice`() async throws {
        let playground = try await Playground.quick { url, folder in
            """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources: [{ kind: apple-health-export, path: \(folder)/export.xml }]
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h } }
              - { id: status, kind: processing-status, schedule: { every: 1h } }
            """
        }
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        try playground.writeExport(heartRates: Self.count)
        #expect(try await playground.run("run", "upload").status == 0)
        let uploads = try await sandbox.count("uploads")
        let kept = "\(playground.folder.path)/kept"
        try FileManager.default.copyItem(atPath: playground.statePath, toPath: kept)

        // Once undisturbed, to know the points.
        let whole = try await status(in: playground, [])
        let (commits, writes) = (
            try whole.count(of: .commit, program: .worker),
            try whole.count(of: .write, program: .worker)
        )
        var rules: [Faultline.Rule] = []
        func add(_ point: Faultline.Point, _ nth: Int) {
            for when in Faultline.When.allCases {
                rules.append(
                    Faultline.Rule(
                        program: .worker, point: point, when: when, nth: nth,
                        action: "kill-both"))
            }
        }
        for nth in max(1, commits - 4)...commits { add(.commit, nth) }
        for nth in stride(from: writes, to: max(0, writes - 240), by: -40) { add(.write, nth) }
        var hits = 0
        var halfway = 0
        for rule in rules {
            try FileManager.default.removeItem(atPath: playground.statePath)
            try FileManager.default.copyItem(atPath: kept, toPath: playground.statePath)
            let faultline = try await status(in: playground, [rule])
            hits += try faultline.struck() > 0 ? 1 : 0
            halfway += try packed(playground) == 0 ? 1 : 0
            try FileManager.default.removeItem(atPath: faultline.counts)

            #expect(try await playground.run("run", "status", "--force").status == 0, "\(rule)")
            let outbox = try await playground.json("outbox")
            #expect(outbox["outbox"]["confirmed"].number == Self.count, "\(rule)")
            #expect(try packed(playground) == 1, "\(rule)")
            let audit = try await playground.run("audit")
            #expect(audit.status == 0, "\(rule): \(audit.output)")
        }
        #expect(hits == rules.count)
        #expect(halfway > 0 && halfway < rules.count)

        // Everything is still known, in another reading too.
        try playground.writeExport(heartRates: Self.count + 1)
        #expect(try await playground.run("run", "upload", "--force").status == 0)
        #expect(try await sandbox.count("distinct_metric_ids") == Self.count + 1)
        #expect(try await sandbox.count("uploads") == uploads + 1)
    }

    /// Runs the job that confirms and packs, with faults.
    private func status(
        in playground: Playground, _ rules: [Faultline.Rule]
    ) async throws -> Faultline {
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        _ = try await playground.run(
            "run", "status", "--force",
            environment: faultline.environment(rules: rules, folder: playground.statePath))
        return faultline
    }

    /// The number of packed segments.
    private func packed(_ playground: Playground) throws -> Int {
        let health = try Connection(
            path: "\(playground.statePath)/health.db", access: .readWrite)
        return try health.first("SELECT count(*) FROM packed_samples") { Int($0.integer(0)) } ?? 0
    }
}
