import ClarityJobs
import ClarityScheduler
import ClarityTestSupport
import Synchronization
import Testing

@testable import ClarityWorkers

@Suite struct PullWorkersTests {
    private static func rows(_ range: Range<Int>) -> String {
        range.map {
            """
            {"id":"m-\($0)","type":"heart_rate","value":61,"timestamp":"2026-01-01T00:00:00Z"}
            """
        }.joined(separator: ",")
    }

    private static func insights(_ range: Range<Int>, hasMore: Bool) -> HTTPResponse {
        let rows = range.map {
            #"{"id":"i-\#($0)","narrative":"invented","generated_at":"2026-01-01T00:00:00Z"}"#
        }
        return .ok(
            """
            {"success":true,"data":{"insights":[\(rows.joined(separator: ","))],\
            "has_more":\(hasMore)}}
            """)
    }

    /// Pages of two metrics each, `count` in all.
    private static func metrics(_ request: HTTPRequest, count: Int) -> HTTPResponse {
        let cursor = request.path.split(separator: "cursor=").dropFirst().first.flatMap { Int($0) }
        let start = cursor ?? 0
        let end = min(start + 2, count)
        return .ok(
            """
            {"data":[\(rows(start..<end))],"pagination":{"page_size":2,"has_next":\(end < count),\
            "next_cursor":"\(end)"}}
            """)
    }

