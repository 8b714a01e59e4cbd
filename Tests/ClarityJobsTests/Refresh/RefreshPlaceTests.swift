@testable import Backend
@testable import BackendContract
import HealthStore
import ClarityScheduler
import ClarityTestSupport

@testable import ClarityJobs
import Synchronization
import Testing

@Suite("Where a refresh has come to") struct RefreshPlaceTests {
    /// The metrics whose content has changed.
    private final class Changed: Sendable {
        let numbers = Mutex<Set<Int>>([])
        /// The cursor whose page fails.
        let failing = Mutex<String?>(nil)
    }

    /// Makes a backend with ten pages of two metrics, newest first; the `changed` ones have new
    /// content.
    private func longBench(_ changed: Changed) throws -> WorkBench {
        let bench = WorkBench { request throws(TransportError) in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") {
                return PulledPages.insights(0..<0, hasMore: false)
            }
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
        // The page with the change, and two known pages.
        #expect(second.reports.tally["metrics_pulled"] == 6)
        #expect(second.reports.tally["versions_archived"] == 1)
        // Two known pages, then all ten.
        #expect(third.reports.tally["metrics_pulled"] == 24)
        #expect(third.reports.tally["versions_archived"] == 1)
        let record = try bench.store().cache.pullRecord(of: .metrics)
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

        // Another run, which does not get the checkpoint of the first.
        let second = await bench.attempt("refresh")

        #expect(first.reports.checkpoint == "whole 8")
        #expect(second.outcome == .success)
        // Two known pages at the front, then the six that were missing.
        #expect(second.reports.tally["metrics_pulled"] == 16)
        #expect(second.reports.tally["metrics_new"] == 12)
        #expect(try bench.store().cache.count(of: .metrics) == 20)
        #expect(try bench.store().cache.pullRecord(of: .metrics).place == nil)
    }

    @Test
    func `what a pull that failed had not seen comes with the next, which looks at everything`()
        async throws
    {
        let changed = Changed()
        let bench = try longBench(changed)
        _ = await bench.attempt("refresh")
        let before = try bench.store().cache.pullRecord(of: .metrics)
        changed.numbers.withLock { $0 = Set(0..<12) }
        changed.failing.withLock { $0 = "4" }
        bench.clock.advance(by: .seconds(60))

        // Two pages of news are stored, and the third fails. The next run gets no checkpoint.
        let failed = await bench.attempt("refresh")
        let between = try bench.store().cache.pullRecord(of: .metrics)
        changed.failing.withLock { $0 = nil }
        let next = await bench.attempt("refresh")

        #expect(failed.outcome == APIError.tls.outcome)
        #expect(before.wholeAt != nil && between.wholeAt == nil)
        #expect(between.endedAt == before.endedAt)
        #expect(next.outcome == .success)
        #expect(
            failed.reports.tally["versions_archived"]
                + next.reports.tally["versions_archived"] == 12)
        let record = try bench.store().cache.pullRecord(of: .metrics)
        #expect(record.endedAt == bench.clock.now && record.wholeAt == bench.clock.now)
    }

    @Test func `nothing counts as synced before what was not seen is here`() async throws {
        let changed = Changed()
        let bench = try longBench(changed)
        _ = await bench.attempt("refresh")
        let before = try bench.store().cache.pullRecord(of: .metrics)
        changed.numbers.withLock { $0 = Set(0..<12) }
        changed.failing.withLock { $0 = "4" }
        bench.clock.advance(by: .seconds(60))
        _ = await bench.attempt("refresh")

        // The front is known by now. The pull of everything fails at the same page.
        let second = await bench.attempt("refresh")

        #expect(second.outcome == APIError.tls.outcome)
        #expect(try bench.store().cache.pullRecord(of: .metrics).endedAt == before.endedAt)
    }

    @Test func `a pull of what is new leaves when everything was gone through, and where`()
        async throws
    {
        let changed = Changed()
        let bench = try longBench(changed)
        _ = await bench.attempt("refresh")
        let whole = try bench.store().cache.pullRecord(of: .metrics).wholeAt
        changed.numbers.withLock { $0 = [1, 2] }
        bench.clock.advance(by: .seconds(60))

        let second = await bench.attempt("refresh")

        #expect(second.reports.tally["metrics_pulled"] == 8)
        let record = try bench.store().cache.pullRecord(of: .metrics)
        #expect(record.wholeAt == whole && record.endedAt == bench.clock.now)
    }

    @Test func `a place that the backend answers with a fault of its own is forgotten`()
        async throws
    {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") {
                return PulledPages.insights(0..<0, hasMore: false)
            }
            return request.path.hasSuffix("cursor=old")
                ? .status(500) : PulledPages.metrics(request, count: 9)
        }
        try bench.logIn()
        try bench.store().cache.storePullPlace("old", of: .metrics)

        let first = await bench.attempt("refresh", checkpoint: "whole old")
        let place = try bench.store().cache.pullRecord(of: .metrics).place
        let second = await bench.attempt("refresh")

        #expect(first.outcome != .success)
        #expect(place == nil)
        #expect(second.outcome == .success)
        #expect(try bench.store().cache.count(of: .metrics) == 9)
    }

    @Test func `a fault of the backend further on leaves the place`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") {
                return PulledPages.insights(0..<0, hasMore: false)
            }
            return request.path.hasSuffix("cursor=6")
                ? .status(500) : PulledPages.metrics(request, count: 9)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("refresh")

        #expect(outcome != .success)
        #expect(try bench.store().cache.pullRecord(of: .metrics).place == "6")
    }

    @Test func `a place that the backend no longer knows is forgotten`() async throws {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                return .ok(#"{"user_id":"\#(WorkBench.user)"}"#)
            }
            if request.path.hasPrefix("/insights") {
                return PulledPages.insights(0..<0, hasMore: false)
            }
            return request.path.hasSuffix("cursor=old")
                ? .status(400, #"{"detail":"bad cursor"}"#) : PulledPages.metrics(request, count: 9)
        }
        try bench.logIn()
        try bench.store().cache.storePullPlace("old", of: .metrics)

        let first = await bench.attempt("refresh", checkpoint: "whole old")
        let second = await bench.attempt("refresh")

        guard case .failure = first.outcome else {
            Issue.record("the first ended otherwise: \(first.outcome)")
            return
        }
        #expect(second.outcome == .success)
        #expect(try bench.store().cache.count(of: .metrics) == 9)
    }
}
