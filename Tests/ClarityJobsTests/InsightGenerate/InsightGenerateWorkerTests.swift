import HealthStore
@testable import Backend
@testable import BackendContract
import HealthModel
import ClarityScheduler
import ClarityTestSupport

@testable import ClarityJobs
import Synchronization
import Testing

@Suite struct InsightGenerateWorkerTests {
    private static let made =
        #"{"user_id":"u","narrative":"well rested","recommendations":["walk"],"#
        + #""generated_at":"2025-10-09T08:53:30.250000+00:00"}"#
    private static let answer = #"{"success":true,"data":\#(made),"metadata":{}}"#

    private func bench(_ answer: @escaping ScriptedBackend.Answer) throws -> WorkBench {
        let bench = WorkBench(answer)
        try bench.logIn()
        try bench.keepAnalysis()
        return bench
    }

    private static func history(_ rows: String = "") -> HTTPResponse {
        .ok(#"{"success":true,"data":{"insights":[\#(rows)],"has_more":false}}"#)
    }

    private static func row(_ id: String, _ time: String = "2025-10-09T08:53:30.250000+00:00")
        -> String
    {
        #"{"id":"\#(id)","narrative":"well...","generated_at":"\#(time)"}"#
    }

    @Test func `an insight is made of the newest analysis and kept in full`() async throws {
        let bench = try bench { _ in .ok(Self.answer) }
        try bench.keepAnalysis(
            numbers: ["m10": 1], upTo: CivilDay(daysSince1970: WorkBench.lastDay.daysSince1970 - 7))

        let (outcome, reports) = await bench.attempt(
            "insight-generate",
            [
                "backend.dialect": "loop", "type": "brief", "language": "pt-BR", "context": "none",
                "recommendations": "false",
            ])

        #expect(outcome == .success)
        #expect(bench.backend.calls == ["POST /insights"])
        #expect(
            bench.backend.requests.map(\.text) == [
                #"{"analysis_results":{"circadian_rhythm_score":0.75,"depression_risk_score":0.25,"#
                    + #""sleep_efficiency":91.0,"sleep_onset_latency":12.0,"total_sleep_time":7.5,"#
                    + #""wake_after_sleep_onset":30.0},"insight_type":"brief","#
                    + #""include_recommendations":false,"language":"pt-BR"}"#
            ])
        #expect(try bench.insights() == ["unnamed-1": Self.made])
        #expect(reports.tally["insights_generated"] == 1)
        #expect(reports.events == [.insightGenerated])
    }

    @Test func `where any number counts all of them go, with days and counts`() async throws {
        let bench = try bench { _ in .ok(Self.answer) }

        _ = await bench.attempt("insight-generate")

        let body = try #require(bench.backend.requests.first).text
        #expect(bench.backend.calls == ["POST /insights/generate"])
        #expect(body.contains(#""confidence_score":0.5"#))
        #expect(
            body.contains(
                #""context":"Movement of 2025-10-02 to 2025-10-08, 9000 of 10080 minutes known.","#
                    + #""insight_type":"comprehensive","include_recommendations":true,"#
                    + #""language":"en"}"#))
    }

    @Test func `the history names it, and one row remains with the full text`() async throws {
        let bench = try bench { request in
            request.method == .post ? .ok(Self.answer) : Self.history(Self.row("insight_1"))
        }
        let loop = ["backend.dialect": "loop"]

        _ = await bench.attempt("insight-generate", loop)
        let (outcome, reports) = await bench.attempt("insight-history", loop)

        #expect(outcome == .success)
        #expect(try bench.insights() == ["insight_1": Self.made])
        #expect(reports.tally["insights_new"] == 0)
        #expect(reports.tally["versions_archived"] == 0)
    }

    @Test func `one analysis leads to one insight`() async throws {
        let bench = try bench { _ in .ok(Self.answer) }

        _ = await bench.attempt("insight-generate")
        let second = await bench.attempt("insight-generate")

        #expect(second.outcome == .success)
        #expect(bench.backend.requests.count == 1)
        #expect(second.reports.tally["insights_skipped"] == 1)
        #expect(
            second.reports.notes == [
                "no insight is asked for: one of the newest analysis was asked for before"
            ])
    }

    @Test func `without an analysis there is nothing to make one of`() async throws {
        let bench = WorkBench()

        let (outcome, reports) = await bench.attempt("insight-generate")

        #expect(outcome == .success)
        #expect(reports.notes == ["no insight is asked for: no analysis is complete yet"])
    }

