import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// A backend that stores every copy, or the connection to it, fails while 250 samples are uploaded
/// in three requests.
@Suite("A backend that keeps every copy and fails", .timeLimit(.minutes(5)))
struct LoopFaultTests {
    private func playground(
        quirks: [String] = ["--quirks", "measured"], options: String = "batch_size: 100"
    ) async throws -> Playground {
        try await Playground(
            sandboxOptions: ["--dialect", "loop", "--processing-steps", "1"] + quirks
        ) {
            Playground.standardJobFile(url: $0, folder: $1)
                .replacing(
                    "kind: bulk-upload", with: "kind: bulk-upload\n    options: { \(options) }"
                )
                .replacing(
                    "kind: processing-status,",
                    with: "kind: processing-status, options: { give_up_after: 1s },")
        }
    }

    @Test(arguments: [
        "drop", "pass, drop", "drop x3", "reset, drop, truncate", "truncate x2", "reset x2",
        "outage x2", "500", "503 x2", "502, drop, 504", "garbage", "garbage, drop, garbage",
        "429 retry-after=0", "expire, drop", "422 x3", "400 x2", "413", "pass, 422, drop, outage",
    ])
    func `whatever breaks, each sample arrives and duplicates are counted`(fault: String)
        async throws
    {
        let playground = try await playground()
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()
        try await sandbox.addFault("POST /healthkit: \(fault)")

        var last = try await playground.run("run", "upload")
        for _ in 0..<8 where last.status != 0 {
            // 69 means that the client did not understand the backend's answer.
            #expect([69, 75].contains(last.status), "\(last.errors)")
            last = try await playground.run("run", "upload")
        }
        let status = try await playground.run("run", "status")

        #expect(last.status == 0, "\(last.errors)")
        #expect(status.status == 0, "\(status.errors)")
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.samples == ["stored": 250])
        #expect(audit.damage == [])
        #expect(try await sandbox.count("samples") == 250)
        let doubled = try await sandbox.count("doubled")
        #expect(doubled <= audit.possibleCopies)
        #expect(audit.possibleCopies % 10 == 0 && audit.possibleCopies <= 250 * 3)
        #expect(
            last.errors.contains("possibly doubled at the backend: ") == (audit.possibleCopies > 0))
    }

    @Test(arguments: ["resend", "hold"])
    func `a worker that is killed before its answer leaves exactly one batch in doubt`(
        policy: String
    ) async throws {
        let playground = try await playground(options: "batch_size: 100, on_ambiguous: \(policy)")
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()
        try await sandbox.addFault("POST /healthkit: pass, latency=600s")

        let run = try playground.start(["run", "upload"])
        try await sandbox.wait(for: 2) { try await $0.count("uploads") }
        let worker = try #require(ProcessTable.children(of: run.processID).first)
        kill(worker, SIGKILL)
        let end = await run.finish()
        let after = try await playground.run("run", "upload")
        let status = try await playground.run("run", "status")

        #expect(end.status == 0, "\(end.errors)")
        #expect(after.status == 0, "\(after.errors)")
        #expect(status.status == 0, "\(status.errors)")
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(try await sandbox.count("samples") == 250)
        #expect(try await sandbox.count("doubled") == (policy == "resend" ? 100 : 0))
        #expect(audit.possibleCopies == (policy == "resend" ? 100 : 0))
        #expect(
            audit.samples
                == (policy == "resend"
                    ? ["stored": 250] : ["stored": 150, "setAside": 100]))
        #expect(
            audit.reasons.contains("it may have arrived, and sending it again could double it")
                == (policy == "hold"))
    }

    @Test func `an upload whose answer is lost is not resent with hold`() async throws {
        let playground = try await playground(options: "batch_size: 100, on_ambiguous: hold")
        let sandbox = try #require(playground.sandbox)
        try playground.writeExport(heartRates: 250)
        try await playground.logIn()
        // The second request uses a connection that has already carried one.
        try await sandbox.addFault("POST /healthkit: pass, drop")

        let first = try await playground.run("run", "upload")
        let second = try await playground.run("run", "upload")

        #expect(first.status == 75 && second.status == 0, "\(first.errors) \(second.errors)")
        #expect(try await sandbox.count("uploads") == 3)
        #expect(try await sandbox.count("doubled") == 0)
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.samples["setAside"] == 100)
        #expect(audit.samples.values.reduce(0, +) == 250 && audit.samples["queued"] == nil)
    }
}