    private func bench(metrics: Int, insights: Int) throws -> WorkBench {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                .ok(#"{"user_id":"\#(WorkBench.user)","email":"demo@example.com"}"#)
            } else if request.path.hasPrefix("/insights") {
                Self.insights(0..<insights, hasMore: true)
            } else {
                Self.metrics(request, count: metrics)
            }
        }
        try bench.logIn()
        return bench
    }

    // MARK: refresh

    @Test func `a refresh pulls the profile, all metrics and the latest insights`() async throws {
        let bench = try bench(metrics: 5, insights: 3)

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
        #expect(try bench.store().rowCount(of: .metrics) == 5)
        #expect(try bench.store().rowCount(of: .insights) == 3)
        #expect(
            try bench.store().profile().map { String(decoding: $0.json, as: UTF8.self) }
                == #"{"user_id":"\#(WorkBench.user)","email":"demo@example.com"}"#)
    }

    /// The metrics that have another content by now.
    private final class Changed: Sendable {
        let numbers = Mutex<Set<Int>>([])
        /// The place whose page does not come.
        let failing = Mutex<String?>(nil)
    }

    /// Ten pages of two metrics each, newest first; `changed` ones have another content.
    private func longBench(_ changed: Changed) throws -> WorkBench {
        let bench = WorkBench { request throws(TransportError) in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") { return Self.insights(0..<0, hasMore: false) }
            let cursor = request.path.split(separator: "cursor=").dropFirst().first
            if let cursor, changed.failing.withLock({ $0 == String(cursor) }) { throw .tls }
            let start = cursor.flatMap { Int($0) } ?? 0
            let rows = (start..<start + 2).map { number in
                let value = changed.numbers.withLock { $0.contains(number) } ? 62 : 61
                let time = Instant(secondsSince1970: 1_760_000_000 - 60 * Int64(number))
                return #"{"id":"m-\#(number)","type":"heart_rate","value":\#(value),"#
                    + #""timestamp":"\#(time)"}"#
            }
            return .ok(
                """
                {"data":[\(rows.joined(separator: ","))],"pagination":{"page_size":2,\
                "has_next":\(start < 18),"next_cursor":"\(start + 2)"}}
                """)
        }
        try bench.logIn()
        return bench
    }

    @Test func `what changed is pulled from the front, and once a week from everywhere`()
        async throws
    {
        let changed = Changed()
        let bench = try longBench(changed)
        let first = await bench.attempt("refresh")
        changed.numbers.withLock { $0 = [1, 17] }

        let second = await bench.attempt("refresh")
        bench.clock.advance(by: .seconds(7 * 86_400))
        try bench.logIn()
        let third = await bench.attempt("refresh")

        #expect(first.reports.tally["metrics_pulled"] == 20)
        #expect(second.outcome == .success)
        // The page with the change, and two that are known.
        #expect(second.reports.tally["metrics_pulled"] == 6)
        #expect(second.reports.tally["versions_archived"] == 1)
        // Two known pages, then all ten.
        #expect(third.reports.tally["metrics_pulled"] == 24)
        #expect(third.reports.tally["versions_archived"] == 1)
        let record = try bench.store().pullRecord(of: .metrics)
        #expect(record.endedAt == bench.clock.now && record.wholeAt == bench.clock.now)
    }

    @Test func `a pull of everything that was given up goes on in the next run`() async throws {
        let bench = try longBench(Changed())
        let pages = Mutex(0)
        let first = await bench.attempt(
            "refresh",
            isEnding: {
                pages.withLock { pages in
                    pages += 1
                    return pages == 4
                }
            })

        // Another run, without the checkpoint of the first.
        let second = await bench.attempt("refresh")

        #expect(first.reports.checkpoint == "whole 8")
        #expect(second.outcome == .success)
        // Two known pages at the front, then the six that were missing.
        #expect(second.reports.tally["metrics_pulled"] == 16)
        #expect(second.reports.tally["metrics_new"] == 12)
        #expect(try bench.store().rowCount(of: .metrics) == 20)
        #expect(try bench.store().pullRecord(of: .metrics).place == nil)
    }

    @Test
    func `what a pull that failed had not seen comes with the next, which looks at everything`()
        async throws
    {
        let changed = Changed()
        let bench = try longBench(changed)
        _ = await bench.attempt("refresh")
        let before = try bench.store().pullRecord(of: .metrics)
        changed.numbers.withLock { $0 = Set(0..<12) }
        changed.failing.withLock { $0 = "4" }
        bench.clock.advance(by: .seconds(60))

        // Two pages of news are kept, the third is not had; no checkpoint comes to the next run.
        let failed = await bench.attempt("refresh")
        let between = try bench.store().pullRecord(of: .metrics)
        changed.failing.withLock { $0 = nil }
        let next = await bench.attempt("refresh")

        #expect(failed.outcome == APIError.tls.outcome)
        #expect(before.wholeAt != nil && between.wholeAt == nil)
        #expect(between.endedAt == before.endedAt)
        #expect(next.outcome == .success)
        #expect(
            failed.reports.tally["versions_archived"]
                + next.reports.tally["versions_archived"] == 12)
        let record = try bench.store().pullRecord(of: .metrics)
        #expect(record.endedAt == bench.clock.now && record.wholeAt == bench.clock.now)
    }

    @Test func `nothing counts as synced before what was not seen is here`() async throws {
        let changed = Changed()
        let bench = try longBench(changed)
        _ = await bench.attempt("refresh")
        let before = try bench.store().pullRecord(of: .metrics)
        changed.numbers.withLock { $0 = Set(0..<12) }
        changed.failing.withLock { $0 = "4" }
        bench.clock.advance(by: .seconds(60))
        _ = await bench.attempt("refresh")

        // The front is known by now; going through everything fails at the same page.
        let second = await bench.attempt("refresh")

        #expect(second.outcome == APIError.tls.outcome)
        #expect(try bench.store().pullRecord(of: .metrics).endedAt == before.endedAt)
    }

    @Test func `a pull of what is new leaves when everything was gone through, and where`()
        async throws
    {
        let changed = Changed()
        let bench = try longBench(changed)
        _ = await bench.attempt("refresh")
        let whole = try bench.store().pullRecord(of: .metrics).wholeAt
        changed.numbers.withLock { $0 = [1, 2] }
        bench.clock.advance(by: .seconds(60))

        let second = await bench.attempt("refresh")

        #expect(second.reports.tally["metrics_pulled"] == 8)
        let record = try bench.store().pullRecord(of: .metrics)
        #expect(record.wholeAt == whole && record.endedAt == bench.clock.now)
    }

    @Test func `a place that the backend answers with a fault of its own is forgotten`()
        async throws
    {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") { return Self.insights(0..<0, hasMore: false) }
            return request.path.hasSuffix("cursor=old")
                ? .status(500) : Self.metrics(request, count: 9)
        }
        try bench.logIn()
        try bench.store().keepPullPlace("old", of: .metrics)

        let first = await bench.attempt("refresh", checkpoint: "whole old")
        let place = try bench.store().pullRecord(of: .metrics).place
        let second = await bench.attempt("refresh")

        #expect(first.outcome != .success)
        #expect(place == nil)
        #expect(second.outcome == .success)
        #expect(try bench.store().rowCount(of: .metrics) == 9)
    }

    @Test func `a fault of the backend further on leaves the place`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") { return Self.insights(0..<0, hasMore: false) }
            return request.path.hasSuffix("cursor=6")
                ? .status(500) : Self.metrics(request, count: 9)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("refresh")

        #expect(outcome != .success)
        #expect(try bench.store().pullRecord(of: .metrics).place == "6")
    }

    @Test func `a place that the backend no longer knows is forgotten`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") { return Self.insights(0..<0, hasMore: false) }
            return request.path.hasSuffix("cursor=old")
                ? .status(400, #"{"detail":"bad cursor"}"#) : Self.metrics(request, count: 9)
        }
        try bench.logIn()
        try bench.store().keepPullPlace("old", of: .metrics)

        let first = await bench.attempt("refresh", checkpoint: "whole old")
        let second = await bench.attempt("refresh")

        guard case .failure = first.outcome else {
            Issue.record("the first ended otherwise: \(first.outcome)")
            return
        }
        #expect(second.outcome == .success)
        #expect(try bench.store().rowCount(of: .metrics) == 9)
    }

    @Test func `the profile keeps all that the contract gives`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/insights") { return Self.insights(0..<0, hasMore: false) }
            if request.path.hasPrefix("/health-data") { return Self.metrics(request, count: 0) }
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
        #expect(
            try bench.store().profile().map { String(decoding: $0.json, as: UTF8.self) }
                == #"{"user_id":"\#(WorkBench.user)","email":"ada@example.com","#
                + #""display_name":"Ada Invented","first_name":"Ada","last_name":"Invented","#
                + #""role":"user","permissions":["a","b"],"status":"active","#
                + #""email_verified":true,"mfa_enabled":false,"#
                + #""created_at":"2026-01-01T00:00:00Z","last_login":"2026-02-01T00:00:00.500Z"}"#)
    }

    @Test func `fields of the profile that are only shown may have any type`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/insights") { return Self.insights(0..<0, hasMore: false) }
            if request.path.hasPrefix("/health-data") { return Self.metrics(request, count: 0) }
            return .ok(
                #"{"user_id":"\#(WorkBench.user)","role":7,"permissions":"all","status":null,"#
                    + #""mfa_enabled":"no","created_at":[]}"#)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("refresh")

        #expect(outcome == .success)
        #expect(
            try bench.store().profile().map { String(decoding: $0.json, as: UTF8.self) }
                == #"{"user_id":"\#(WorkBench.user)"}"#)
    }

    @Test func `a second refresh finds nothing new and loses nothing`() async throws {
        let bench = try bench(metrics: 3, insights: 1)
        _ = await bench.attempt("refresh")

        let (outcome, reports) = await bench.attempt("refresh")

        #expect(outcome == .success)
        #expect(reports.tally["metrics_pulled"] == 3)
        #expect(reports.tally["metrics_new"] == 0)
        #expect(try bench.store().rowCount(of: .metrics) == 3)
    }

    @Test func `empty answers delete nothing`() async throws {
        let bench = try bench(metrics: 0, insights: 0)
        let row = CachedRow(id: "kept", type: "t", timestamp: bench.clock.now, json: [])
        _ = try bench.store().upsert([row], into: .metrics, syncedAt: bench.clock.now)
        _ = try bench.store().upsert([row], into: .insights, syncedAt: bench.clock.now)

        let (outcome, reports) = await bench.attempt("refresh")

        #expect(outcome == .success)
        #expect(reports.tally["metrics_pulled"] == 0)
        #expect(try bench.store().rowCount(of: .metrics) == 1)
        #expect(try bench.store().rowCount(of: .insights) == 1)
    }

    @Test func `a refresh whose time ends goes on from there in its next attempt`() async throws {
        let bench = try bench(metrics: 5, insights: 0)

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
        #expect(try bench.store().rowCount(of: .metrics) == 5)
    }

    @Test func `a refresh that an error ends goes on from there too`() async throws {
        let bench = WorkBench { request throws(TransportError) in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasSuffix("cursor=2") { throw .tls }
            if request.path.hasPrefix("/insights") { return Self.insights(0..<0, hasMore: false) }
            return Self.metrics(request, count: 5)
        }
        try bench.logIn()

        let (outcome, reports) = await bench.attempt("refresh")

        #expect(outcome == APIError.tls.outcome)
        #expect(reports.checkpoint == "whole 2")
    }

    @Test func `a refresh with a token of another user's keeps nothing`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") { return .ok(#"{"user_id":"eve"}"#) }
            return Self.metrics(request, count: 5)
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
        #expect(try bench.store().profile() == nil)
    }

    @Test func `pages without rows are not asked for without end`() async throws {
        let count = Mutex(0)
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") { return Self.insights(0..<0, hasMore: false) }
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
            if request.path.hasPrefix("/insights") { return Self.insights(0..<0, hasMore: false) }
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
        _ = try bench.store().upsert([row], into: .metrics, syncedAt: bench.clock.now)

        let (outcome, _) = await bench.attempt("refresh")

        #expect(outcome == APIError.offline.outcome)
        #expect(try bench.store().rowCount(of: .metrics) == 1)
    }

    // MARK: insight-history

    @Test func `the history is read to its last page, each insight once`() async throws {
        let bench = WorkBench { request in
            // A new insight has pushed one of the first page onto the second.
            request.path.hasSuffix("offset=0")
                ? Self.insights(0..<2, hasMore: true) : Self.insights(1..<3, hasMore: false)
        }
        try bench.logIn()

        let (outcome, reports) = await bench.attempt(
            "insight-history", ["page_size": "2", "full_texts": "0"])

        #expect(outcome == .success)
        // The list has moved: its front is looked at again.
        #expect(
            bench.backend.calls
                == [0, 2, 0].map {
                    "GET /insights/history/\(WorkBench.user)?limit=2&offset=\($0)"
                })
        #expect(reports.tally["insights_pulled"] == 3)
        #expect(reports.tally["insights_new"] == 3)
    }

    @Test func `an empty page is the last, whatever it says`() async throws {
        let bench = WorkBench { request in
            request.path.hasSuffix("offset=0")
                ? Self.insights(0..<2, hasMore: true) : Self.insights(0..<0, hasMore: true)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("insight-history", ["full_texts": "0"])

        #expect(outcome == .success)
        #expect(bench.backend.requests.count == 2)
    }

    @Test func `a backend that ignores the offset is not asked for ever`() async throws {
        let bench = WorkBench { _ in Self.insights(0..<2, hasMore: true) }
        try bench.logIn()

        let (outcome, reports) = await bench.attempt("insight-history", ["full_texts": "0"])

        #expect(outcome == .success)
        // As many insights as a page has may have been made between two pages.
        #expect(bench.backend.requests.count == 4)
        #expect(reports.notes == ["the backend repeats its insights from offset 2 on"])
    }

    @Test func `pages of insights of which none can be kept are not asked for without end`()
        async throws
    {
        for row in [#"{"id":"i"}"#, #"{"id":"i","status":"generating"}"#] {
            let bench = WorkBench { _ in
                .ok(#"{"success":true,"data":{"insights":[\#(row)],"has_more":true}}"#)
            }
            try bench.logIn()

            let (outcome, _) = await bench.attempt(
                "insight-history", isEnding: { bench.backend.requests.count > 100 })

            #expect(
                outcome
                    == APIError.decoding("insights: 10 pages in a row without one to keep").outcome)
            #expect(bench.backend.requests.count == 10)
        }
    }
}
