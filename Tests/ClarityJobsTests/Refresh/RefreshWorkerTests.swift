import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityJobs

@Suite("What a refresh pulls") struct RefreshWorkerTests {
    @Test func `a refresh pulls the profile, all metrics and the latest insights`() async throws {
        let bench = try PulledPages.bench(metrics: 5, insights: 3)

        let (outcome, reports) = await bench.attempt("refresh", ["page_size": "2"])

        #expect(outcome == .success)
        #expect(
            bench.backend.calls == [
                "GET /auth/me", "GET /insights/history/\(WorkBench.user)?limit=2&offset=0",
                "GET /health-data?limit=2", "GET /health-data?limit=2&cursor=2",
                "GET /health-data?limit=2&cursor=4",
            ])
        #expect(reports.tally["metrics_pulled"] == 5)
        #expect(reports.tally["insights_pulled"] == 3)
        #expect(try bench.store().cache.count(of: .metrics) == 5)
        #expect(try bench.store().cache.count(of: .insights) == 3)
        #expect(
            try bench.store().cache.profile().map { String(decoding: $0.json, as: UTF8.self) }
                == #"{"user_id":"\#(WorkBench.user)","email":"demo@example.com"}"#)
    }

    @Test func `the profile keeps all that the contract gives`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/insights") {
                return PulledPages.insights(0..<0, hasMore: false)
            }
            if request.path.hasPrefix("/health-data") {
                return PulledPages.metrics(request, count: 0)
            }
            return .ok(
                """
                {"user_id":"\(WorkBench.user)","first_name":"Ada","last_name":"Invented",\
                "email":"ada@example.com","role":"user","permissions":["a","b"],\
                "status":"active","created_at":"2026-01-01T00:00:00Z",\
                "last_login":"2026-02-01T00:00:00.5Z","mfa_enabled":false,"email_verified":true,\
                "odd":{"x":1}}
                """)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("refresh")

        #expect(outcome == .success)
        let profile = try #require(try bench.store().cache.profile())
        #expect(
            String(decoding: profile.json, as: UTF8.self)
                == #"{"user_id":"\#(WorkBench.user)","email":"ada@example.com","#
                + #""display_name":"Ada Invented","first_name":"Ada","last_name":"Invented","#
                + #""role":"user","permissions":["a","b"],"status":"active","#
                + #""email_verified":true,"mfa_enabled":false,"#
                + #""created_at":"2026-01-01T00:00:00Z","last_login":"2026-02-01T00:00:00.500Z"}"#)
    }

    @Test func `fields of the profile that are only shown may have any type`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/insights") {
                return PulledPages.insights(0..<0, hasMore: false)
            }
            if request.path.hasPrefix("/health-data") {
                return PulledPages.metrics(request, count: 0)
            }
            return .ok(
                #"{"user_id":"\#(WorkBench.user)","role":7,"permissions":"all","status":null,"#
                    + #""mfa_enabled":"no","created_at":[]}"#)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("refresh")

        #expect(outcome == .success)
        let profile = try #require(try bench.store().cache.profile())
        #expect(
            String(decoding: profile.json, as: UTF8.self)
                == #"{"user_id":"\#(WorkBench.user)"}"#)
    }

    @Test func `a second refresh finds nothing new and loses nothing`() async throws {
        let bench = try PulledPages.bench(metrics: 3, insights: 1)
        _ = await bench.attempt("refresh")

        let (outcome, reports) = await bench.attempt("refresh")

        #expect(outcome == .success)
        #expect(reports.tally["metrics_pulled"] == 3)
        #expect(reports.tally["metrics_new"] == 0)
        #expect(try bench.store().cache.count(of: .metrics) == 3)
    }

    @Test func `empty answers delete nothing`() async throws {
        let bench = try PulledPages.bench(metrics: 0, insights: 0)
        let row = CachedRow(id: "kept", type: "t", timestamp: bench.clock.now, json: [])
        _ = try bench.store().cache.upsert([row], into: .metrics, syncedAt: bench.clock.now)
        _ = try bench.store().cache.upsert([row], into: .insights, syncedAt: bench.clock.now)

        let (outcome, reports) = await bench.attempt("refresh")

        #expect(outcome == .success)
        #expect(reports.tally["metrics_pulled"] == 0)
        #expect(try bench.store().cache.count(of: .metrics) == 1)
        #expect(try bench.store().cache.count(of: .insights) == 1)
    }
}
