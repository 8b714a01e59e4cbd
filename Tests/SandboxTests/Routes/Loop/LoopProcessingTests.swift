import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct LoopProcessingTests {
    private func uploaded(_ bench: Bench, _ token: String) throws -> String {
        try bench.upload(.upload([.heartRate(1)]), token: token).body["processing_id"].string
    }

    @Test func `processing advances, or is received for ever`() throws {
        for (quirks, states, updated) in [
            ([], ["processing", "processing", "completed"], "2027-01-15T08:00:00+00:00"),
            ([.neverProcessed], ["received", "received", "received"], ""),
        ] as [(Set<Quirk>, [JSON], JSON)] {
            let bench = try Bench.loop(quirks)
            let token = try bench.loopToken()
            let id = try uploaded(bench, token)

            let polls = try (0..<3).map { _ in
                try bench.call("GET", "/health-data/processing/\(id)", token: token).body
            }

            #expect(polls.map { $0["status"] } == states)
            #expect(polls[2]["updated_at"] == updated)
            #expect(polls[2]["created_at"] == "2027-01-15T08:00:00+00:00")
        }
    }

    @Test(arguments: [([], 404), ([.wrongStatuses], 400)] as [(Set<Quirk>, Int)])
    func `work that is not there has its status`(_ quirks: Set<Quirk>, _ status: Int) throws {
        let bench = try Bench.loop(quirks)
        let token = try bench.loopToken()
        let path = "/health-data/processing/"

        let none = try bench.call("GET", path + "aaaaaaaa-bbbb-4ccc-8ddd-0", token: token)
        let id = "aaaaaaaa-bbbb-4ccc-8ddd-000000000000"
        let unknown = try bench.call("GET", path + id, token: token)

        #expect(none.status == 422)
        #expect(unknown.status == status)
        #expect(unknown.body["detail"] == .string("Processing job \(id) not found"))
    }

    @Test func `an upload that is removed is gone, one that never was is only with a quirk`() throws
    {
        let bench = try Bench.loop()
        let token = try bench.loopToken()
        let id = try uploaded(bench, token)
        let quirky = try Bench.loop([.deleteSaysYes])

        let first = try bench.call("DELETE", "/health-data/\(id)", token: token)
        let second = try bench.call("DELETE", "/health-data/\(id)", token: token)
        let yes = try quirky.call("DELETE", "/health-data/\(id)", token: try quirky.loopToken())

        #expect(first.status == 200)
        #expect(first.body["processing_id"] == .string(id))
        #expect(second.status == 404)
        #expect(yes.status == 200)
        #expect(try bench.summary("metrics") == 0)
    }

    @Test func `pages by offset hold every metric once`() throws {
        let bench = try Bench.loop()
        let token = try bench.loopToken()
        _ = try bench.upload(.upload((0..<30).map { .heartRate($0) }), token: token)

        var ids: [JSON?] = []
        var offset = 0
        while true {
            let page = try bench.call(
                "GET", "/health-data/", token: token,
                query: ["limit": "7", "offset": String(offset)]
            ).body
            let rows = try page["data"].elements
            ids += rows.map { $0["id"] }
            offset += rows.count
            if page["pagination"]?["has_next"] == false { break }
            #expect(try page["links"]?["next"].string.hasSuffix("&offset=\(offset)") == true)
        }

        #expect(ids.count == 30 + Seed.metrics)
        #expect(Set(ids).count == ids.count)
    }

    @Test func `the deployed list is empty`() throws {
        let bench = try Bench.loop([.emptyList])

        let page = try bench.call("GET", "/health-data", token: try bench.loopToken()).body

        #expect(page["data"] == [])
        #expect(page["pagination"]?["page_size"] == 50)
        #expect(page["pagination"]?["has_next"] == false)
    }

    @Test(
        arguments: [
            (["limit": "0"], 422), (["limit": "1001"], 422), (["limit": "x"], 422),
            (["offset": "-1"], 422), (["start_date": "2026-11-20T06:00:00 01:00"], 422),
            (["cursor": "!"], 400), (["cursor": "e30="], 200), (["limit": "1000"], 200),
            (["offset": "99999999999999999999"], 422), (["data_type": "steps"], 200),
        ])
    func `a query has its status`(_ query: [String: String], _ status: Int) throws {
        let bench = try Bench.loop()

        let answer = try bench.call(
            "GET", "/health-data/", token: try bench.loopToken(), query: query)

        #expect(answer.status == status)
    }

    @Test func `HealthKit samples are taken raw, and again`() throws {
        for (quirks, doubled) in [([], 0), ([.noDeduplication], 3)] as [(Set<Quirk>, Int)] {
            let bench = try Bench.loop(quirks)
            let token = try bench.loopToken()
            let sample: JSON = [
                "identifier": "s1", "type": "steps", "value": 5, "start_date": "x", "end_date": "",
            ]
            let body: JSON = [
                "user_id": .string(Seed.user), "quantity_samples": [sample],
                "category_samples": [sample.with("identifier", "s2").with("value", [:])],
                "workouts": [["duration": 5]],
            ]

            let first = try bench.call("POST", "/healthkit", body, token: token)
            let second = try bench.call("POST", "/healthkit/", body, token: token)

            #expect(first.status == 202 && second.status == 202)
            #expect(first.body["upload_id"] != second.body["upload_id"])
            #expect(
                first.body["samples_received"] == [
                    "quantity_samples": 1, "category_samples": 1, "workouts": 1,
                    "correlation_samples": 0,
                ])
            #expect(try bench.summary("samples") == 3)
            #expect(try bench.summary("doubled") == .count(doubled))
        }
    }

    @Test func `HealthKit compares users by case, and wants whole samples`() throws {
        let bench = try Bench.loop()
        let token = try bench.loopToken()

        let upper = try bench.call(
            "POST", "/healthkit/", ["user_id": .string(Seed.user.uppercased())], token: token)
        let faulty = try bench.call(
            "POST", "/healthkit/",
            ["user_id": .string(Seed.user), "quantity_samples": [["identifier": "a"]]],
            token: token)

        #expect(upper.status == 403)
        #expect(
            try faulty.body.faults
                == ["type", "start_date", "end_date", "value"].map {
                    "body.quantity_samples.0.\($0) missing"
                })
    }

    @Test(
        arguments: [
            ([], "x", 400), ([], "other-\(String(repeating: "0", count: 32))", 403),
            ([], "\(Seed.user)-\(String(repeating: "0", count: 32))", 404),
            ([.constantStatus], "x", 400),
            ([.constantStatus], "other-\(String(repeating: "0", count: 32))", 403),
        ] as [(Set<Quirk>, String, Int)])
    func `a HealthKit status goes by the form of its id`(
        _ quirks: Set<Quirk>, _ id: String, _ status: Int
    ) throws {
        let bench = try Bench.loop(quirks)

        let answer = try bench.call(
            "GET", "/healthkit/status/\(id)", token: try bench.loopToken())

        #expect(answer.status == status)
    }

    @Test func `the status of HealthKit samples is a constant where it is deployed`() throws {
        let bench = try Bench.loop([.constantStatus])
        let token = try bench.loopToken()
        let id = try bench.call(
            "POST", "/healthkit/", ["user_id": .string(Seed.user)], token: token
        ).body["upload_id"].string
        let never = "\(Seed.user)-\(String(repeating: "0", count: 32))"

        for id in [id, id, id, never] {
            let answer = try bench.call("GET", "/healthkit/status/\(id)", token: token)
            #expect(answer.status == 200 && answer.body["upload_id"] == .string(id))
            #expect(answer.body["status"] == "processing" && answer.body["progress"] == 0.75)
        }
    }

    @Test(arguments: [([.wrongStatuses], 500, 1), ([], 503, 0)] as [(Set<Quirk>, Int, Int)])
    func `HealthKit samples are stored before an outage where it is deployed`(
        _ quirks: Set<Quirk>, _ status: Int, _ stored: Int
    ) throws {
        let bench = try Bench.loop(quirks, faults: ["POST /healthkit: outage"])
        let sample: JSON = [
            "identifier": "s1", "type": "steps", "value": 5, "start_date": "x", "end_date": "",
        ]

        let answer = try bench.call(
            "POST", "/healthkit",
            ["user_id": .string(Seed.user), "quantity_samples": [sample]],
            token: try bench.loopToken())

        #expect(answer.status == status)
        #expect(try bench.summary("samples") == .count(stored))
    }

    @Test(arguments: [400, 500])
    func `an upload is stored before a failure that was asked for`(_ status: Int) throws {
        let bench = try Bench.loop(
            [.noDeduplication], faults: ["POST /healthkit: stored=\(status) x2"])
        let token = try bench.loopToken()
        let sample: JSON = [
            "identifier": "s1", "type": "steps", "value": 5, "start_date": "x", "end_date": "",
        ]
        let body: JSON = ["user_id": .string(Seed.user), "quantity_samples": [sample]]

        let answers = try (0..<2).map { _ in
            try bench.call("POST", "/healthkit", body, token: token)
        }

        #expect(answers.map(\.status) == [status, status])
        #expect(
            answers.map(\.body)
                == Array(repeating: ["detail": "Failed to process health data upload"], count: 2))
        #expect(try bench.summary("samples") == 1)
        #expect(try bench.summary("doubled") == 1)
    }

    @Test func `a HealthKit upload of the clean dialect is completed in the end`() throws {
        let bench = try Bench.loop()
        let token = try bench.loopToken()
        let id = try bench.call(
            "POST", "/healthkit/", ["user_id": .string(Seed.user)], token: token
        ).body["upload_id"].string

        let polls = try (0..<3).map { _ in
            try bench.call("GET", "/healthkit/status/\(id)", token: token).body["status"]
        }

        #expect(polls == ["processing", "processing", "completed"])
    }
}
