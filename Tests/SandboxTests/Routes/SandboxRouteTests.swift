import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct SandboxRouteTests {
    @Test func `a new server has a seed that no summary counts`() throws {
        let bench = try Bench()

        let summary = try bench.call("GET", "/_sandbox/summary").body

        #expect(
            summary == [
                "dialect": "blueprint", "quirks": [], "kept": [:], "doubled": 0, "dropped": [:],
                "refused": [:], "metrics": 0, "distinct_metric_ids": 0, "samples": 0, "uploads": 0,
                "requests": 0,
                "by_status": [:],
            ])
    }

    @Test func `requests are counted by what they came to, those for the sandbox not`() throws {
        let bench = try Bench(faults: ["GET /auth/me: reset, hang, 503, truncate, garbage"])

        for _ in 0..<6 { _ = bench.reply("GET", "/auth/me") }
        _ = bench.reply("GET", "/elsewhere")
        _ = try bench.call("GET", "/_sandbox/summary")
        let summary = try bench.call("GET", "/_sandbox/summary").body

        #expect(summary["requests"] == 7)
        #expect(
            summary["by_status"] == [
                "200": 1, "401": 2, "404": 1, "503": 1, "hang": 1, "reset": 1,
            ])
    }

    @Test func `stored metrics are listed in pages, in the order in which they came`() throws {
        let bench = try Bench()
        _ = try bench.call(
            "POST", "/health-data/upload", .upload((0..<5).map { .heartRate($0) }),
            token: try bench.token())

        var ids: [JSON?] = []
        var after = "0"
        while true {
            let page = try bench.call(
                "GET", "/_sandbox/metrics", query: ["limit": "2", "after": after]
            ).body
            ids += try page["metrics"].elements.map { $0["metric_id"] }
            guard case .integer(let next)? = page["next"] else { break }
            after = String(next)
        }

        #expect(ids == (0..<5).map { .id($0) })
    }

    @Test func `each upload is recorded with its answer and what became of its samples`() throws {
        let bench = try Bench(
            faults: ["POST /health-data/upload: 503, drop, pass, garbage, pass"])
        let token = try bench.token()
        for count in [1, 1, 2, 1, 1] {
            let reply = bench.reply(
                "POST", "/health-data/upload", .upload((0..<count).map { .heartRate($0) }),
                token: token)
            bench.service.answered(reply)
        }

        let record = try bench.call("GET", "/_sandbox/sends").body
        let later = try bench.call("GET", "/_sandbox/sends", query: ["after": "3"]).body

        let sends = try record["sends"].elements
        #expect(sends.map { $0["accepted"] } == [false, false, true, false, true])
        let outcomes = try sends.map { try $0["samples"].elements.map { $0["outcome"] } }
        #expect(
            outcomes == [
                ["not kept"], ["stored"], ["known", "stored"], ["not kept"], ["known"],
            ])
        #expect(record["stored"] == 2 && record["copies"] == 0 && record["last_send"] == 5)
        // Uploads 4 and 5 sent sample 0 again after upload 3 was accepted; upload 4 was not.
        #expect(record["sent_after_acceptance"] == [.id(0)])
        #expect(try later["sends"].elements.count == 2 && later["stored"] == 1)
        #expect(later["sent_after_acceptance"] == [])
        let sample = try #require(try later["samples"].elements.first)
        #expect(sample["id"] == .id(0) && sample["copies"] == 1)
        #expect(sample["type"] == "heart_rate" && sample["start"] != "")
    }

    @Test func `the clock can be set where it is not the machine's`() throws {
        let bench = try Bench(isClockSet: true)
        let token = try bench.token()
        let later = (Bench.start + .seconds(3601)).description

        let answer = try bench.post("\(later)\n", to: "/_sandbox/clock")

        #expect(answer == (200, ["now": .string(later)]))
        #expect(try bench.call("GET", "/auth/me", token: token).status == 401)
        #expect(try bench.post("soon", to: "/_sandbox/clock").status == 400)
        #expect(try Bench().post(later, to: "/_sandbox/clock").status == 409)
    }

    @Test func `an edit gives a metric another value and the time of now`() throws {
        let bench = try Bench()
        let token = try bench.token()
        _ = try bench.call(
            "POST", "/health-data/upload", .upload([.heartRate(1), .heartRate(2)]), token: token)
        let before = try bench.call("GET", "/health-data", token: token).body["data"].elements
        let id = try before[0]["id"].string
        bench.clock.now = Bench.start + .seconds(60)

        let answer = try bench.post(id, to: "/_sandbox/edit-metric")

        #expect(answer.status == 200)
        let after = try bench.call("GET", "/health-data", token: token).body["data"].elements
        let edited = try #require(after.first { $0["id"] == .string(id) })
        #expect(edited["timestamp"] == .time(bench.clock.now))
        #expect(edited["value"] != before.first { $0["id"] == .string(id) }?["value"])
        #expect(after.filter { !before.contains($0) } == [edited])
        #expect(try bench.post("nobody", to: "/_sandbox/edit-metric").status == 404)
    }

    @Test func `processing that is stalled goes on for ever, or one of it`() throws {
        let bench = try Bench(steps: 1)
        let token = try bench.token()
        let ids = try (1...3).map { number in
            try bench.call(
                "POST", "/health-data/upload", .upload([.heartRate(number)]), token: token
            ).body["processing_id"].string
        }
        func states() throws -> [JSON?] {
            try ids.map {
                try bench.call("GET", "/health-data/processing/\($0)", token: token)
                    .body["status"]
            }
        }

        let one = try bench.post(ids[0], to: "/_sandbox/stall-processing")
        #expect(one == (200, ["stalled": 1]))
        #expect(try states() == ["processing", "completed", "completed"])
        #expect(try bench.post("", to: "/_sandbox/stall-processing") == (200, ["stalled": 1]))
    }

    @Test func `a restart keeps everything`() throws {
        let directory = try TemporaryDirectory()
        let before = try Bench(directory: directory)
        let token = try before.token()
        let id = try before.call(
            "POST", "/health-data/upload", .upload([.heartRate(1)]), token: token
        ).body["processing_id"].string
        let summary = try before.call("GET", "/_sandbox/summary").body

        let after = try Bench(directory: directory)

        #expect(try after.call("GET", "/_sandbox/summary").body == summary)
        #expect(
            try after.call("GET", "/health-data/processing/\(id)", token: token).status == 200)
        let again = try after.call(
            "POST", "/health-data/upload", .upload([.heartRate(1)]), token: token)
        #expect(again.body["rejected_metrics"] == 1)
        let history = try after.call("GET", "/insights/history/\(Seed.user)", token: token)
        #expect(history.body["data"]?["total_count"] == 23)
    }

    @Test func `faults can be added and cleared while it runs`() throws {
        let bench = try Bench()
        func post(_ text: String) -> Reply {
            bench.service.reply(
                to: Request(method: "POST", path: "/_sandbox/fault", body: Array(text.utf8)))
        }

        #expect(post("GET /health: 500 x2\nGET /health: 429\n").outcome == "200")
        #expect(post("nonsense").outcome == "400")
        let found = (0..<4).map { _ in bench.reply("GET", "/health").outcome }
        _ = post("GET /health: 500 x*")
        let cleared = try bench.call("DELETE", "/_sandbox/fault")

        #expect(found == ["500", "500", "429", "200"])
        #expect(cleared.body["cleared"] == 1)
        #expect(cleared.body["struck"] == 3)
        #expect(bench.reply("GET", "/health").outcome == "200")
    }

    @Test(arguments: [("", 200), ("access", 200), ("all\n", 401)])
    func `tokens expire on request, refresh tokens only with all`(
        _ body: String, _ refreshed: Int
    ) throws {
        let bench = try Bench()
        let tokens = try bench.login()

        let reply = bench.service.reply(
            to: Request(
                method: "POST", path: "/_sandbox/expire-tokens", body: Array(body.utf8)))

        #expect(reply.outcome == "200")
        let token = try tokens["access_token"].string
        #expect(try bench.call("GET", "/auth/me", token: token).status == 401)
        let refresh = try bench.call(
            "POST", "/auth/refresh", ["refresh_token": tokens["refresh_token"] ?? .null])
        #expect(refresh.status == refreshed)
    }
}