    @Test func `offline it is queued, and sent by the next attempt`() async throws {
        let isOffline = Mutex(true)
        let bench = try bench { _ throws(TransportError) in
            if isOffline.withLock({ $0 }) { throw .couldNotConnect }
            return .ok(Self.answer)
        }

        let first = await bench.attempt("insight-generate")
        let queued = try bench.store().analyses.openInsightRequests()
        isOffline.withLock { $0 = false }
        let second = await bench.attempt("insight-generate")

        #expect(
            first.outcome == APIError.unreachable(.couldNotConnect, host: "127.0.0.1:9").outcome)
        #expect(first.reports.tally["insights_queued"] == 1)
        #expect(queued.map(\.state) == [.queued])
        #expect(second.outcome == .success)
        #expect(second.reports.tally["insights_generated"] == 1)
        #expect(try bench.store().analyses.openInsightRequests().isEmpty)
    }

    @Test func `before any login it is queued too`() async throws {
        let bench = WorkBench()
        try bench.logIn(expiresIn: .seconds(3600))
        try bench.keepAnalysis()
        let session = try #require(try bench.store().sessions.load())
        _ = try bench.store().sessions.remove(session, because: "", at: bench.clock.now)

        let (outcome, _) = await bench.attempt("insight-generate")

        #expect(
            outcome
                == .awaits(
                    .login,
                    Failure(.credential, "waits for a login; run `clarity-jobs auth login`")))
        #expect(try bench.store().analyses.openInsightRequests().map(\.state) == [.queued])
    }

    /// Makes a backend whose first answer is lost, and whose history then has `rows`.
    private func benchInDoubt(_ rows: String) throws -> WorkBench {
        let posts = Mutex(0)
        return try bench { request throws(TransportError) in
            guard request.method == .post else {
                return request.path.hasPrefix("/insights/history")
                    ? Self.history(rows) : .ok(Self.answer)
            }
            let isFirst = posts.withLock { posts in
                posts += 1
                return posts == 1
            }
            if isFirst { throw .reset }
            return .ok(Self.answer)
        }
    }

    @Test func `an answer that was lost is found in the history`() async throws {
        let bench = try benchInDoubt(
            Self.row("insight_1") + "," + Self.row("old", "2025-10-08T00:00:00Z"))

        let first = await bench.attempt("insight-generate")
        let second = await bench.attempt("insight-generate")

        #expect(first.outcome == APIError.interrupted.outcome)
        #expect(second.outcome == .success)
        #expect(second.reports.tally["insights_found"] == 1)
        #expect(
            second.reports.notes == [
                "the history's next insight is taken for the insight that was asked for, which the "
                    + "backend cannot confirm"
            ])
        #expect(second.reports.events == [.insightGenerated])
        #expect(
            bench.backend.calls == [
                "POST /insights/generate",
                "GET /insights/history/\(WorkBench.user)?limit=20&offset=0",
                "GET /insights/insight_1",
            ])
        #expect(try bench.insights()["insight_1"] == Self.made)
        #expect(try bench.store().analyses.openInsightRequests().isEmpty)
    }

    @Test func `an insight made before the request is not taken for its result`() async throws {
        // Made a minute before the first request, or dated later by a clock that is ahead.
        for time in ["2025-10-09T08:52:21Z", "2025-10-09T08:54:21Z"] {
            let bench = try benchInDoubt(Self.row("foreign", time))
            _ = await bench.attempt("insight-history")
            let known = try bench.insights().count

            let first = await bench.attempt("insight-generate")
            let second = await bench.attempt("insight-generate")

            #expect(known == 1)
            #expect(first.outcome == APIError.interrupted.outcome)
            #expect(
                second.outcome
                    == .snooze(
                        after: .seconds(120),
                        Failure(.work, "an insight was asked for and is not there yet")))
            #expect(try bench.store().analyses.openInsightRequests().map(\.state) == [.sending])
        }
    }

    @Test func `an insight that is ready later does not count as a missing text`() async throws {
        let isMade = Mutex(false)
        let bench = try bench { request in
            if request.method == .post {
                return .ok(#"{"success":true,"data":{"id":"i-1","status":"generating"}}"#)
            }
            if request.path.hasPrefix("/insights/history") { return Self.history(Self.row("i-1")) }
            return isMade.withLock { $0 } ? .ok(Self.answer) : .status(404)
        }

        let making = await bench.attempt("insight-generate")
        isMade.withLock { $0 = true }
        _ = await bench.attempt("insight-history")

        #expect(bench.backend.calls.count { $0 == "GET /insights/i-1" } > 5)
        #expect(making.reports.tally["texts_missing"] == 0)
        #expect(try bench.insights() == ["i-1": Self.made])
    }

    @Test func `an insight missing in the history is awaited, then requested again`()
        async throws
    {
        let bench = try benchInDoubt(Self.row("old", "2025-10-08T00:00:00Z"))
        _ = await bench.attempt("insight-generate")

        bench.clock.advance(by: .seconds(30))
        let early = await bench.attempt("insight-generate")
        bench.clock.advance(by: .seconds(540))
        let later = await bench.attempt("insight-generate")
        bench.clock.advance(by: .seconds(30))
        let late = await bench.attempt("insight-generate")

        let waiting = Failure(.work, "an insight was asked for and is not there yet")
        #expect(early.outcome == .snooze(after: .seconds(120), waiting))
        #expect(later.outcome == .snooze(after: .seconds(30), waiting))
        #expect(bench.backend.calls.count { $0.hasPrefix("POST") } == 2)
        #expect(late.outcome == .success)
        #expect(late.reports.tally["insights_possibly_doubled"] == 1)
        #expect(late.reports.tally["insights_generated"] == 1)
        #expect(
            late.reports.notes == [
                "an insight is asked for again: the request before was not answered, and the "
                    + "history has none since"
            ])
    }

    @Test func `an insight in progress is polled until it is ready`() async throws {
        let asked = Mutex(0)
        let bench = try bench { request in
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            return request.method == .post || count < 4
                ? .ok(#"{"success":true,"data":{"id":"i-1","status":"generating"}}"#)
                : .ok(Self.answer)
        }

        let (outcome, reports) = await bench.attempt("insight-generate")

        #expect(outcome == .success)
        #expect(
            bench.backend.calls
                == ["POST /insights/generate"]
                + Array(repeating: "GET /insights/i-1", count: 3))
        #expect(bench.clock.sleeps == [1, 2, 4].map { Duration.seconds($0) })
        #expect(try bench.insights() == ["i-1": Self.made])
        #expect(reports.tally["insights_generated"] == 1)
        #expect(reports.events == [.insightGenerated])
    }

    @Test func `an insight that is never ready is given up after a day`()
        async throws
    {
        let bench = try bench { _ in
            .ok(#"{"success":true,"data":{"id":"i-1","status":"generating"}}"#)
        }

        let first = await bench.attempt("insight-generate")
        bench.clock.advance(by: .seconds(86_400))
        try bench.logIn()
        let last = await bench.attempt("insight-generate")

        #expect(
            first.outcome
                == .snooze(
                    after: .seconds(300),
                    Failure(.work, "an insight was asked for and is not there yet")))
        #expect(last.outcome == .success)
        #expect(last.reports.tally["insights_unconfirmed"] == 1)
        #expect(last.reports.notes.count == 1)
        #expect(
            last.reports.notes[0].hasPrefix(
                "no insight was made: the backend did not finish it within 1d (asked "))
        #expect(bench.backend.calls.count { $0.hasPrefix("POST") } == 1)
    }

    @Test func `numbers that are missing are not sent as nothing`() async throws {
        let bench = WorkBench { _ in .ok(Self.answer) }
        try bench.logIn()
        try bench.keepAnalysis(numbers: ["sleep_efficiency": 91, "m10": 3])

        let (outcome, reports) = await bench.attempt(
            "insight-generate", ["backend.dialect": "loop"])

        #expect(outcome == .success)
        #expect(bench.backend.calls == [])
        #expect(
            reports.notes == [
                "no insight was made: the analysis lacks 5 of the 6 numbers that the backend makes "
                    + "an insight of"
            ])
        #expect(reports.tally["insights_failed"] == 1)
    }

    @Test func `a request that the backend refuses is not made again`() async throws {
        let bench = try bench { _ in .status(422) }

        let first = await bench.attempt("insight-generate")
        let second = await bench.attempt("insight-generate")

        #expect(first.outcome == APIError.validation(indices: []).outcome)
        #expect(second.outcome == .success)
        #expect(bench.backend.requests.count == 1)
    }

    @Test func `a request that failed at its session's renewal is not in doubt`() async throws {
        let bench = WorkBench { _ in .status(500) }
        try bench.logIn(expiresIn: .zero)
        try bench.keepAnalysis()

        _ = await bench.attempt("insight-generate")

        #expect(Set(bench.backend.calls) == ["POST /auth/refresh"])
        #expect(try bench.store().analyses.openInsightRequests().map(\.state) == [.queued])
    }

    @Test(arguments: ["", "e", "english-with-far-too-many-words-in-it", "en_GB", "en-", "en\u{1B}"])
    func `a language that is no tag is refused before anything is done`(language: String)
        async throws
    {
        let bench = try bench { _ in .ok(Self.answer) }

        let (outcome, _) = await bench.attempt("insight-generate", ["language": language])

        #expect(
            outcome
                == .failure(
                    Failure(
                        .configuration,
                        "option `language` is no language tag such as `en` or `pt-BR`")))
        #expect(try bench.store().analyses.openInsightRequests().isEmpty)
    }
}
