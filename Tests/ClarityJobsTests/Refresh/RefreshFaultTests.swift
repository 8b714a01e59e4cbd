@testable import Backend
@testable import BackendContract
import HealthStore
import ClarityScheduler
import ClarityTestSupport

@testable import ClarityJobs
import Synchronization
import Testing

@Suite("A refresh that is disturbed") struct RefreshFaultTests {
    @Test func `a refresh whose time ends goes on from there in its next attempt`() async throws {
        let bench = try PulledPages.bench(metrics: 5, insights: 0)

        let first = await bench.attempt("refresh", isEnding: { true })
        let second = await bench.attempt("refresh", checkpoint: first.reports.checkpoint)

        #expect(
            first.outcome
                == .retry(
                    after: nil, Failure(.work, "its time ended before everything was done")))
        #expect(first.reports.checkpoint == "whole 2")
        #expect(
            first.reports.notes == [
                "its time ended after 1 page of metrics; the profile, the latest insights and these "
                    + "pages are kept"
            ])
        #expect(second.outcome == .success)
        #expect(second.reports.tally["metrics_pulled"] == 3)
        #expect(try bench.store().cache.count(of: .metrics) == 5)
    }

    @Test func `a refresh that an error ends goes on from there too`() async throws {
        let bench = WorkBench { request throws(TransportError) in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasSuffix("cursor=2") { throw .tls }
            if request.path.hasPrefix("/insights") {
                return PulledPages.insights(0..<0, hasMore: false)
            }
            return PulledPages.metrics(request, count: 5)
        }
        try bench.logIn()

        let (outcome, reports) = await bench.attempt("refresh")

        #expect(outcome == APIError.tls.outcome)
        #expect(reports.checkpoint == "whole 2")
    }

    @Test func `a refresh with a token of another user's keeps nothing`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") { return .ok(#"{"user_id":"eve"}"#) }
            return PulledPages.metrics(request, count: 5)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("refresh")

        #expect(
            outcome
                == .failure(
                    Failure(
                        .credential,
                        "the backend takes the session for another user's; run "
                            + "`clarity-jobs auth login`")))
        #expect(bench.backend.calls == ["GET /auth/me"])
        #expect(try bench.store().cache.profile() == nil)
    }

    @Test func `pages without rows are not asked for without end`() async throws {
        let count = Mutex(0)
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") {
                return PulledPages.insights(0..<0, hasMore: false)
            }
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .ok(#"{"data":[],"pagination":{"has_next":true,"next_cursor":"c\#(number)"}}"#)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("refresh")

        #expect(
            outcome
                == .failure(
                    Failure(
                        .unreachable,
                        "the backend's answer is not understood: health data: 10 pages in a row "
                            + "without a row")))
        #expect(bench.backend.requests.count == 12)
    }

    @Test func `an insight that is being made waits for the next pull`() async throws {
        let isDone = Mutex(false)
        let bench = WorkBench { request in
            guard request.path.hasPrefix("/insights/history") else {
                return .ok(#"{"success":true,"data":{"status":"generating"}}"#)
            }
            let status = isDone.withLock { $0 } ? "completed" : "generating"
            return .ok(
                #"{"success":true,"data":{"insights":[{"id":"i-0","status":"\#(status)","#
                    + #""generated_at":"2026-01-01T00:00:00Z"}],"has_more":false}}"#)
        }
        try bench.logIn()

        let first = await bench.attempt("insight-history")
        isDone.withLock { $0 = true }
        let second = await bench.attempt("insight-history")

        #expect(first.outcome == .success)
        #expect(first.reports.tally["insights_generating"] == 1)
        #expect(first.reports.tally["insights_pulled"] == 0)
        #expect(second.reports.tally["insights_new"] == 1)
        #expect(second.reports.tally["versions_archived"] == 0)
    }

    @Test func `pages that go in a circle are noticed`() async throws {
        let bench = WorkBench { request in
            let next = request.path.hasSuffix("cursor=a") ? "b" : "a"
            if request.path.hasPrefix("/insights") {
                return PulledPages.insights(0..<0, hasMore: false)
            }
            return request.path.hasPrefix("/auth/me")
                ? .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
                : .ok(#"{"data":[],"pagination":{"has_next":true,"next_cursor":"\#(next)"}}"#)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("refresh")

        #expect(
            outcome
                == .failure(
                    Failure(
                        .unreachable,
                        "the backend's answer is not understood: health data: "
                            + "`pagination.next_cursor` comes again")))
    }

    @Test func `an unreachable backend is tried again later and nothing is lost`() async throws {
        let bench = WorkBench { _ throws(TransportError) in throw .offline }
        try bench.logIn()
        let row = CachedRow(id: "kept", type: "t", timestamp: bench.clock.now, json: [])
        _ = try bench.store().cache.upsert([row], into: .metrics, syncedAt: bench.clock.now)

        let (outcome, _) = await bench.attempt("refresh")

        #expect(outcome == APIError.unreachable(.offline, host: "127.0.0.1:9").outcome)
        #expect(try bench.store().cache.count(of: .metrics) == 1)
    }
}
