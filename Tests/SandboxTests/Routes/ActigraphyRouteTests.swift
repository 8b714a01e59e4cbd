import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct ActigraphyRouteTests {
    private static func minutes(_ count: Int) -> JSON {
        .array((0..<count).map { .time(Bench.start - .seconds(Int64(60 * (count - $0)))) })
    }

    private static func recording(_ counts: [Int]) -> JSON {
        ["step_counts": .array(counts.map { .count($0) }), "timestamps": minutes(counts.count)]
    }

    @Test func `a week of steps is analysed over the polls`() throws {
        let bench = try Bench(steps: 2)
        let token = try bench.token()
        let counts = (0..<10_080).map { $0 / 60 % 24 < 8 ? 0 : 30 }

        let started = try bench.call(
            "POST", "/pat/analyze-step-data", Self.recording(counts), token: token)
        let id = try started.body["analysis_id"].string
        let first = try bench.call("GET", "/pat/analysis/\(id)", token: token).body
        let last = try bench.call("GET", "/pat/analysis/\(id)", token: token).body

        #expect(started.status == 200)
        #expect(started.body["cached"] == false)
        #expect(first["status"] == "processing")
        #expect(first["pat_features"] == nil)
        #expect(last["status"] == "completed")
        #expect(last["pat_features"]?["mean_activity"] == 20.0)
        #expect(last["pat_features"]?["m10"] == 30.0)
        #expect(last["pat_features"]?["l5"] == 0.0)
        #expect(try last["activity_embedding"].elements.count == 24)
    }

    @Test func `the same recording is analysed once`() throws {
        let bench = try Bench()
        let token = try bench.token()

        let first = try bench.call(
            "POST", "/pat/analyze-step-data", Self.recording([1, 2]), token: token)
        let again = try bench.call(
            "POST", "/pat/analyze-step-data", Self.recording([1, 2]), token: token)
        let other = try bench.call(
            "POST", "/pat/analyze-step-data", Self.recording([2, 1]), token: token)

        #expect(again.body["cached"] == true)
        #expect(again.body["analysis_id"] == first.body["analysis_id"])
        #expect(other.body["analysis_id"] != first.body["analysis_id"])
    }

    @Test func `a recording without movement fails`() throws {
        let bench = try Bench(steps: 1)
        let token = try bench.token()
        let id = try bench.call(
            "POST", "/pat/analyze-step-data", Self.recording([0, 0, 0]), token: token
        ).body["analysis_id"].string

        #expect(
            try bench.call("GET", "/pat/analysis/\(id)", token: token).body["status"] == "failed")
    }

    @Test func `an unknown analysis is not found with 200`() throws {
        let bench = try Bench()

        let answer = try bench.call("GET", "/pat/analysis/x", token: try bench.token())

        #expect(answer.status == 200)
        #expect(answer.body["status"] == "not_found")
    }

    @Test func `data points are analysed too`() throws {
        let bench = try Bench(steps: 1)
        let token = try bench.token()
        let body: JSON = [
            "data_points": [
                ["timestamp": "2026-11-20T06:00:00Z", "value": 1.5],
                ["timestamp": "2026-11-20T06:01:00Z", "value": 2.5],
            ],
            "sampling_rate": 1, "duration_hours": 24,
        ]

        let id = try bench.call("POST", "/pat/analyze", body, token: token)
            .body["analysis_id"].string
        let analysis = try bench.call("GET", "/pat/analysis/\(id)", token: token).body

        #expect(analysis["pat_features"]?["mean_activity"] == 2.0)
        #expect(analysis["pat_features"]?["intradaily_variability"] == 4.0)
    }

    @Test(arguments: [
        (
            recording([1]).with("timestamps", []),
            ["timestamps too_short", "timestamps value_error"]
        ),
        (recording([1]).with("timestamps", minutes(2)), ["timestamps value_error"]),
        (recording([-1]), ["step_counts.0 greater_than_equal"]),
        (recording([1]).with("step_counts", [1.5]), ["step_counts.0 int_from_float"]),
        (recording([1]).with("timestamps", ["x"]), ["timestamps.0 datetime_parsing"]),
        (
            recording([Int](repeating: 1, count: 10_081)),
            ["step_counts too_long", "timestamps too_long"]
        ),
    ])
    func `a faulty recording is refused with its place`(
        _ body: JSON, _ faults: [String]
    ) throws {
        let bench = try Bench()

        let answer = try bench.call(
            "POST", "/pat/analyze-step-data", body, token: try bench.token())

        #expect(answer.status == 422)
        #expect(try answer.body.faults == faults.map { "body.\($0)" })
    }
}
