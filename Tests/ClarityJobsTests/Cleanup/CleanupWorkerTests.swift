import HealthStore
import ClarityScheduler
import Platform
import ClarityTestSupport
import Glibc
import Synchronization
import Testing

@testable import ClarityJobs

@Suite struct CleanupWorkerTests {
    private static let age = "what counts as old was confirmed or last listed before "

    /// Stores three confirmed samples, two that wait, and a metric.
    private func fill(_ bench: WorkBench) throws {
        let store = try bench.store()
        try bench.enqueue(0..<5)
        let batch = try #require(try store.outbox.nextBatch(limit: 3, at: bench.clock.now))
        try store.outbox.settle(batch, processingID: "a", at: bench.clock.now)
        try store.outbox.confirm(store.outbox.openUploads()[0], at: bench.clock.now)
        let row = CachedRow(id: "old", type: "t", timestamp: bench.clock.now, json: [])
        _ = try store.cache.upsert([row], into: .metrics, syncedAt: bench.clock.now)
    }

    @Test func `what is confirmed and old goes, and the receipt says so`() async throws {
        let bench = WorkBench()
        try fill(bench)
        bench.clock.advance(by: .seconds(90 * 86_400 + 1))

        let (outcome, reports) = await bench.attempt("cleanup")

        #expect(outcome == .success)
        #expect(reports.tally["samples_removed"] == 3)
        #expect(reports.tally["metrics_removed"] == 1)
        #expect(reports.tally["batches_removed"] == 1)
        #expect(reports.tally["audit_entries_removed"] == 0)
        #expect(!reports.tally.names.contains("files_removed"))
        #expect(reports.notes.first == "\(Self.age)2025-10-09T08:53:21Z")
        let receipt = try #require(reports.notes.last)
        #expect(
            receipt.wholeMatch(
                of: /receipt: samples 3, batches 1, metrics 1; blake2b-256 [0-9a-f]{64}/) != nil)
        #expect(reports.notes.count == 2)
        let entry = try bench.store().audit.records(limit: 99).last?.entry
        #expect(
            entry?.detail
                == "their retention is over, receipt \(receipt.suffix(64))")
        #expect(try bench.states() == [.confirmed: 3, .queued: 2])
        #expect(bench.backend.calls == [])
    }

    @Test func `a dry run has the same receipt, and says how much and from when`() async throws {
        let bench = WorkBench()
        try fill(bench)
        let filled = bench.clock.now
        bench.clock.advance(by: .seconds(90 * 86_400 + 1))
        let before = bench.stateContents()

        let shown = try await bench.dryRun("cleanup")
        let after = bench.stateContents()
        let (_, reports) = await bench.attempt("cleanup")

        #expect(after == before)
        let lines = shown.split(separator: "\n").map(String.init)
        #expect(
            lines.contains {
                $0.wholeMatch(of: /samples: 3 from (.*) to (.*), [1-9][0-9]* bytes/).map {
                    $0.1 == filled.description && $0.2 == filled.description
                } ?? false
            })
        #expect(lines.contains { $0.hasPrefix("metrics: 1 from \(filled) to \(filled), ") })
        #expect(
            lines.contains {
                $0.hasPrefix("would remove: 3 samples removed, 1 batch removed")
            })
        #expect(lines.contains(try #require(reports.notes.last)))
    }

    @Test func `the job's own retention is kept`() async throws {
        let bench = WorkBench()
        let row = CachedRow(id: "old", type: "t", timestamp: bench.clock.now, json: [])
        _ = try bench.store().cache.upsert([row], into: .insights, syncedAt: bench.clock.now)
        bench.clock.advance(by: .seconds(86_400))

        let kept = await bench.attempt("cleanup", ["retain": "86400000"])
        bench.clock.advance(by: .milliseconds(1))
        let gone = await bench.attempt("cleanup", ["retain": "86400000"])

        #expect(kept.reports.tally["insights_removed"] == 0)
        #expect(gone.reports.tally["insights_removed"] == 1)
        #expect(kept.reports.notes.last?.hasPrefix("receipt: nothing; ") == true)
    }

    @Test func `a cleanup whose time ends has a receipt of what it did, and the next goes on`()
        async throws
    {
        let bench = WorkBench()
        try fill(bench)
        bench.clock.advance(by: .seconds(90 * 86_400 + 1))

        let first = await bench.attempt("cleanup", isEnding: { true })
        let second = await bench.attempt("cleanup")

        #expect(
            first.outcome
                == .retry(
                    after: nil, Failure(.work, "its time ended before everything was done")))
        #expect(first.reports.notes.last?.hasPrefix("receipt: samples 3; ") == true)
        #expect(second.reports.notes.last?.hasPrefix("receipt: batches 1, metrics 1; ") == true)
        #expect(try bench.store().audit.verify().broken == nil)
    }

    @Test func `uploaded entries of the audit log go by a retention of their own`() async throws {
        let bench = WorkBench()
        try fill(bench)
        let store = try bench.store()
        let count = try store.audit.records(limit: 99).count
        try store.audit.confirmUpload(through: 2)
        // The store itself uses the machine's clock.
        bench.clock.set(Instant(secondsSince1970: 4_000_000_000))

        let kept = await bench.attempt("cleanup", ["retain_audit": "3153600000000"])
        let gone = await bench.attempt("cleanup", ["retain_audit": "86400000"])

        #expect(count > 2)
        #expect(kept.reports.tally["audit_entries_removed"] == 0)
        #expect(gone.reports.tally["audit_entries_removed"] == 2)
        let proof = try bench.store().audit.verify()
        #expect(proof.broken == nil && proof.anchor == 2)
    }

    @Test func `unused pages are given back in portions, until the time ends`() async throws {
        let bench = WorkBench()
        let store = try bench.store()
        for number in 0..<30 {
            let row = CachedRow(
                id: "\(number)", type: "t", timestamp: bench.clock.now,
                json: [UInt8](repeating: 0, count: 500_000))
            _ = try store.cache.upsert([row], into: .metrics, syncedAt: bench.clock.now)
        }
        bench.clock.advance(by: .seconds(90 * 86_400 + 1))
        let asked = Mutex(0)

        // Each kind takes one portion and then asks, but for records, which have no rule here; the
        // next question comes with the pages.
        let first = await bench.attempt("cleanup") {
            asked.withLock { asked in
                asked += 1
                return asked == PrunedKind.allCases.count - 1
            }
        }
        let second = await bench.attempt("cleanup")

        #expect(
            first.outcome
                == .retry(
                    after: nil, Failure(.work, "its time ended before everything was done")))
        #expect(first.reports.tally["metrics_removed"] == 30)
        let freed = first.reports.tally["bytes_freed"]
        #expect(freed > 1_000_000 && freed < 10_000_000, "\(freed)")
        #expect(second.outcome == .success)
        #expect(second.reports.tally["bytes_freed"] > 4_000_000)
    }

    @Test func `files that a spool has taken go when they are old, and nothing else`()
        async throws
    {
        let bench = WorkBench()
        let folder = try TemporaryFolder()
        for name in ["done", "rejected"] { mkdir("\(folder.path)/\(name)", 0o700) }
        for name in [
            "waiting.json", "done/a.json", "done/b.ndjson", "done/notes.txt", "done/.hidden.json",
            "rejected/c.json", "rejected/c.json.reason",
        ] {
            try folder.write(name, Array("1234".utf8))
        }
        symlink("\(folder.path)/waiting.json", "\(folder.path)/done/link.json")
        mkdir("\(folder.path)/done/deep.json", 0o700)
        let options = [
            "retain_files": "86400000", "sources.0.kind": "spool", "sources.0.path": folder.path,
            "sources.1.kind": "spool", "sources.1.path": "\(folder.path)/none",
        ]
        bench.clock.set(SystemClock().now)

        let young = await bench.attempt("cleanup", options)
        bench.clock.advance(by: .seconds(2 * 86_400))
        let without = await bench.attempt("cleanup")
        let shown = try await bench.dryRun("cleanup", options)
        let files = try folder.contents().count
        let old = await bench.attempt("cleanup", options)

        #expect(young.reports.tally["files_removed"] == 0)
        #expect(!without.reports.tally.names.contains("files_removed"))
        #expect(shown.contains("files: 2 from ") && shown.contains(", 8 bytes"))
        #expect(files == 11)
        #expect(old.outcome == .success && old.reports.tally["files_removed"] == 2)
        #expect(shown.contains(try #require(old.reports.notes.last)))
        #expect(
            try folder.contents().keys.sorted() == [
                "done", "done/.hidden.json", "done/deep.json", "done/link.json", "done/notes.txt",
                "rejected", "rejected/c.json", "rejected/c.json.reason", "waiting.json",
            ])
        let entry = try bench.store().audit.records(limit: 99).last?.entry
        #expect(entry?.action == .removed && entry?.counts == ["files": 2])
    }

    @Test func `a done folder that is a link is not followed`() async throws {
        let bench = WorkBench()
        let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
        try other.write("a.json", [1])
        symlink(other.path, "\(folder.path)/done")
        bench.clock.set(Instant(secondsSince1970: 4_000_000_000))

        let (outcome, reports) = await bench.attempt(
            "cleanup",
            [
                "retain_files": "86400000", "sources.0.kind": "spool",
                "sources.0.path": folder.path,
            ])

        #expect(outcome == .success && reports.tally["files_removed"] == 0)
        #expect(try other.contents().keys.sorted() == ["a.json"])
    }
}

extension WorkBench {
    /// Runs a dry run and returns what it shows.
    func dryRun(_ kind: String, _ options: [String: String] = [:]) async throws -> String {
        let shown = Mutex<[String]>([])
        let outcome = await DryRun.run(
            order(kind, options), environment: [:], clock: clock,
            show: { text in shown.withLock { $0.append(text) } })
        #expect(outcome == .success)
        return shown.withLock { $0 }.joined(separator: "\n")
    }
}
