import HealthStore
import HealthModel
import ClarityScheduler
import ClarityTestSupport
import Synchronization
import Testing

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

@Suite struct ProcessingStatusWorkerTests {
    /// Makes a bench with an accepted upload of two samples for each id.
    private func bench(
        _ ids: [String], _ answer: @escaping ScriptedBackend.Answer
    ) throws -> WorkBench {
        let bench = WorkBench(answer)
        try bench.logIn()
        let store = try bench.store()
        for (index, id) in ids.enumerated() {
            try bench.enqueue((2 * index)..<(2 * index + 2))
            if let batch = try store.outbox.nextBatch(limit: 2, at: bench.clock.now) {
                try store.outbox.settle(batch, processingID: id, at: bench.clock.now)
            }
        }
        return bench
    }

    private static func status(_ status: String, _ progress: Int = 0) -> HTTPResponse {
        .ok(#"{"status":"\#(status)","progress":\#(progress)}"#)
    }

    @Test func `completed, failed and unfinished uploads are told apart`() async throws {
        let bench = try bench(["a", "b", "c"]) { request in
            switch request.path {
            case "/health-data/processing/a": Self.status("completed", 100)
            case "/health-data/processing/b": Self.status("failed")
            default: Self.status("processing", 30)
            }
        }

        let (outcome, reports) = await bench.attempt("processing-status")

        #expect(outcome == .success)
        #expect(try bench.states() == [.confirmed: 2, .queued: 2, .accepted: 2])
        let tally = reports.tally
        #expect(tally["uploads_confirmed"] == 1)
        #expect(tally["samples_confirmed"] == 2)
        #expect(tally["uploads_failed"] == 1)
        #expect(tally["samples_requeued"] == 2)
        #expect(tally["uploads_processing"] == 1)
    }

    @Test func `rounds go on while something moves and end when nothing does`() async throws {
        let rounds = Mutex(0)
        let bench = try bench(["a"]) { _ in
            let round = rounds.withLock { rounds in
                rounds += 1
                return rounds
            }
            return Self.status("processing", min(round, 3) * 10)
        }

        let (outcome, reports) = await bench.attempt("processing-status")

        #expect(outcome == .success)
        #expect(bench.backend.requests.count == 4)
        #expect(bench.clock.sleeps == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(reports.tally["uploads_processing"] == 1)
    }

    @Test func `rounds end with the attempt's time`() async throws {
        let rounds = Mutex(0)
        let bench = try bench(["a"]) { _ in
            Self.status(
                "processing",
                rounds.withLock { rounds in
                    rounds += 1; return rounds
                })
        }

        let (outcome, _) = await bench.attempt("processing-status")

        // The attempt has 30 s, less 5 s for the warning. After 1 + 2 + 4 + 8 + 8 s no other wait
        // fits.
        #expect(outcome == .success)
        #expect(bench.clock.sleeps == [1, 2, 4, 8, 8].map { Duration.seconds($0) })
    }

    @Test func `an upload that finishes within the attempt is confirmed by it`() async throws {
        let rounds = Mutex(0)
        let bench = try bench(["a"]) { _ in
            let round = rounds.withLock { rounds in
                rounds += 1; return rounds
            }
            return Self.status(round < 3 ? "processing" : "completed", round * 30)
        }

        let (_, reports) = await bench.attempt("processing-status")

        #expect(reports.tally["uploads_processing"] == 0)
        #expect(try bench.states() == [.confirmed: 2])
    }

    @Test func `an upload that is twice not found is unknown, and a person may resend it`()
        async throws
    {
        let bench = try bench(["a"]) { _ in .status(404) }

        let (outcome, reports) = await bench.attempt("processing-status")

        #expect(outcome == .success)
        #expect(bench.backend.requests.count == 2)
        #expect(reports.tally["uploads_unknown"] == 1 && reports.tally["samples_unknown"] == 2)
        #expect(reports.tally["uploads_unconfirmed"] == 0)
        #expect(
            reports.notes == [
                "unknown: the backend does not know the upload, or not any more; "
                    + "`clarity-jobs outbox retry` sends it again"
            ])
        #expect(try bench.states() == [.unconfirmed: 2])
        #expect(try bench.store().outbox.retry(OutboxSelection(state: .unconfirmed)) == 2)
    }

