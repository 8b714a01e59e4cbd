import HealthModel
import Platform
@testable import Backend
@testable import BackendContract
import HealthStore
import ClarityScheduler
import ClarityTestSupport

@testable import ClarityJobs
import Synchronization
import Testing

@Suite struct DryRunTests {
    /// Runs a dry run, and returns its outcome and what it shows.
    private func dryRun(
        _ bench: WorkBench, _ kind: String, _ options: [String: String] = [:],
        conditions: OrderConditions = OrderConditions()
    ) async -> (outcome: Outcome, text: String) {
        let shown = Mutex<[String]>([])
        var order = bench.order(kind, options)
        order.conditions = conditions
        let outcome = await DryRun.run(
            order, environment: [:], clock: bench.clock,
            show: { text in shown.withLock { $0.append(text) } })
        return (outcome, shown.withLock { $0 }.joined(separator: "\n"))
    }

    @Test func `an upload shows every batch, and changes nothing`() async throws {
        let bench = WorkBench()
        bench.writeExport(0..<150)
        try bench.logIn()
        let before = bench.stateContents()

        let (outcome, text) = await dryRun(bench, "bulk-upload", bench.source)

        #expect(outcome == .success)
        #expect(bench.stateContents() == before)
        #expect(
            text.split(separator: "\n").filter { $0.hasPrefix("POST") } == [
                "POST http://127.0.0.1:9/api/v1/health-data/upload",
                "POST http://127.0.0.1:9/api/v1/health-data/upload",
            ])
        #expect(text.contains("  Authorization: <redacted>\n"))
        #expect(text.contains("  -> taken as accepted: 100 metrics\n"))
        #expect(text.contains("  -> taken as accepted: 50 metrics\n"))
        #expect(text.contains("would be: 150 samples read, 150 samples queued,"))
        #expect(
            text.hasSuffix(
                "dry run of `job.bulk-upload`: 2 requests shown, nothing was sent, "
                    + "nothing was changed"))
        #expect(!text.contains("MARKER"))
    }

    @Test func `a dialect that nobody knows yet is shown as a question, and not remembered`()
        async throws
    {
        let bench = WorkBench()
        try bench.logIn()
        let before = bench.stateContents()

        let (outcome, text) = await dryRun(
            bench, "insight-history", ["backend.dialect": "auto"])

        #expect(outcome == .success)
        #expect(bench.stateContents() == before)
        #expect(text.hasPrefix("GET http://127.0.0.1:9/api/v1/auth/health\n"))
        #expect(text.contains("  -> the backend would show its dialect; taken as `blueprint`\n"))
    }

    @Test func `a dialect that is known is not asked for`() async throws {
        let bench = WorkBench()
        try bench.logIn()
        try bench.store().sessions.remember("loop", of: WorkBench.url)

        let (_, text) = await dryRun(bench, "refresh", ["backend.dialect": "auto"])

        #expect(!text.contains("/auth/health"))
        #expect(text.contains("/health-data?limit=100&offset=0\n"))
    }

    @Test func `what is shown is what is then sent`() async throws {
        let desk = UploadDesk()
        let bench = WorkBench { desk.take($0) }
        bench.writeExport(0..<30)
        try bench.logIn()

        let (_, text) = await dryRun(bench, "bulk-upload", bench.source)
        _ = await bench.attempt("bulk-upload", bench.source)

        let sent = try #require(bench.backend.requests.first)
        let body = try #require(sent.body)
        #expect(text.contains("  body: \(body.count) bytes, blake2b-256 \(contentDigest(body))\n"))
        for header in sent.headers { #expect(text.contains("  \(header)\n")) }
    }

    @Test func `what a metered budget leaves room for is what is then sent`() async throws {
        let desk = UploadDesk()
        let bench = WorkBench { desk.take($0) }
        try bench.enqueue(0..<1300)
        try bench.logIn()
        let options = ["metered_budget": "131072", "large_upload": "0"]
        let metered = OrderConditions(metered: true)

        let (dry, text) = await dryRun(bench, "bulk-upload", options, conditions: metered)
        let (real, _) = await bench.attempt("bulk-upload", options, conditions: metered)

        #expect(dry == real)
        let bodies = bench.backend.requests.compactMap { $0.body?.count }
        let shown = text.split(separator: "\n").filter { $0.hasPrefix("  body: ") }
        #expect(bodies.count > 2)
        #expect(shown.count == bodies.count)
        for (line, size) in zip(shown, bodies) { #expect(line.hasPrefix("  body: \(size) bytes")) }
    }

    @Test func `a refresh shows its three calls`() async throws {
        let bench = WorkBench()
        try bench.logIn()
        let before = bench.stateContents()

        let (outcome, text) = await dryRun(bench, "refresh")

        #expect(outcome == .success)
        #expect(bench.stateContents() == before)
        #expect(
            text.split(separator: "\n").filter { $0.hasPrefix("GET") } == [
                "GET http://127.0.0.1:9/api/v1/auth/me",
                "GET http://127.0.0.1:9/api/v1/insights/history/\(WorkBench.user)?limit=100&offset=0",
                "GET http://127.0.0.1:9/api/v1/health-data?limit=100",
            ])
    }

    @Test func `an ended session shows its renewal, which stays unmade`() async throws {
        let bench = WorkBench()
        try bench.logIn(expiresIn: .seconds(1))
        let before = bench.stateContents()

        let (outcome, text) = await dryRun(bench, "insight-history")

        #expect(outcome == .success)
        #expect(text.contains("POST http://127.0.0.1:9/api/v1/auth/refresh\n"))
        #expect(!text.contains("MARKER"))
        #expect(bench.stateContents() == before)
    }

    @Test func `open uploads are each asked for once`() async throws {
        let bench = WorkBench()
        try bench.logIn()
        let store = try bench.store()
        try bench.enqueue(0..<2)
        let batch = try #require(try store.outbox.nextBatch(limit: 2, at: bench.clock.now))
        try store.outbox.settle(batch, processingID: "p-1", at: bench.clock.now)

        let (_, text) = await dryRun(bench, "processing-status")

        #expect(
            text.split(separator: "\n").filter { $0.hasPrefix("GET") } == [
                "GET http://127.0.0.1:9/api/v1/health-data/processing/p-1"
            ])
        #expect(bench.clock.sleeps == [])
    }

    @Test(arguments: [("steps", "analyze-step-data"), ("actigraphy", "analyze")])
    func `an analysis shows the week that is then sent`(form: String, path: String) async throws {
        let bench = WorkBench { _ in
            .ok(#"{"analysis_id":"a","status":"completed","analysis":{"m10":1}}"#)
        }
        try bench.logIn()
        try bench.keepSteps()
        let before = bench.stateContents()

        let (outcome, text) = await dryRun(bench, "pat-analysis", ["form": form])
        let after = bench.stateContents()
        _ = await bench.attempt("pat-analysis", ["form": form])

        #expect(outcome == .success)
        #expect(after == before)
        let sent = try #require(bench.backend.requests.first?.body)
        let lines = text.split(separator: "\n")
        #expect(lines.first == "POST http://127.0.0.1:9/api/v1/pat/\(path)")
        #expect(lines.contains("  body: \(sent.count) bytes, blake2b-256 \(contentDigest(sent))"))
        #expect(
            lines.suffix(3) == [
                "  -> taken as begun: its result would be asked for, and kept",
                "would be: 1 week sent, 10080 minutes sent",
                "dry run of `job.pat-analysis`: 1 request shown, nothing was sent, nothing was "
                    + "changed",
            ])
        #expect(bench.clock.sleeps == [])
    }

    @Test func `an insight shows what is then asked for`() async throws {
        let bench = WorkBench { _ in .ok(#"{"success":true,"data":{"narrative":"n"}}"#) }
        try bench.logIn()
        try bench.keepAnalysis()
        let before = bench.stateContents()

        let (outcome, text) = await dryRun(bench, "insight-generate")
        let after = bench.stateContents()
        _ = await bench.attempt("insight-generate")

        #expect(outcome == .success)
        #expect(after == before)
        let sent = try #require(bench.backend.requests.first?.body)
        let lines = text.split(separator: "\n")
        #expect(lines.first == "POST http://127.0.0.1:9/api/v1/insights/generate")
        #expect(lines.contains("  body: \(sent.count) bytes, blake2b-256 \(contentDigest(sent))"))
        #expect(
            lines.suffix(3) == [
                "  -> taken as made: the insight would be kept with its recommendations",
                "would be: 1 insight generated, 1 insight queued",
                "dry run of `job.insight-generate`: 1 request shown, nothing was sent, nothing "
                    + "was changed",
            ])
    }

    @Test func `open analyses and texts that are missing are each asked for once`() async throws {
        let bench = WorkBench()
        try bench.logIn()
        let store = try bench.store()
        let analysis = try store.analyses.queue(
            of: WorkBench.lastDay, as: .steps, knownMinutes: 9000, at: bench.clock.now)
        try store.analyses.sending(analysis)
        try store.analyses.accept(analysis, processingID: "a-1", at: bench.clock.now)
        let row = CachedRow(
            id: "i-1", type: CachedRow.insightPreview, timestamp: bench.clock.now, json: [])
        _ = try store.analyses.upsertInsights([row], syncedAt: bench.clock.now)
        let before = bench.stateContents()

        let (_, status) = await dryRun(bench, "processing-status")
        let (_, insights) = await dryRun(bench, "insight-history")

        func requests(_ text: String) -> [Substring] {
            text.split(separator: "\n").filter { $0.hasPrefix("GET") }
        }
        #expect(requests(status) == ["GET http://127.0.0.1:9/api/v1/pat/analysis/a-1"])
        #expect(
            Set(requests(insights)) == [
                "GET http://127.0.0.1:9/api/v1/insights/history/\(WorkBench.user)?limit=20&offset=0",
                "GET http://127.0.0.1:9/api/v1/insights/i-1",
            ])
        #expect(bench.stateContents() == before)
        #expect(bench.clock.sleeps == [])
    }

    @Test func `a cleanup shows what it would remove`() async throws {
        let bench = WorkBench()
        let row = CachedRow(id: "old", type: "t", timestamp: bench.clock.now, json: [])
        _ = try bench.store().cache.upsert([row], into: .metrics, syncedAt: bench.clock.now)
        bench.clock.advance(by: .seconds(91 * 86_400))
        let before = bench.stateContents()

        let (outcome, text) = await dryRun(bench, "cleanup")

        #expect(outcome == .success)
        #expect(bench.stateContents() == before)
        #expect(text.contains("would remove: 1 metric removed"))
        #expect(try bench.store().cache.count(of: .metrics) == 1)
    }

    @Test func `without a store nothing is made, and nobody is logged in`() async {
        let bench = WorkBench()

        let (outcome, _) = await dryRun(bench, "refresh")

        #expect(outcome == APIError.notLoggedIn.outcome)
        #expect(bench.stateContents() == [:])
    }

    @Test func `what the real transport refuses is refused here`() async throws {
        let bench = WorkBench()
        try bench.logIn(at: "http://clarity.example/api/v1")

        let (outcome, _) = await dryRun(
            bench, "refresh", ["backend.url": "http://clarity.example/api/v1"])

        #expect(
            outcome
                == .failure(
                    Failure(
                        .configuration, "plain http is for this machine only; use `https://`")))
    }
}
