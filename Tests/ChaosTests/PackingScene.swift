import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Database
import Testing

/// Samples that the backend has accepted, and the job that confirms and packs them, which a test
/// disturbs. It writes a month anew that was packed before.
struct PackingScene {
    private static let former = 1100
    static let samples = 2200

    let playground: Playground
    private let sandbox: Sandbox
    private let uploads: Int
    /// How often the worker commits and writes when the job runs undisturbed.
    let commits: Int
    let writes: Int

    init() async throws {
        playground = try await Playground.quick { url, folder in
            """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources: [{ kind: apple-health-export, path: \(folder)/export.xml }]
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h } }
              - { id: status, kind: processing-status, schedule: { every: 1h } }
            """
        }
        sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        for (count, jobs) in [
            (PackingScene.former, ["upload", "status"]), (PackingScene.samples, ["upload"]),
        ] {
            try playground.writeExport(heartRates: count)
            for job in jobs {
                let run = try await playground.run("run", job, "--force")
                try #require(run.status == 0, "\(run.errors)")
            }
        }
        uploads = try await sandbox.count("uploads")
        try playground.keepState()

        // Once undisturbed, to know the points.
        let whole = Faultline(counts: "\(playground.folder.path)/passages")
        _ = try await playground.run(
            "run", "status", "--force",
            environment: whole.environment(folder: playground.statePath))
        commits = try whole.count(of: .commit, program: .worker)
        writes = try whole.count(of: .write, program: .worker)
        let left = try rows()
        try #require(left == 0)
    }

    /// Puts the state back, and runs the job under a rule.
    func disturbed(by rule: Faultline.Rule) async throws -> (result: ProgramResult, struck: Bool) {
        try playground.putBackState()
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        faultline.reset()
        let result = try await playground.run(
            "run", "status", "--force",
            environment: faultline.environment(rules: [rule], folder: playground.statePath))
        return (result, try faultline.struck() > 0)
    }

    /// Checks that the next run of the job confirms and packs every sample.
    ///
    /// - Returns: how many are missing.
    @discardableResult
    func prove(_ what: String) async throws -> Int {
        let run = try await playground.run("run", "status", "--force")
        #expect(run.status == 0, "\(what): \(run.errors)")
        let outbox = try await playground.json("outbox")
        let confirmed = outbox["outbox"]["confirmed"].number
        #expect(confirmed == PackingScene.samples, "\(what)")
        #expect(try rows() == 0, "\(what)")
        let audit = try await playground.run("audit")
        #expect(audit.status == 0, "\(what): \(audit.output)")
        return PackingScene.samples - (confirmed ?? 0)
    }

    /// Checks that every sample is still known when an export brings it again, with another one.
    func proveKnown() async throws {
        try playground.writeExport(heartRates: PackingScene.samples + 1)
        #expect(try await playground.run("run", "upload", "--force").status == 0)
        #expect(try await sandbox.count("distinct_metric_ids") == PackingScene.samples + 1)
        #expect(try await sandbox.count("uploads") == uploads + 1)
    }

    /// Returns the number of samples that are not packed.
    func rows() throws -> Int {
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .first("SELECT count(*) FROM outbox") { Int($0.integer(0)) } ?? 0
    }
}
