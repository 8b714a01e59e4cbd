import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Synchronization
import Testing

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

/// Tests the history of a list that changes while it is read, and the full texts.
@Suite struct HistoryReadingTests {
    /// A list of insights, newest first and numbered from the oldest on, that is served in pages.
    private final class Shelf: Sendable {
        private let state: Mutex<(ids: [Int], requests: Int)>
        /// Changes the list before it answers the request with this number, from 0.
        private let change: @Sendable (Int, inout [Int]) -> Void

        init(_ count: Int, change: @escaping @Sendable (Int, inout [Int]) -> Void = { _, _ in }) {
            state = Mutex((Array((0..<count).reversed()), 0))
            self.change = change
        }

        func page(_ request: HTTPRequest, total: String = "-7") -> HTTPResponse {
            func number(_ name: String) -> Int {
                let rest = request.path.split(separator: "\(name)=").last ?? ""
                return Int(rest.prefix { $0.isNumber }) ?? 0
            }
            let (limit, offset) = (number("limit"), number("offset"))
            return state.withLock { state in
                change(state.requests, &state.ids)
                state.requests += 1
                let rows = state.ids.dropFirst(offset).prefix(limit).map {
                    #"{"id":"i-\#($0)","narrative":"n...","generated_at":"\#(Shelf.time($0))"}"#
                }
                return .ok(
                    """
                    {"success":true,"data":{"insights":[\(rows.joined(separator: ","))],\
                    "total_count":\(total),"has_more":\(offset + limit < state.ids.count),\
                    "pagination":{"total_pages":\(total)}}}
                    """)
            }
        }

        static func time(_ id: Int) -> String {
            Instant(secondsSince1970: 1_700_000_000 + Int64(id) * 60).description
        }
    }

    private func bench(_ shelf: Shelf, total: String = "-7") throws -> WorkBench {
        let bench = WorkBench { request in
            request.path.hasPrefix("/insights/history")
                ? shelf.page(request, total: total) : .status(404)
        }
        try bench.logIn()
        return bench
    }

    private static let loop = ["backend.dialect": "loop", "page_size": "3"]

    @Test(arguments: ["-7", "0", "1", "1000000", "null", #""many""#])
    func `totals are not believed`(total: String) async throws {
        let bench = try bench(Shelf(8), total: total)

        let (outcome, reports) = await bench.attempt("insight-history", Self.loop)

        #expect(outcome == .success)
        #expect(bench.backend.requests.count == 3)
        #expect(reports.tally["insights_new"] == 8)
    }

    @Test(arguments: [1, 2, 3, 4, 7])
    func `insights that are made between two pages are not lost, nor push others out`(
        count: Int
    ) async throws {
        let shelf = Shelf(8) { request, ids in
            if request == 1 { ids = Array((8..<8 + count).reversed()) + ids }
        }
        let bench = try bench(shelf)

        let (outcome, reports) = await bench.attempt("insight-history", Self.loop)

        #expect(outcome == .success)
        #expect(try bench.store().cache.count(of: .insights) == 8 + count)
        #expect(reports.tally["insights_new"] == Int64(8 + count))
        #expect(reports.notes == [])
    }

    @Test func `a list that moves with every page ends all the same`() async throws {
        let shelf = Shelf(30) { _, ids in ids.insert(ids.count, at: 0) }
        let bench = try bench(shelf)

        let (outcome, _) = await bench.attempt("insight-history", Self.loop)

        #expect(outcome == .success)
        #expect(bench.backend.requests.count < 60)
        #expect(try bench.store().cache.count(of: .insights) >= 30)
    }

    @Test func `an insight that is gone from the list stays here`() async throws {
        let isShort = Mutex(false)
        let shelf = Shelf(4) { _, ids in if isShort.withLock({ $0 }) { ids = [3] } }
        let bench = try bench(shelf)
        _ = await bench.attempt("insight-history", Self.loop)
        isShort.withLock { $0 = true }

        _ = await bench.attempt("insight-history", Self.loop)

        #expect(try bench.store().cache.count(of: .insights) == 4)
    }

    // MARK: Full texts

    /// Makes a backend with full texts, except those for which `missing` returns `true`.
    private func textBench(
        _ count: Int, missing: @escaping @Sendable (String) -> Bool = { _ in false }
    ) throws -> WorkBench {
        let shelf = Shelf(count)
        let bench = WorkBench { request in
            if request.path.hasPrefix("/insights/history") { return shelf.page(request) }
            let id = String(request.path.dropFirst("/insights/".count))
            guard !missing(id) else { return .status(404) }
            let time = Shelf.time(Int(id.dropFirst(2)) ?? 0)
            return .ok(
                #"{"success":true,"data":{"narrative":"in full \#(id)","generated_at":"\#(time)"}}"#
            )
        }
        try bench.logIn()
        return bench
    }

    @Test func `texts in full are fetched where they can be had, each once`() async throws {
        let bench = try textBench(5)

        let first = await bench.attempt("insight-history", ["full_texts": "3"])
        let second = await bench.attempt("insight-history", ["full_texts": "3"])
        let third = await bench.attempt("insight-history", ["full_texts": "3"])

        #expect([first, second, third].map(\.outcome) == [.success, .success, .success])
        #expect([first, second, third].map { $0.reports.tally["texts_fetched"] } == [3, 2, 0])
        #expect(
            bench.backend.calls.filter { !$0.contains("history") }
                == [4, 3, 2, 1, 0].map { "GET /insights/i-\($0)" })
        #expect(try bench.insights().values.allSatisfy { $0.contains("in full") })
        #expect(third.reports.tally["versions_archived"] == 0)
    }

    @Test func `a dialect without texts is not asked for them`() async throws {
        let bench = try bench(Shelf(2))

        _ = await bench.attempt("insight-history", Self.loop)

        #expect(bench.backend.calls.count == 1)
    }

    @Test func `a text that is missing holds up no other, and is asked for five times`()
        async throws
    {
        let bench = try textBench(3) { $0 == "i-2" }

        let first = await bench.attempt("insight-history")
        for _ in 0..<6 { _ = await bench.attempt("insight-history") }

        #expect(first.outcome == .success)
        #expect(first.reports.tally["texts_fetched"] == 2)
        #expect(first.reports.tally["texts_missing"] == 1)
        #expect(bench.backend.calls.count { $0 == "GET /insights/i-2" } == 5)
    }

    @Test func `an insight that becomes ready within the attempt is kept by it`() async throws {
        let asked = Mutex(0)
        let bench = WorkBench { request in
            if request.path.hasPrefix("/insights/history") {
                return .ok(
                    #"{"success":true,"data":{"insights":[{"id":"i-0","status":"generating"}],"#
                        + #""has_more":false}}"#)
            }
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            return count < 3
                ? .ok(#"{"success":true,"data":{"status":"generating"}}"#)
                : .ok(
                    #"{"success":true,"data":{"narrative":"n","generated_at":"\#(Shelf.time(0))"}}"#
                )
        }
        try bench.logIn()

        let (outcome, reports) = await bench.attempt("insight-history")

        #expect(outcome == .success)
        #expect(reports.tally["texts_fetched"] == 1)
        #expect(bench.clock.sleeps == [1, 2].map { Duration.seconds($0) })
        #expect(try bench.store().cache.count(of: .insights) == 1)
    }
}
