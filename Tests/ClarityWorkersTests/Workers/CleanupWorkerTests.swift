import ClarityJobs
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityWorkers

@Suite struct CleanupWorkerTests {
    @Test func `what is confirmed and old goes, and the receipt says so`() async throws {
        let bench = WorkBench()
        let store = try bench.store()
        try bench.enqueue(0..<5)
        let batch = try #require(try store.nextBatch(limit: 3, at: bench.clock.now))
        try store.settle(batch, processingID: "a", at: bench.clock.now)
        try store.confirm(store.openUploads()[0], at: bench.clock.now)
        let row = CachedRow(id: "old", type: "t", timestamp: bench.clock.now, json: [])
        _ = try store.upsert([row], into: .metrics, syncedAt: bench.clock.now)
        bench.clock.advance(by: .seconds(90 * 86_400 + 1))

        let (outcome, reports) = await bench.attempt("cleanup")

        #expect(outcome == .success)
        #expect(reports.tally["samples_removed"] == 3)
        #expect(reports.tally["metrics_removed"] == 1)
        #expect(reports.tally["batches_removed"] == 1)
        #expect(
            reports.notes == [
                "what counts as old was confirmed or last listed before 2025-10-09T08:53:21Z"
            ])
        #expect(try bench.states() == [.confirmed: 3, .queued: 2])
        #expect(bench.backend.calls == [])
    }

    @Test func `the job's own retention is kept`() async throws {
        let bench = WorkBench()
        let row = CachedRow(id: "old", type: "t", timestamp: bench.clock.now, json: [])
        _ = try bench.store().upsert([row], into: .insights, syncedAt: bench.clock.now)
        bench.clock.advance(by: .seconds(86_400))

        let kept = await bench.attempt("cleanup", ["retain": "86400000"])
        bench.clock.advance(by: .milliseconds(1))
        let gone = await bench.attempt("cleanup", ["retain": "86400000"])

        #expect(kept.reports.tally["insights_removed"] == 0)
        #expect(gone.reports.tally["insights_removed"] == 1)
    }
}
