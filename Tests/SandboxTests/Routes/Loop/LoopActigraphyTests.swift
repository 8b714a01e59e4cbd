import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct LoopActigraphyTests {
    /// Returns one day of minutes with sleep from 23:00 to 07:00 UTC.
    private func day() -> JSON {
        let start = Timestamp(milliseconds: 1_799_971_200_000)
        let minutes = 0..<1440
        return [
            "step_counts": .array(minutes.map { (7 * 60..<23 * 60).contains($0) ? 40 : 0 }),
            "timestamps": .array(minutes.map { .time(start + .seconds(Int64(60 * $0))) }),
        ]
    }

    @Test func `steps are analysed at once`() throws {
        let bench = try Bench.loop()
        let token = try bench.loopToken()

        let answer = try bench.call("POST", "/pat/step-analysis", day(), token: token)
        let id = try answer.body["analysis_id"].string
        let again = try bench.call("GET", "/pat/analysis/\(id)", token: token)

        #expect(answer.status == 200)
        #expect(answer.body["status"] == "completed")
        #expect(answer.body["analysis"]?["total_sleep_time"] == 8.0)
        #expect(answer.body["analysis"]?["sleep_efficiency"] == 100.0)
        #expect(answer.body["analysis"]?["user_id"] == .string(Seed.user))
        #expect(again.body["status"] == "completed")
    }

    @Test func `the deployed backend crashes at every step analysis and analyses points`() throws {
        let bench = try Bench.loop(Quirk.measured)
        let token = try bench.loopToken()
        let points: JSON = [
            "data_points": .array(
                (0..<1440).map { minute in
                    [
                        "timestamp": .time(Bench.start + .seconds(Int64(60 * minute))),
                        "value": (7 * 60..<23 * 60).contains(minute) ? 40 : 0,
                    ]
                })
        ]

        let steps = try bench.response("POST", "/pat/step-analysis", day(), token: token)
        let actigraphy = try bench.call("POST", "/pat/analysis", points, token: token)

        #expect(steps == .crash)
        #expect(actigraphy.status == 200)
        #expect(actigraphy.body["status"] == "completed")
    }

    @Test func `an analysis that is lost or never was is not found, with 200`() throws {
        let bench = try Bench.loop([.lostAnalyses])
        let token = try bench.loopToken()
        let id = try bench.call("POST", "/pat/step-analysis/", day(), token: token)
            .body["analysis_id"].string

        for name in [id, "none"] {
            let answer = try bench.call("GET", "/pat/analysis/\(name)", token: token)
            #expect(answer.status == 200)
            #expect(answer.body["status"] == "not_found")
            #expect(answer.body["processing_id"] == .string(name))
        }
    }

    @Test(
        arguments: [
            ("/pat/step-analysis", ["step_counts": [], "timestamps": []], 422),
            ("/pat/step-analysis", ["step_counts": [1, 2], "timestamps": ["2026-11-20"]], 422),
            ("/pat/step-analysis", ["step_counts": [0], "timestamps": ["2026-11-20"]], 200),
            (
                "/pat/step-analysis",
                [
                    "step_counts": [1], "timestamps": ["2026-11-20"],
                    "user_metadata": .object((0..<51).map { .init(name: "\($0)", value: 1) }),
                ], 422
            ),
            ("/pat/analysis", ["data_points": [["timestamp": "2026-11-20", "value": 5]]], 200),
            ("/pat/analysis", ["data_points": []], 200), ("/pat/analysis", [:], 422),
            ("/pat/analysis", ["data_points": [], "sampling_rate": 0], 422),
            ("/pat/analysis", ["data_points": [], "duration_hours": 169], 422),
        ] as [(String, JSON, Int)])
    func `a recording has its status`(_ path: String, _ body: JSON, _ status: Int) throws {
        let bench = try Bench.loop()

        let answer = try bench.call("POST", path, body, token: try bench.loopToken())

        #expect(answer.status == status)
    }

    @Test func `a recording without movement fails, with 500 where it is deployed`() throws {
        let body: JSON = ["step_counts": [0], "timestamps": ["2026-11-20"]]
        let clean = try Bench.loop()
        let measured = try Bench.loop([.wrongStatuses])

        let failed = try clean.call(
            "POST", "/pat/step-analysis", body, token: try clean.loopToken())
        let refused = try measured.call(
            "POST", "/pat/step-analysis", body, token: try measured.loopToken())

        #expect(failed.status == 200)
        #expect(failed.body["status"] == "failed")
        #expect(refused.status == 500)
        #expect(refused.body["detail"]?["error"] == "Analysis failed")
    }

    @Test func `the 21st step analysis of an hour is refused`() throws {
        let bench = try Bench.loop([.limits])
        let token = try bench.loopToken()
        let body: JSON = ["step_counts": [5], "timestamps": ["2026-11-20"]]

        let statuses = try (0..<21).map { _ in
            try bench.call("POST", "/pat/step-analysis", body, token: token).status
        }

        #expect(statuses == Array(repeating: 200, count: 20) + [429])
    }
}
