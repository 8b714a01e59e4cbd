import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct LoopInsightTests {
    @Test func `an insight comes whole at once, and is the newest of the history`() throws {
        let bench = try Bench.loop()
        let token = try bench.loopToken()

        let answer = try bench.call(
            "POST", "/insights/", ["analysis_results": ["sleep_efficiency": 85]], token: token)
        let history = try bench.call("GET", "/insights/history/\(Seed.user)", token: token)
        let rows = try history.body["data"]?["insights"].elements ?? []
        let id = try rows[0]["id"].string
        let again = try bench.call("GET", "/insights/\(id)", token: token)

        #expect(answer.status == 200)
        #expect(answer.body["data"]?["id"] == nil)
        #expect(answer.body["data"]?["generated_at"] == "2027-01-15T08:00:00+00:00")
        #expect(rows.count == 10)
        #expect(id.hasPrefix("insight_") && id.utf8.count == 16)
        #expect(rows[0]["generated_at"] == answer.body["data"]?["generated_at"])
        #expect(again.body["data"] == answer.body["data"])
        #expect(try bench.call("GET", "/insights/status", token: token).status == 200)
    }

    @Test func `insights by id and their status are dead where they are deployed`() throws {
        let bench = try Bench.loop([.deadInsights])
        let token = try bench.loopToken()
        let row = try bench.call("GET", "/insights/history/\(Seed.user)", token: token)
            .body["data"]?["insights"].elements[0]

        for id in [try row?["id"].string ?? "", "status"] {
            let answer = try bench.call("GET", "/insights/\(id)", token: token)
            #expect(answer.status == 404)
            #expect(answer.body["detail"]?["code"] == "INSIGHT_NOT_FOUND")
        }
    }

    @Test(
        arguments: [
            ([], 0, 25, true, 3), ([.wrongTotals], 0, 19, true, 2),
            ([.wrongTotals], 10, 39, true, 4), ([.wrongTotals], 20, 25, false, 3),
        ] as [(Set<Quirk>, Int, Int, Bool, Int)])
    func `the totals are right, or wrong until the end`(
        _ quirks: Set<Quirk>, _ offset: Int, _ total: Int, _ hasMore: Bool, _ pages: Int
    ) throws {
        let bench = try Bench.loop(quirks)
        let token = try bench.loopToken()
        for _ in Seed.insights..<25 {
            _ = try bench.call("POST", "/insights", ["analysis_results": [:]], token: token)
        }

        let data = try bench.call(
            "GET", "/insights/history/\(Seed.user)", token: token,
            query: ["limit": "10", "offset": String(offset)]
        ).body["data"]

        #expect(data?["total_count"] == .count(total))
        #expect(data?["has_more"] == .bool(hasMore))
        #expect(data?["pagination"]?["total_pages"] == .count(pages))
        #expect(data?["pagination"]?["current_page"] == .count(offset / 10 + 1))
    }

    @Test(
        arguments: [
            ([], ["limit": "0"], 422), ([.wrongStatuses], ["limit": "0"], 500),
            ([], ["offset": "-1"], 422), ([.wrongStatuses], ["offset": "-1"], 200),
            ([], ["limit": "1000"], 200), ([], ["limit": "9223372036854775807"], 422),
            ([.wrongStatuses], ["limit": "9223372036854775807", "offset": "1e300"], 200),
        ] as [(Set<Quirk>, [String: String], Int)])
    func `a query has its status`(
        _ quirks: Set<Quirk>, _ query: [String: String], _ status: Int
    ) throws {
        let bench = try Bench.loop(quirks)

        let answer = try bench.call(
            "GET", "/insights/history/\(Seed.user)", token: try bench.loopToken(), query: query)

        #expect(answer.status == status)
        if status == 500 {
            #expect(answer.body["detail"]?["code"] == "HISTORY_RETRIEVAL_FAILED")
        }
    }

    @Test func `a history is the user's own, in the id's exact case`() throws {
        let bench = try Bench.loop()

        let answer = try bench.call(
            "GET", "/insights/history/\(Seed.user.uppercased())", token: try bench.loopToken())

        #expect(answer.status == 403)
        #expect(answer.body["detail"]?["code"] == "ACCESS_DENIED")
    }

    @Test func `five scores that are no numbers close the insights to all for a minute`() throws {
        let bench = try Bench.loop([.insightBreaker])
        let token = try bench.loopToken()
        let stranger = try bench.loopStrangersToken()
        let bad: JSON = ["analysis_results": ["sleep_efficiency": "high"]]
        let good: JSON = ["analysis_results": ["sleep_efficiency": 85]]
        func post(_ body: JSON, _ token: String) throws -> Int {
            try bench.call("POST", "/insights/", body, token: token).status
        }

        let first = try (0..<4).map { _ in try post(bad, token) }
        let open = try post(good, token)
        let more = try (0..<5).map { _ in try post(bad, token) }
        let closed = try post(good, stranger)
        bench.clock.now = Bench.start + .seconds(60)

        #expect(Set(first + more) == [503])
        #expect(open == 200)
        #expect(closed == 503)
        #expect(try post(good, stranger) == 200)
    }
}
