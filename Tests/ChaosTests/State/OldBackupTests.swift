import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// A backup that knows nothing of what was imported since is restored, nor, where uploads are
/// processed, of what was packed since.
@Suite("A backup from before samples were packed", .timeLimit(.minutes(10)))
struct OldBackupTests {
    @Test(arguments: DeliveryJudge.Policy.allCases)
    func `nothing is sent twice that may not be, and the archive is read again`(
        policy: DeliveryJudge.Policy
    ) async throws {
        let playground = try await Playground(
            sandboxOptions: ["--processing-steps", "1"] + policy.sandboxOptions
        ) { url, folder in
            policy.written(
                into: """
                    version: 1
                    backend: { url: \(url), retry_wait: 1ms }
                    sources:
                      - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
                    jobs:
                      - id: upload
                        kind: bulk-upload
                        options: { batch_size: 100 }
                        schedule: { every: 30d }
                      - { id: status, kind: processing-status, schedule: { every: 30d } }

                    """)
        }
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        let early = KnownRecords().adding(at: KnownRecords.october, count: 1100)
        let late = early.adding(at: KnownRecords.october + 1100, count: 100)
        try await run(["upload"], of: early, playground)
        let backup = try #require(try await playground.json("backup")["name"].text)
        try await run(["status"], of: early, playground)
        #expect(try packed(playground) > 0)
        try await run(["upload", "status"], of: late, playground)
        #expect(try await sandbox.sends().samples.count == 1200)

        let restored = try await playground.run("restore", backup)
        let before = try await playground.archivedLines()
        let segments = try packed(playground)
        try await run(["upload", "status"], of: late, playground)

        #expect(restored.status == 0, "\(restored)")
        #expect(before == early.lines)
        // Where the 202 proves that samples are stored, the upload packed them before the backup.
        #expect((segments == 0) == (policy == .deduplicates))
        let record = try await sandbox.sends()
        let copies = record.samples.reduce(0) { $0 + $1.copies - 1 }
        let state = try StateAudit(statePath: playground.statePath)
        var line = ChaosLine("state-segments", measures: [.lost, .doubled])
        line.rounds = 1
        line.faults["backup"] = 1
        line.lost = 1200 - record.samples.count
        line.doubled = max(0, copies - (policy == .resend ? state.possibleCopies : 0))
        line.tell()
        #expect(record.samples.count == 1200)
        switch policy {
        case .deduplicates: #expect(copies == 0)
        case .resend: #expect(copies == 100 && state.possibleCopies >= copies)
        case .hold:
            #expect(copies == 0 && state.samples["setAside"] == 100)
        }
        let audit = try await playground.run("audit")
        #expect(audit.status == 0, "\(audit)")
        #expect(audit.output.contains("the archive is sound: 1200 records\n"), "\(audit)")
        #expect(try await playground.archivedLines() == late.lines)
        #expect(try packed(playground) > 0)
    }

    private func run(
        _ jobs: [String], of known: KnownRecords, _ playground: Playground
    ) async throws {
        try known.write(to: playground)
        for job in jobs {
            let run = try await playground.run("run", job, "--force")
            #expect(run.status == 0, "\(run.output) \(run.errors)")
        }
    }

    /// Returns the number of packed segments.
    private func packed(_ playground: Playground) throws -> Int {
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
            .first("SELECT count(*) FROM packed_samples") { Int($0.integer(0)) } ?? 0
    }
}
