import HealthStore

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

/// Makes the answers of a backend that serves rows in pages.
enum PulledPages {
    static func rows(_ range: Range<Int>) -> String {
        range.map {
            """
            {"id":"m-\($0)","type":"heart_rate","value":61,"timestamp":"2026-01-01T00:00:00Z"}
            """
        }.joined(separator: ",")
    }

    static func insights(_ range: Range<Int>, hasMore: Bool) -> HTTPResponse {
        let rows = range.map {
            #"{"id":"i-\#($0)","narrative":"invented","generated_at":"2026-01-01T00:00:00Z"}"#
        }
        return .ok(
            """
            {"success":true,"data":{"insights":[\(rows.joined(separator: ","))],\
            "has_more":\(hasMore)}}
            """)
    }

    /// Returns a page of two metrics, of `count` in all.
    static func metrics(_ request: HTTPRequest, count: Int) -> HTTPResponse {
        let cursor = request.path.split(separator: "cursor=").dropFirst().first.flatMap { Int($0) }
        let start = cursor ?? 0
        let end = min(start + 2, count)
        return .ok(
            """
            {"data":[\(rows(start..<end))],"pagination":{"page_size":2,"has_next":\(end < count),\
            "next_cursor":"\(end)"}}
            """)
    }

    /// Makes a bench whose backend has this many metrics, and lists this many insights as the
    /// latest.
    static func bench(metrics: Int, insights: Int) throws -> WorkBench {
        let bench = WorkBench { request in
            if request.path.hasPrefix("/auth/me") {
                .ok(#"{"user_id":"\#(WorkBench.user)","email":"demo@example.com"}"#)
            } else if request.path.hasPrefix("/insights") {
                PulledPages.insights(0..<insights, hasMore: true)
            } else {
                PulledPages.metrics(request, count: metrics)
            }
        }
        try bench.logIn()
        return bench
    }
}
