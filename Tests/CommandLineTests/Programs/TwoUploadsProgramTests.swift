import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Two upload jobs in one job file that run at the same time against a slow backend.
@Suite("Two uploads at the same time", .timeLimit(.minutes(5)))
struct TwoUploadsProgramTests {
    private func playground(_ dialect: [String], _ options: String) async throws -> Playground {
        try await Playground(sandboxOptions: dialect) {
            Playground.standardJobFile(url: $0, folder: $1)
                .replacing(
                    "kind: bulk-upload", with: "kind: bulk-upload\n    options: { \(options) }"
                )
                .replacing(
                    "jobs:\n",
                    with: """
                        jobs:
                          - id: again
                            kind: bulk-upload
                            options: { \(options) }
                            schedule: { every: 1h }

                        """)
        }
    }

    @Test(
        arguments: [
            (["--dialect", "loop", "--quirks", "measured"], "POST /healthkit", "resend"),
            (["--dialect", "loop", "--quirks", "measured"], "POST /healthkit", "hold"),
            (["--dialect", "blueprint"], "POST /health-data/upload", "resend"),
        ])
    func `two uploads send each sample once, and their counts match the outbox`(
        dialect: [String], call: String, policy: String
    ) async throws {
        let playground = try await playground(
            dialect, "batch_size: 100, on_ambiguous: \(policy)")
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 100)
        try await playground.logIn()
        // The backend stores at once and answers late, so that the second run meets a batch in
        // flight.
        try await sandbox.addFault("\(call): latency=8s")

        let first = try playground.start(["run", "upload"])
        try await sandbox.wait(for: 1) { try await $0.count("uploads") }
        let second = try await playground.run("run", "again")
        let uploads = try await sandbox.count("uploads")
        let end = await first.finish()

        #expect(second.status == 0, "\(second.errors)")
        #expect(end.status == 0, "\(end.errors)")
        #expect(
            second.errors.contains("100 samples are being sent by another upload"),
            "\(second.errors)")
        #expect(uploads == 1)
        #expect(try await sandbox.count("uploads") == 1)
        #expect(try await sandbox.count("samples") == 100)
        #expect(try await sandbox.count("doubled") == 0)
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.damage == [] && audit.possibleCopies == 0)
        #expect(audit.samples["setAside"] == nil && audit.samples["queued"] == nil)
        let summaries = try await [playground.history("upload"), playground.history("again")]
            .map { try #require($0.first).summary }
        #expect(summaries[0].contains(": 100 sent"), "\(summaries)")
        #expect(!summaries[1].contains(": 100 sent"), "\(summaries)")
    }
}