    @Test func `an upload that is found at the second request stays open`() async throws {
        let asked = Mutex(0)
        let bench = try bench(["a"]) { _ in
            let isFirst = asked.withLock { asked in
                asked += 1
                return asked == 1
            }
            return isFirst ? .status(404) : Self.status("processing")
        }

        let (_, reports) = await bench.attempt("processing-status")

        #expect(reports.tally["uploads_unknown"] == 0)
        #expect(try bench.states() == [.accepted: 2])
    }

    @Test(arguments: [("loop", OutboxState.stored), ("blueprint", .unconfirmed)])
    func `what was given up and last called received is stored where that proves it`(
        dialect: String, state: OutboxState
    ) async throws {
        let bench = WorkBench { _ in Self.status("received") }
        try bench.logIn()
        try bench.enqueue(0..<2)
        let store = try bench.store()
        let batch = try #require(try store.outbox.nextBatch(limit: 2, at: bench.clock.now))
        try store.outbox.settle(batch, processingID: "a", at: bench.clock.now)
        let upload = try #require(try store.outbox.openUploads().first)
        try store.noteAsked(about: .upload(upload), "received", at: bench.clock.now)
        try store.outbox.giveUp(upload, reason: "late", at: bench.clock.now)

        let (outcome, reports) = await bench.attempt(
            "processing-status", ["backend.dialect": dialect])

        #expect(outcome == .success)
        #expect(try bench.states() == [state: 2])
        #expect(reports.tally["samples_stored"] == (state == .stored ? 2 : 0))
        #expect(bench.backend.requests.count == (state == .stored ? 1 : 0))
    }

