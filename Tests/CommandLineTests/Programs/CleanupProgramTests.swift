import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import SQLite
import Testing

/// `cleanup`, through the built programs.
@Suite("cleanup", .timeLimit(.minutes(5)))
struct CleanupProgramTests {
    private func playground() async throws -> Playground {
        let playground = try await Playground.quick { url, folder in
            """
            version: 1
            backend: { url: "\(url)", retry_wait: 1ms }
            sources:
              - { kind: spool, path: \(folder)/spool }
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h }, then: [status] }
              - { id: status, kind: processing-status, schedule: { every: 15m } }
              - id: cleanup
                kind: cleanup
                schedule: { every: 1d }
                options: { retain: 30d, retain_audit: 60d, retain_files: 10d }

            """
        }
        try await playground.logIn()
        mkdir("\(playground.folder.path)/spool", 0o700)
        let samples = (10..<13).map {
            "{\"kind\":\"heart_rate\",\"start\":\"2026-01-02T03:\($0):05Z\",\"value\":61}\n"
        }
        try playground.folder.write("spool/a.ndjson", Array(samples.joined().utf8))
        #expect(try await playground.run("run", "upload").status == 0)
        return playground
    }

    private func health(_ playground: Playground) throws -> Connection {
        try Connection(path: "\(playground.statePath)/health.db", access: .readWrite)
    }

    private func receipt(_ text: String) -> String? {
        text.firstMatch(of: /receipt: .*; blake2b-256 [0-9a-f]{64}/).map { String($0.0) }
    }

    @Test func `a dry run lists the deletions, and the run has the same receipt`() async throws {
        let playground = try await playground()
        try health(playground).execute(
            "UPDATE batches SET finished_at_ms = finished_at_ms - 31 * 86400000")
        let before = try playground.folder.contents()

        let dry = try await playground.run("dry-run", "cleanup")
        #expect(try playground.folder.contents() == before)
        let run = try await playground.run("run", "cleanup", "-v")
        let last = try await playground.lastRun(of: "cleanup")
        let log = try await playground.run("audit", "log")

        #expect(dry.status == 0, "\(dry.errors)")
        #expect(run.status == 0, "\(run.errors)")
        #expect(dry.output.contains(/\nsamples: 3 from 2.* to 2.*, [0-9]+ bytes\n/))
        #expect(dry.output.contains(/\nbatches: 1 from 2.* to 2.*, [0-9]+ bytes\n/))
        let told = try #require(receipt(dry.output))
        #expect(told.hasPrefix("receipt: samples 3, batches 1; "))
        #expect(last["notes"].elements.last?.text == told)
        #expect(last["counts"]["samples_removed"].number == 3)
        #expect(last["counts"]["files_removed"].number == 0)
        #expect(
            log.outputLines.last?.contains(
                "removed  batches 1  (their retention is over, receipt \(told.suffix(64)))")
                == true)
        #expect(try await playground.run("audit", "log", "--verify").status == 0)
        #expect(
            try health(playground).first(
                "SELECT count(*) FROM outbox WHERE state = 'confirmed' AND sealed IS NULL"
            ) { $0.integer(0) } == 3)
    }

    @Test func `a dry run of a later day lists files and uploaded entries too`() async throws {
        let playground = try await playground()
        #expect(
            try playground.folder.contents().keys.contains("spool/done/a.ndjson"))

        let soon = try await playground.run("dry-run", "cleanup", "--now", "2040-01-01")
        let text = soon.output

        #expect(soon.status == 0, "\(soon.errors)")
        #expect(text.contains(/\nfiles: 1 from 2.* to 2.*, [0-9]+ bytes\n/))
        #expect(text.contains("1 file removed"))
        // No entry of the audit log was uploaded.
        #expect(!text.contains("audit_entries:"))
        #expect(try playground.folder.contents().keys.contains("spool/done/a.ndjson"))
    }

    @Test func `an unconfirmed sample stays, however old`() async throws {
        let playground = try await playground()
        try health(playground).execute(
            """
            UPDATE batches SET state = 'unconfirmed', reason = 'r',
                finished_at_ms = finished_at_ms - 400 * 86400000;
            UPDATE outbox SET state = 'unconfirmed';
            """)

        let run = try await playground.run("run", "cleanup", "-v")

        #expect(run.status == 0)
        #expect(receipt(run.errors)?.hasPrefix("receipt: nothing; ") == true)
        #expect(
            try health(playground).first("SELECT count(*) FROM outbox WHERE sealed IS NOT NULL") {
                $0.integer(0)
            } == 3)
    }
}
