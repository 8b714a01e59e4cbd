import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct InsightRouteTests {
    @Test func `the history is paged until there is no more`() throws {
        let bench = try Bench()
        let token = try bench.token()

        var pages: [JSON] = []
        for offset in [0, 10, 20, 30] {
            pages.append(
                try bench.call(
                    "GET", "/insights/history/\(Seed.user)", token: token,
                    query: ["limit": "10", "offset": String(offset)]
                ).body["data"] ?? .null)
        }

        let rows = try pages.flatMap { try $0["insights"].elements }
        #expect(try pages.map { try $0["insights"].elements.count } == [10, 10, 3, 0])
        #expect(pages.map { $0["has_more"] } == [true, true, false, false])
        #expect(pages.map { $0["total_count"] } == [23, 23, 23, 23])
        #expect(pages[1]["pagination"] == ["page": 2, "limit": 10])
        #expect(Set(rows.map { $0["id"] }).count == Seed.insights)
        let times = try rows.map { try $0["generated_at"].string }
        #expect(times == times.sorted(by: >))
        let narratives = try rows.map { try $0["narrative"].string }
        #expect(narratives.allSatisfy { $0.count == 203 && $0.hasSuffix("...") })
    }

    @Test func `seeded insights can be had whole`() throws {
        let bench = try Bench()
        let token = try bench.token()
        let history = try bench.call("GET", "/insights/history/\(Seed.user)", token: token).body
        let row = try history["data"]?["insights"].elements[0]

        let whole = try bench.call(
            "GET", "/insights/\(try row?["id"].string ?? "")", token: token
        ).body["data"]

        #expect(whole?["status"] == "completed")
        #expect(whole?["generated_at"] == row?["generated_at"])
        #expect(
            row?["key_insights_count"] == .count(try whole?["key_insights"].elements.count ?? 0))
        #expect(try whole?["narrative"].string.count ?? 0 > 203)
    }

    @Test func `an insight is generating until it is completed`() throws {
        let bench = try Bench(steps: 3)
        let token = try bench.token()
        let body: JSON = [
            "analysis_results": ["sleep_efficiency": 0.82, "note": "text", "wake_count": 3],
            "insight_type": "brief", "include_recommendations": true, "language": "en",
        ]

        let made = try bench.call("POST", "/insights/generate", body, token: token).body
        let id = try made["data"]?["id"].string ?? ""
        let listed = try bench.call("GET", "/insights/history/\(Seed.user)", token: token).body
        let polls = try (0..<2).map { _ in
            try bench.call("GET", "/insights/\(id)", token: token).body["data"]
        }
        let shown = try bench.call("GET", "/insights/history/\(Seed.user)", token: token).body

        #expect(made["data"]?["status"] == "generating")
        #expect(made["data"]?["narrative"] == "")
        #expect(polls.map { $0?["status"] } == ["generating", "completed"])
        #expect(
            polls[1]?["narrative"]
                == "The analysis says: sleep efficiency is 0.82; wake count is 3.")
        #expect(polls[1]?["key_insights"] == ["sleep efficiency is 0.82", "wake count is 3"])
        // The list shows the new insight first, without a text, and counts as a poll of it.
        #expect(listed["data"]?["total_count"] == 24)
        #expect(
            try listed["data"]?["insights"].elements[0]
                == ["id": .string(id), "status": "generating"])
        #expect(shown["data"]?["total_count"] == 24)
        #expect(try shown["data"]?["insights"].elements[0]["id"].string == id)
    }

    @Test(
        arguments: [
            ("analysis_results", nil, "analysis_results missing"),
            ("analysis_results", [], "analysis_results dict_type"),
            ("insight_type", "long", "insight_type enum"),
            ("include_recommendations", 1, "include_recommendations bool_type"),
            ("language", "e", "language string_too_short"),
        ] as [(String, JSON?, String)])
    func `a faulty order is refused with its place`(
        _ field: String, _ value: JSON?, _ fault: String
    ) throws {
        let bench = try Bench()
        let body: JSON = ["analysis_results": [:]]

        let answer = try bench.call(
            "POST", "/insights/generate", body.with(field, value), token: try bench.token())

        #expect(answer.status == 422)
        #expect(try answer.body.faults == ["body.\(fault)"])
    }

    @Test func `the history of another user is 403`() throws {
        let bench = try Bench()

        let answer = try bench.call(
            "GET", "/insights/history/\(Seed.user)", token: try bench.strangersToken())

        #expect(answer.status == 403)
    }

    @Test func `a negative offset is refused`() throws {
        let bench = try Bench()

        let answer = try bench.call(
            "GET", "/insights/history/\(Seed.user)", token: try bench.token(),
            query: ["offset": "-1"])

        #expect(try answer.body.faults == ["query.offset greater_than_equal"])
    }
}
