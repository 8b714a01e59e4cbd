import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
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
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
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

    @Test func `records of the archive go by the person's rule alone, and stay away`() async throws
    {
        let playground = try await playground()
        let export = "\(playground.folder.path)/export.xml"
        try playground.writeExport(heartRates: 30)
        _ = try await playground.run("import", export, "-q")
        func write(_ options: String) throws {
            try playground.write { url, _ in
                """
                version: 1
                backend: { url: "\(url)", retry_wait: 1ms }
                jobs:
                  - { id: cleanup, kind: cleanup, options: { \(options) } }

                """
            }
        }
        func records() async throws -> [String: Int] {
            let types = try await playground.json("records").elements
            return Dictionary(
                uniqueKeysWithValues: types.map {
                    ($0["type"].text ?? "", $0["records"].number ?? 0)
                })
        }
        let heartRate = "HKQuantityTypeIdentifierHeartRate"
        let before = try await records()
        // Heart rates of 2026-10 from the export, of 2026-01 from the spool.

        try write("retain: 30d")
        let untouched = try await playground.run("run", "cleanup")
        let all = try await records()
        try write("retain: 30d, retain_records: 1d, record_types: [\(heartRate)]")
        let dry = try await playground.run("dry-run", "cleanup")
        let kept = try await records()
        let run = try await playground.run("run", "cleanup", "-v")
        let told = try await playground.lastRun(of: "cleanup")
        let after = try await records()
        let log = try await playground.run("audit", "log")
        let audit = try await playground.run("audit")
        #expect(untouched.status == 0 && all == before && kept == before)
        #expect(before[heartRate] == 30 && before["heart_rate"] == 3)
        #expect(dry.output.contains(/\nrecords: 30 from 2026-10-01.* bytes\n/), "\(dry.output)")
        #expect(run.status == 0, "\(run.errors)")
        #expect(told["counts"]["records_removed"].number == 30)
        #expect(
            told["notes"].elements.contains {
                $0.text == "30 records of HeartRate removed, of 2026-10"
            }, "\(told["notes"])")
        #expect(after[heartRate] == nil && after["heart_rate"] == 3)
        #expect(
            log.output.contains(
                "records of HeartRate 30  (their retention is over, 2026-10, receipt "),
            "\(log.output)")
        #expect(audit.status == 0, "\(audit.output)")
    }

    @Test func `an import says which records are of removed months, until the rule changes`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil) { url, _ in
            """
            version: 1
            backend: { url: "\(url)" }
            jobs:
              - { id: by-size, kind: cleanup, options: { records_at_most: 1MiB } }
              - { id: free, kind: cleanup }

            """
        }
        let export = "\(playground.folder.path)/export.xml"
        try playground.writeExport(heartRates: 30)
        _ = try await playground.run("import", export, "-q")
        try health(playground).execute(
            """
            DELETE FROM segments; DELETE FROM segment_days;
            INSERT INTO pruned_months (type, month, bound)
            VALUES ('HKQuantityTypeIdentifierHeartRate', 681, 1048576)
            """)
        try playground.writeExport(heartRates: 31)

        let left = try await playground.run("import", export)
        let json = try await playground.json("import", export)
        let still = try await playground.run("run", "by-size", "-v")
        let free = try await playground.run("run", "free", "-v")
        let back = try await playground.run("import", export)
        let records = try await playground.json("records")

        #expect(left.output.contains("; 31 records of removed months not kept"), "\(left)")
        #expect(json["pruned"].number != nil)
        #expect(still.status == 0 && !still.errors.contains("may come back"))
        #expect(free.errors.contains("1 month of records that were removed may come back"))
        #expect(!back.output.contains("removed months"))
        #expect(records.elements.first?["records"].number == 31)
    }

    @Test func `an unconfirmed sample stays, however old`() async throws {
        let playground = try await playground()
        try health(playground).execute(
            """
            UPDATE batches SET state = 'unconfirmed', reason = 'r',
                finished_at_ms = finished_at_ms - 400 * 86400000;
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
