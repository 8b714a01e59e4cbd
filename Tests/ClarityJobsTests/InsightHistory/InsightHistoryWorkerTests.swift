@testable import Backend
@testable import BackendContract
import HealthStore
import ClarityScheduler

import ClarityTestSupport
@testable import ClarityJobs
import Testing

@Suite("The history of insights") struct InsightHistoryWorkerTests {
    @Test func `the history is read to its last page, each insight once`() async throws {
        let bench = WorkBench { request in
            // A new insight has pushed one from the first page onto the second.
            request.path.hasSuffix("offset=0")
                ? PulledPages.insights(0..<2, hasMore: true)
                : PulledPages.insights(1..<3, hasMore: false)
        }
        try bench.logIn()

        let (outcome, reports) = await bench.attempt(
            "insight-history", ["page_size": "2", "full_texts": "0"])

        #expect(outcome == .success)
        // The list has moved, so the front is read again.
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
                ? PulledPages.insights(0..<2, hasMore: true)
                : PulledPages.insights(0..<0, hasMore: true)
        }
        try bench.logIn()

        let (outcome, _) = await bench.attempt("insight-history", ["full_texts": "0"])

        #expect(outcome == .success)
        #expect(bench.backend.requests.count == 2)
    }

    @Test func `a backend that ignores the offset is not asked for ever`() async throws {
        let bench = WorkBench { _ in PulledPages.insights(0..<2, hasMore: true) }
        try bench.logIn()

        let (outcome, reports) = await bench.attempt("insight-history", ["full_texts": "0"])

        #expect(outcome == .success)
        // As many new insights as a page holds may have been made between two pages.
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
