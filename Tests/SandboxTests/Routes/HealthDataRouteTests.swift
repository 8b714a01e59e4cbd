import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct HealthDataRouteTests {
    private func summary(_ bench: Bench, _ name: String) throws -> JSON? {
        try bench.call("GET", "/_sandbox/summary").body[name]
    }

    @Test func `an upload is stored and told so`() throws {
        let bench = try Bench()
        let body = JSON.upload((0..<100).map { .heartRate($0) }).with("sync_token", "s1")

        let answer = try bench.call(
            "POST", "/health-data/upload", body, token: try bench.token())

        #expect(answer.status == 201)
        #expect(answer.body["status"] == "received")
        #expect(answer.body["accepted_metrics"] == 100)
        #expect(answer.body["rejected_metrics"] == 0)
        #expect(answer.body["validation_errors"] == [])
        #expect(answer.body["sync_token"] == "s1")
        #expect(try summary(bench, "metrics") == 100)
        #expect(try summary(bench, "uploads") == 1)
    }

    @Test func `an id that is stored already is refused alone`() throws {
        let bench = try Bench()
        let token = try bench.token()
        _ = try bench.call(
            "POST", "/health-data/upload", .upload([.heartRate(1), .heartRate(2)]), token: token)

        let answer = try bench.call(
            "POST", "/health-data/upload",
            .upload([.heartRate(3), .heartRate(2), .heartRate(4), .heartRate(1)]), token: token)

        #expect(answer.status == 201)
        #expect(answer.body["accepted_metrics"] == 2)
        #expect(answer.body["rejected_metrics"] == 2)
        let errors = try answer.body["validation_errors"].elements
        #expect(errors.map { $0["field"] } == ["metrics[1].metric_id", "metrics[3].metric_id"])
        #expect(errors.map { $0["code"] } == ["duplicate_metric_id", "duplicate_metric_id"])
        #expect(try summary(bench, "metrics") == 4)
        #expect(try summary(bench, "distinct_metric_ids") == 4)
        #expect(try summary(bench, "uploads") == 2)
    }

    @Test func `one faulty metric keeps the whole upload out`() throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/health-data/upload",
            .upload([.heartRate(1), .heartRate(2, bpm: 500)]), token: try bench.token())

        #expect(answer.status == 422)
        #expect(
            try answer.body.faults == [
                "body.metrics.1.biometric_data.heart_rate less_than_equal"
            ])
        #expect(try summary(bench, "metrics") == 0)
        #expect(try summary(bench, "uploads") == 0)
    }

    @Test func `a refused row takes the whole upload back`() throws {
        let bench = try Bench()
        let token = try bench.token()
        _ = try bench.service.store.number(
            """
            CREATE TRIGGER full BEFORE INSERT ON metrics WHEN NEW.metric_id LIKE '%2'
            BEGIN SELECT RAISE(ABORT, 'no more'); END
            """)

        let answer = try bench.call(
            "POST", "/health-data/upload",
            .upload([.heartRate(1), .heartRate(2), .heartRate(3)]), token: token)

        #expect(answer.status == 500)
        #expect(try summary(bench, "metrics") == 0)
        #expect(try summary(bench, "uploads") == 0)
    }

    @Test(
        arguments: [
            ("user_id", nil, "user_id missing"), ("user_id", 5, "user_id string_type"),
            ("metrics", nil, "metrics missing"), ("metrics", [:], "metrics list_type"),
            ("upload_source", "csv", "upload_source enum"),
            ("client_timestamp", "now", "client_timestamp datetime_parsing"),
            ("sync_token", 1, "sync_token string_type"),
        ] as [(String, JSON?, String)])
    func `a faulty envelope is refused with its place`(
        _ field: String, _ value: JSON?, _ fault: String
    ) throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/health-data/upload", JSON.upload([.heartRate(1)]).with(field, value),
            token: try bench.token())

        #expect(answer.status == 422)
        #expect(try answer.body.faults == ["body.\(fault)"])
    }

    @Test func `an upload for another user is 403`() throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/health-data/upload", .upload([.heartRate(1)]),
            token: try bench.strangersToken())

        #expect(answer.status == 403)
        #expect(try summary(bench, "metrics") == 0)
    }

    @Test func `processing advances with each poll and then rests`() throws {
        let bench = try Bench(steps: 3)
        let token = try bench.token()
        let id = try bench.call(
            "POST", "/health-data/upload", .upload([.heartRate(1)]), token: token
        ).body["processing_id"].string

        let polls = try (0..<4).map { _ in
            try bench.call("GET", "/health-data/processing/\(id)", token: token).body
        }

        #expect(
            polls.map { $0["status"] } == ["processing", "processing", "completed", "completed"])
        #expect(polls.map { $0["progress"] } == [33, 66, 100, 100])
    }

    @Test func `processing that is made to fail ends in failed`() throws {
        let bench = try Bench(steps: 3)
        let token = try bench.token()
        let id = try bench.call(
            "POST", "/health-data/upload", .upload([.heartRate(1)]), token: token
        ).body["processing_id"].string

        let failing = try bench.call("POST", "/_sandbox/fail-processing")
        let poll = try bench.call("GET", "/health-data/processing/\(id)", token: token)

        #expect(failing.body["failing"] == 1)
        #expect(poll.body["status"] == "failed")
        #expect(poll.body["progress"] == 0)
    }

    @Test func `processing of another user or of nothing is 404`() throws {
        let bench = try Bench()
        let id = try bench.call(
            "POST", "/health-data/upload", .upload([.heartRate(1)]), token: try bench.token()
        ).body["processing_id"].string

        let others = try bench.call(
            "GET", "/health-data/processing/\(id)", token: try bench.strangersToken())
        let none = try bench.call("GET", "/health-data/processing/x", token: try bench.token())

        #expect(others.status == 404)
        #expect(none.status == 404)
    }

    @Test func `pages hold every metric once, newest first`() throws {
        let bench = try Bench()
        let token = try bench.token()
        // All metrics have the same time, so the order must not depend on the time alone.
        let metrics = (0..<30).map {
            JSON.heartRate($0).with("created_at", .time(Bench.start - .seconds(5)))
        }
        _ = try bench.call("POST", "/health-data/upload", .upload(metrics), token: token)

        var ids: [JSON] = []
        var times: [String] = []
        var query = ["limit": "7"]
        while true {
            let page = try bench.call("GET", "/health-data", token: token, query: query).body
            for row in try page["data"].elements {
                ids.append(row["id"] ?? .null)
                times.append(try row["timestamp"].string)
            }
            guard case .string(let next)? = page["pagination"]?["next_cursor"] else {
                #expect(page["pagination"]?["has_next"] == false)
                break
            }
            #expect(page["pagination"]?["has_next"] == true)
            query["cursor"] = next
        }

        #expect(ids.count == 30 + Seed.metrics)
        #expect(Set(ids).count == ids.count)
        #expect(Set((0..<30).map { JSON.id($0) }).isSubset(of: ids))
        #expect(times == times.sorted(by: >))
    }

    @Test func `a metric of one number is a row, any other comes whole`() throws {
        let bench = try Bench()
        let token = try bench.token()
        let pressure: JSON = JSON.heartRate(2)
            .with("metric_type", "blood_pressure")
            .with(
                "biometric_data", ["blood_pressure_systolic": 121, "blood_pressure_diastolic": 79])
        _ = try bench.call(
            "POST", "/health-data/upload", .upload([.heartRate(1), pressure]), token: token)

        let rows = try bench.call("GET", "/health-data", token: token).body["data"].elements

        #expect(
            rows[0] == [
                "id": .id(1), "type": "heart_rate", "value": 61, "unit": "bpm",
                "timestamp": .time(Bench.start - .seconds(60)), "source": "apple_health",
                "quality_score": 0.7,
            ])
        #expect(rows[1] == pressure)
    }

    @Test(arguments: [
        (["limit": "0"], "query.limit greater_than_equal"),
        (["limit": "501"], "query.limit less_than_equal"),
        (["limit": "many"], "query.limit int_type"),
        (["cursor": "!"], "query.cursor value_error"),
        (["cursor": ""], "query.cursor value_error"),
    ])
    func `a faulty query is refused with its place`(
        _ query: [String: String], _ fault: String
    ) throws {
        let bench = try Bench()

        let answer = try bench.call(
            "GET", "/health-data", token: try bench.token(), query: query)

        #expect(answer.status == 422)
        #expect(try answer.body.faults == [fault])
    }

    @Test func `users see their own metrics alone`() throws {
        let bench = try Bench()

        let answer = try bench.call("GET", "/health-data", token: try bench.strangersToken())

        #expect(answer.body["data"] == [])
    }
}