    @Test func `an upload is given up after its time and not before`() async throws {
        let bench = try bench(["a"]) { _ in Self.status("processing") }

        bench.clock.advance(by: .seconds(100))
        let early = await bench.attempt("processing-status", ["give_up_after": "3600000"])
        bench.clock.advance(by: .seconds(3600))
        try bench.logIn()
        let late = await bench.attempt("processing-status", ["give_up_after": "3600000"])

        #expect(early.outcome == .success)
        #expect(early.reports.tally["uploads_unconfirmed"] == 0)
        #expect(late.reports.tally["uploads_unconfirmed"] == 1)
        #expect(
            late.reports.notes == [
                "unconfirmed: the backend did not finish it within 1h (asked 3 times, last word: "
                    + "processing, 0 %)"
            ])
        #expect(
            late.reports.account == "2 samples = 2 unconfirmed")
        #expect(try bench.states() == [.unconfirmed: 2])
        #expect(
            try bench.store().outbox.review().map(\.reason) == [
                "the backend did not finish it within 1h"
            ])
    }

    @Test(arguments: [500, 400, 403])
    func `an upload that cannot be asked for does not hold up the others`(status: Int) async throws
    {
        let bench = try bench(["a", "b", "c"]) { request in
            request.path.hasSuffix("/a") ? .status(status) : Self.status("completed", 100)
        }

        let (outcome, reports) = await bench.attempt("processing-status")

        #expect(outcome == APIError(.status(status), now: bench.clock.now)?.outcome)
        #expect(reports.tally["uploads_confirmed"] == 2)
        #expect(reports.tally["uploads_processing"] == 1)
        #expect(try bench.states() == [.confirmed: 4, .accepted: 2])
    }

    @Test func `an upload that can never be asked for is given up after its time`() async throws {
        let bench = try bench(["a"]) { _ in .ok("no status") }
        bench.clock.advance(by: .seconds(3600))
        try bench.logIn()

        let (outcome, _) = await bench.attempt("processing-status", ["give_up_after": "3600000"])

        #expect(outcome == .success)
        #expect(try bench.states() == [.unconfirmed: 2])
    }

    @Test(arguments: [503, 429])
    func `a backend that is not there gives up no upload`(status: Int) async throws {
        let bench = try bench(["a", "b"]) { _ in .status(status) }
        bench.clock.advance(by: .seconds(3600))
        try bench.logIn()

        let (outcome, _) = await bench.attempt("processing-status", ["give_up_after": "3600000"])

        #expect(outcome == APIError(.status(status), now: bench.clock.now)?.outcome)
        #expect(Set(bench.backend.calls) == ["GET /health-data/processing/a"])
        #expect(try bench.states() == [.accepted: 4])
    }

    @Test func `a completed upload emits the event that other jobs wait for`() async throws {
        let bench = try bench(["a", "b"]) { request in
            request.path.hasPrefix("/pat/")
                ? .ok(#"{"processing_id":"p","status":"completed","pat_features":{"m10":1}}"#)
                : Self.status(request.path.hasSuffix("a") ? "completed" : "failed", 100)
        }
        let store = try bench.store()
        let analysis = try store.analyses.queue(
            of: WorkBench.lastDay, as: .steps, knownMinutes: 9000, at: bench.clock.now)
        try store.analyses.sending(analysis)
        try store.analyses.accept(analysis, processingID: "p", at: bench.clock.now)

        let (outcome, reports) = await bench.attempt("processing-status")

        #expect(outcome == .success)
        #expect(reports.events == [.uploadCompleted, .analysisCompleted])
        #expect(reports.tally["analyses_completed"] == 1)
        #expect(try bench.store().analyses.latestResult()?.result.numbers == ["m10": 1])
        #expect(reports.progress.last.map { [$0.done, $0.total] } == [300, 300])
    }

    @Test func `unfinished and failed uploads emit no event`() async throws {
        let bench = try bench(["a", "b"]) { request in
            Self.status(request.path.hasSuffix("a") ? "processing" : "failed", 10)
        }

        let (_, reports) = await bench.attempt("processing-status")

        #expect(reports.events == [])
        #expect(reports.progress.contains { $0.done == 10 && $0.total == 100 })
    }

    @Test func `how often an upload was asked for, and its last word, stay known`() async throws {
        let bench = try bench(["a"]) { _ in Self.status("processing", 30) }

        _ = await bench.attempt("processing-status")
        let store = try bench.store()
        let asked = try store.questions(
            about: .upload(try #require(store.outbox.openUploads().first)))

        #expect(asked.count == 2)
        #expect(asked.lastWord == "processing, 30 %")
        #expect(asked.lastAt == bench.clock.now)
    }

    @Test(arguments: [
        (#"{"status":"received"}"#, "received"), (#"{"status":"queued"}"#, "received"),
        (#"{"status":"processing","progress":50}"#, "processing, 50 %"),
        (#"{"status":"pondering"}"#, "something else"), (#"{"status":"failed"}"#, "failed"),
    ])
    func `an answer has a word`(json: String, word: String) throws {
        let endpoint = try Dialect.blueprint.endpoint(.metrics)
        let status = try AnswerReader(.metricsStatus).processing(
            Array(json.utf8), from: endpoint)

        #expect(StatusAnswer(status).word == word)
    }

    @Test func `without open uploads nothing is asked`() async throws {
        let bench = WorkBench()

        let (outcome, reports) = await bench.attempt("processing-status")

        #expect(outcome == .success)
        #expect(bench.backend.calls == [])
        #expect(reports.tally["uploads_processing"] == 0)
    }

    @Test func `each route has its own proof, and what has none is not asked for ever`()
        async throws
    {
        let bench = WorkBench { request in
            request.path.hasPrefix("/healthkit/status/")
                ? .ok(#"{"status":"processing","progress":0.75}"#)
                : .ok(#"{"processing_id":"m","status":"received","updated_at":""}"#)
        }
        try bench.logIn()
        let store = try bench.store()
        for (index, route) in UploadRoute.allCases.enumerated() {
            try bench.enqueue(index..<index + 1)
            let rules = UploadEndpoint(
                route: route, types: [.heartRate: "heart_rate"], samples: 1, isIdempotent: false)
            let draw = try store.outbox.nextBatches(limit: 1, rules: [rules], at: bench.clock.now)
            try store.outbox.settle(
                try #require(draw.batch), processingID: route.rawValue, at: bench.clock.now)
        }

        let early = await bench.attempt("processing-status", ["backend.dialect": "loop"])
        let asked = Set(bench.backend.calls)
        bench.clock.advance(by: .seconds(3600))
        try bench.logIn()
        let late = await bench.attempt(
            "processing-status", ["backend.dialect": "loop", "give_up_after": "3600000"])

        #expect(early.outcome == .success && late.outcome == .success)
        #expect(asked == ["GET /health-data/processing/metrics"])
        #expect(bench.backend.calls.allSatisfy { $0 == "GET /health-data/processing/metrics" })
        #expect(early.reports.tally["uploads_stored"] == 1)
        // The answer to the samples was another dialect's, which is no proof in this one.
        #expect(late.reports.tally["uploads_unconfirmed"] == 1)
        #expect(try bench.states() == [.stored: 1, .unconfirmed: 1])
    }
}
