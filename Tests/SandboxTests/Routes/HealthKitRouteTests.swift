import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct HealthKitRouteTests {
    private static let sample: JSON = [
        "identifier": .id(1), "type": "HKQuantityTypeIdentifierHeartRate", "value": 61,
        "unit": "count/min", "start_date": "2026-11-20T06:00:00Z",
        "end_date": "2026-11-20T06:00:00Z", "metadata": [:],
    ]

    private static func upload(_ samples: JSON...) -> JSON {
        [
            "user_id": .string(Seed.user), "quantity_samples": .array(samples),
            "category_samples": [], "workouts": [], "correlation_samples": [],
            "upload_metadata": [:],
        ]
    }

    @Test func `samples are queued, counted by kind and stored once`() throws {
        let bench = try Bench(steps: 2)
        let token = try bench.token()
        let body = Self.upload(Self.sample, Self.sample.with("identifier", .id(2)))
            .with("workouts", [Self.sample.with("identifier", .id(3)).with("value", ["a": 1])])

        let answer = try bench.call("POST", "/healthkit_upload", body, token: token)
        _ = try bench.call("POST", "/healthkit_upload", body, token: token)

        #expect(answer.status == 202)
        #expect(answer.body["status"] == "queued")
        #expect(try answer.body["upload_id"].string.hasPrefix(Seed.user + "-"))
        #expect(
            answer.body["samples_received"] == [
                "quantity_samples": 2, "category_samples": 0, "workouts": 1,
                "correlation_samples": 0,
            ])
        let summary = try bench.call("GET", "/_sandbox/summary").body
        #expect(summary["samples"] == 3)
        #expect(summary["metrics"] == 0)
        #expect(summary["uploads"] == 2)
    }

    @Test func `the status goes from 0 to 1`() throws {
        let bench = try Bench(steps: 2)
        let token = try bench.token()
        let id = try bench.call(
            "POST", "/healthkit_upload", Self.upload(Self.sample), token: token
        ).body["upload_id"].string

        let polls = try (0..<3).map { _ in
            try bench.call("GET", "/healthkit_upload/status/\(id)", token: token).body
        }

        #expect(polls.map { $0["status"] } == ["processing", "completed", "completed"])
        #expect(polls.map { $0["progress"] } == [0.5, 1.0, 1.0].map { .number($0) })
    }

    @Test(
        arguments: [
            ("identifier", "x", "identifier uuid_parsing"), ("type", nil, "type missing"),
            ("value", nil, "value missing"), ("value", "61", "value float_type"),
            ("unit", 5, "unit string_type"),
            ("start_date", "2030-01-01T00:00:00Z", "start_date datetime_past"),
            ("end_date", "2026-11-20T05:59:59Z", "end_date value_error"),
            ("device", [], "device dict_type"), ("metadata", 1, "metadata dict_type"),
        ] as [(String, JSON?, String)])
    func `a faulty sample is refused with its place`(
        _ field: String, _ value: JSON?, _ fault: String
    ) throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/healthkit_upload", Self.upload(Self.sample.with(field, value)),
            token: try bench.token())

        #expect(answer.status == 422)
        #expect(try answer.body.faults == ["body.quantity_samples.0.\(fault)"])
        #expect(try bench.call("GET", "/_sandbox/summary").body["samples"] == 0)
    }

    @Test func `an upload for another user is 403`() throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/healthkit_upload", Self.upload(Self.sample),
            token: try bench.strangersToken())

        #expect(answer.status == 403)
    }
}