@Suite struct FaultedReplyTests {
    @Test func `a status comes with a problem and its wait`() throws {
        let bench = try Bench(faults: ["GET /health: 503 retry-after=7"])

        guard case .whole(let response) = bench.reply("GET", "/health").delivery else {
            throw Bench.Unexpected()
        }

        #expect(response.status == 503)
        #expect(response.headers.contains(.init(name: "Retry-After", value: "7")))
        #expect(try JSONParser.parse(response.body)["title"] == "Service Unavailable")
    }

    @Test func `expire revokes the token that came and no other`() throws {
        let bench = try Bench(faults: ["GET /auth/me: expire"])
        let token = try bench.token()
        let other = try bench.token()

        let answers = try (0..<2).map { _ in try bench.call("GET", "/auth/me", token: token) }

        #expect(answers.map(\.status) == [401, 401])
        #expect(answers[0].body == ["error": "invalid_token"])
        #expect(try bench.call("GET", "/auth/me", token: other).status == 200)
    }

    @Test(arguments: [
        ("drop", 1), ("truncate", 1), ("latency=2s", 1), ("pass", 1), ("reset", 0), ("503", 0),
        ("garbage", 0), ("hang", 0), ("expire", 0),
    ])
    func `some faults carry the upload out, the others do not`(
        _ action: String, _ stored: Int
    ) throws {
        let bench = try Bench(faults: ["POST /health-data/upload: \(action)"])

        let reply = bench.reply(
            "POST", "/health-data/upload", .upload([.heartRate(1)]), token: try bench.token())

        #expect(try bench.call("GET", "/_sandbox/summary").body["metrics"] == .count(stored))
        #expect(reply.delay == (action == "latency=2s" ? .seconds(2) : nil))
        switch (action, reply.delivery) {
        case ("drop", .reset), ("reset", .reset), ("hang", .never), ("truncate", .half),
            ("latency=2s", .whole), ("pass", .whole), ("503", .whole), ("garbage", .whole),
            ("expire", .whole):
            break
        default: Issue.record("\(action) was delivered as \(reply.delivery)")
        }
    }

    @Test func `garbage is no JSON`() throws {
        let bench = try Bench(faults: ["GET /health: garbage"])

        guard case .whole(let response) = bench.reply("GET", "/health").delivery else {
            throw Bench.Unexpected()
        }

        #expect(response.status == 200)
        #expect(throws: JSONFault.self) { try JSONParser.parse(response.body) }
    }
}
