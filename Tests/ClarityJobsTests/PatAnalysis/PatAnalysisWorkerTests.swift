@testable import Backend
@testable import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import ClarityTestSupport

@testable import ClarityJobs
import Synchronization
import Testing

@Suite struct PatAnalysisWorkerTests {
    private static let atOnce = """
        {"analysis_id":"a-1","status":"completed","analysis":{"user_id":"u","sleep_efficiency":91.5,\
        "total_sleep_time":7,"sleep_stages":["wake"],"embedding":[0.5,1]},"cached":false}
        """

    private func bench(_ answer: @escaping ScriptedBackend.Answer) throws -> WorkBench {
        let bench = WorkBench(answer)
        try bench.logIn()
        try bench.keepSteps()
        return bench
    }

    /// Makes a backend that begins an analysis for a recording, and answers each poll by its
    /// number.
    private func slowBench(
        _ answers: @escaping @Sendable (Int) -> HTTPResponse
    ) throws -> WorkBench {
        let asked = Mutex(0)
        return try bench { request in
            guard request.method == .get else {
                return .ok(#"{"analysis_id":"a-1","status":"received"}"#)
            }
            return answers(
                asked.withLock { asked in
                    asked += 1
                    return asked
                })
        }
    }

    @Test func `a result that comes at once is kept at once`() async throws {
        let bench = try bench { _ in .ok(Self.atOnce) }

        let (outcome, reports) = await bench.attempt(
            "pat-analysis", ["backend.dialect": "loop"])

        #expect(outcome == .success)
        // The endpoint of the form that this backend analyses.
        #expect(bench.backend.calls == ["POST /pat/analysis"])
        let latest = try #require(try bench.store().analyses.latestResult())
        #expect(latest.result.numbers == ["sleep_efficiency": 91.5, "total_sleep_time": 7])
        #expect(latest.result.embedding == [0.5, 1])
        #expect(latest.result.json == Array(Self.atOnce.utf8))
        #expect(latest.analysis.processingID == "a-1")
        #expect(latest.analysis.knownMinutes == 10_080)
        #expect(reports.tally["weeks_sent"] == 1 && reports.tally["analyses_completed"] == 1)
        #expect(reports.tally["minutes_sent"] == 10_080)
        #expect(reports.events == [.analysisCompleted])
        #expect(bench.clock.sleeps == [])
    }

    @Test func `a result that takes its time is asked for within the attempt`() async throws {
        let bench = try slowBench { asked in
            .ok(
                asked < 3
                    ? #"{"processing_id":"a-1","status":"processing"}"#
                    : #"{"processing_id":"a-1","status":"completed","pat_features":{"m10":3},"#
                        + #""activity_embedding":[1]}"#)
        }

        let (outcome, reports) = await bench.attempt("pat-analysis")

        #expect(outcome == .success)
        #expect(
            bench.backend.calls
                == ["POST /pat/analyze-step-data"]
                + Array(repeating: "GET /pat/analysis/a-1", count: 3))
        #expect(bench.clock.sleeps == [1, 2, 4].map { Duration.seconds($0) })
        #expect(try bench.store().analyses.latestResult()?.result.numbers == ["m10": 3])
        #expect(reports.events == [.analysisCompleted])
    }

    @Test func `the body has as many timestamps as counts, and none in the future`() async throws {
        let bench = try bench { _ in .ok(Self.atOnce) }

        _ = await bench.attempt("pat-analysis")

        let body = try #require(bench.backend.requests.first).text
        let parts = body.split(separator: "]")
        let counts = parts[0].drop { $0 != "[" }.dropFirst().split(separator: ",")
        let times = parts[1].drop { $0 != "[" }.dropFirst().split(separator: ",")
        #expect(counts.count == 10_080 && times.count == 10_080)
        #expect(times.first == "\"2025-10-02T00:00:00Z\"")
        #expect(times.last == "\"2025-10-08T23:59:00Z\"")
        #expect(counts[479] == "0" && counts[480] == "7")
    }

    @Test func `the other form sends the same minutes as measurements`() async throws {
        let bench = try bench { _ in .ok(Self.atOnce) }

        _ = await bench.attempt("pat-analysis", ["form": "actigraphy"])

        let request = try #require(bench.backend.requests.first)
        #expect(bench.backend.calls == ["POST /pat/analyze"])
        #expect(
            request.text.hasPrefix(
                #"{"data_points":[{"timestamp":"2025-10-02T00:00:00Z","value":0.0},"#))
        #expect(request.text.hasSuffix(#"],"sampling_rate":1.0,"duration_hours":168}"#))
        #expect(request.text.split(separator: "timestamp").count == 10_081)
    }

    @Test func `a week with too few known minutes is not sent, and says why`() async throws {
        let bench = WorkBench()
        try bench.logIn()
        try bench.keepSteps(days: 4)

        let (outcome, reports) = await bench.attempt("pat-analysis")

        #expect(outcome == .success)
        #expect(bench.backend.calls == [])
        #expect(reports.tally["weeks_skipped"] == 1 && reports.tally["weeks_sent"] == 0)
        #expect(
            reports.notes == [
                "the week to 2025-10-08 is not analysed: 5760 of its minutes are known, 7200 are "
                    + "needed"
            ])
        let few = await bench.attempt("pat-analysis", ["minutes_needed": "5761"])
        #expect(few.reports.tally["weeks_skipped"] == 1)
    }

    @Test func `without a whole day there is no week`() async throws {
        let bench = WorkBench()
        try bench.store().analyses.keep([
            StepDay(day: WorkBench.lastDay, zone: "UTC", counts: [1], knownMinutes: 1439)
        ])

        let (outcome, reports) = await bench.attempt("pat-analysis")

        #expect(outcome == .success)
        #expect(
            reports.notes == [
                "no week is analysed: no day is known minute by minute to its end"
            ])
    }

    @Test func `a week is analysed once, and anew when more of it is known`() async throws {
        let bench = WorkBench { _ in .ok(Self.atOnce) }
        try bench.logIn()
        try bench.keepSteps(known: 1300)

        _ = await bench.attempt("pat-analysis")
        let again = await bench.attempt("pat-analysis")
        try bench.keepSteps()
        let more = await bench.attempt("pat-analysis")

        #expect(again.reports.tally["weeks_skipped"] == 1)
        #expect(
            again.reports.notes == [
                "the week to 2025-10-08 is not analysed: it was analysed already, and no more of "
                    + "it is known now"
            ])
        #expect(more.reports.tally["weeks_sent"] == 1)
        #expect(bench.backend.calls.count == 2)
        #expect(try bench.analysis()?.knownMinutes == 10_080)
    }

    @Test func `a recording that may have arrived is sent again by the next attempt`() async throws
    {
        let tries = Mutex(0)
        let bench = try bench { _ throws(TransportError) in
            let isFirst = tries.withLock { tries in
                tries += 1
                return tries == 1
            }
            if isFirst { throw .reset }
            return .ok(Self.atOnce)
        }

        let first = await bench.attempt("pat-analysis")
        let between = try bench.analysis()
        let second = await bench.attempt("pat-analysis")

        #expect(first.outcome == APIError.interrupted.outcome)
        #expect(between?.state == .sending && between?.sends == 1)
        #expect(second.outcome == .success)
        #expect(second.reports.tally["weeks_sent_again"] == 1)
        #expect(bench.backend.requests.count == 2)
        #expect(bench.backend.requests[0].body == bench.backend.requests[1].body)
        #expect(try bench.analysis()?.state == .completed)
    }

    @Test func `offline it waits, and no send is counted`() async throws {
        let bench = try bench { _ throws(TransportError) in throw .couldNotConnect }

        let (outcome, _) = await bench.attempt("pat-analysis")

        #expect(outcome == APIError.unreachable(.couldNotConnect, host: "127.0.0.1:9").outcome)
        #expect(try bench.analysis()?.state == .queued)
        #expect(try bench.analysis()?.sends == 0)
    }

    @Test func `a week that is answered 500 each time is said to be, and not sent for ever`()
        async throws
    {
        let bench = try bench { _ in .status(500) }

        for _ in 0..<StoredAnalysis.mostSends { _ = await bench.attempt("pat-analysis") }
        let last = await bench.attempt("pat-analysis")

        #expect(
            last.reports.notes == [
                "the week to 2025-10-08 is not analysed: it was sent 5 times: the backend answered "
                    + "500 each time"
            ])
    }

    @Test func `a week that is never answered is not sent for ever`() async throws {
        let bench = try bench { _ throws(TransportError) in throw .reset }

        for _ in 0..<StoredAnalysis.mostSends { _ = await bench.attempt("pat-analysis") }
        let last = await bench.attempt("pat-analysis")
        let after = await bench.attempt("pat-analysis")

        #expect(bench.backend.requests.count == 5)
        #expect(
            last.reports.notes == [
                "the week to 2025-10-08 is not analysed: it was sent 5 times and not answered"
            ])
        #expect(try bench.analysis()?.state == .failed)
        #expect(after.reports.tally["weeks_skipped"] == 1)
    }

    @Test func `a recording that the backend refuses is not sent again`() async throws {
        let bench = try bench { _ in .status(422) }

        let first = await bench.attempt("pat-analysis")
        let second = await bench.attempt("pat-analysis")

        #expect(first.outcome == APIError.validation(indices: []).outcome)
        #expect(second.outcome == .success)
        #expect(bench.backend.requests.count == 1)
        #expect(try bench.analysis()?.state == .failed)
    }

    @Test func `a failed analysis is finished and emits no event`() async throws {
        let bench = try slowBench { _ in .ok(#"{"processing_id":"a-1","status":"failed"}"#) }

        let (outcome, reports) = await bench.attempt("pat-analysis")

        #expect(outcome == .success)
        #expect(reports.tally["analyses_failed"] == 1)
        #expect(reports.events == [])
        #expect(try bench.analysis()?.state == .failed)
    }

    @Test func `an answer that is done without its numbers is asked for them`() async throws {
        let bench = try bench { request in
            request.method == .get
                ? .ok(#"{"processing_id":"a","status":"completed","pat_features":{"l5":1}}"#)
                : .ok(#"{"analysis_id":"a","status":"completed","cached":true}"#)
        }

        _ = await bench.attempt("pat-analysis")

        #expect(bench.backend.calls == ["POST /pat/analyze-step-data", "GET /pat/analysis/a"])
        #expect(try bench.store().analyses.latestResult()?.result.numbers == ["l5": 1])
    }

    @Test func `one that is never found is given up after its time, with what was tried`()
        async throws
    {
        let bench = try slowBench { _ in .ok(#"{"processing_id":"none","status":"not_found"}"#) }
        let options = ["give_up_after": "3600000"]

        let early = await bench.attempt("pat-analysis", options)
        bench.clock.advance(by: .seconds(3600))
        try bench.logIn()
        let late = await bench.attempt("processing-status", options)

        #expect(early.outcome == .success)
        #expect(early.reports.tally["analyses_processing"] == 1)
        #expect(late.reports.tally["analyses_unconfirmed"] == 1)
        #expect(
            late.reports.notes == [
                "unconfirmed: the backend did not finish it within 1h (asked 6 times, last word: "
                    + "not found)"
            ])
        #expect(try bench.analysis()?.state == .unconfirmed)
    }
}
