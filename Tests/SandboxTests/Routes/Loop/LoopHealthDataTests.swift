import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct LoopHealthDataTests {
    private func metric(_ number: Int, _ type: String, _ payload: (String, JSON)) -> JSON {
        JSON.heartRate(number).with("metric_type", .string(type)).with("biometric_data", nil)
            .with(payload.0, payload.1)
    }

    @Test func `an upload without quirks keeps every metric`() throws {
        let bench = try Bench.loop()
        let body = JSON.upload((0..<150).map { .heartRate($0) }).with("sync_token", "tok")

        let answer = try bench.upload(body, token: try bench.loopToken())

        #expect(answer.status == 201)
        #expect(answer.body["status"] == "processing")
        #expect(answer.body["accepted_metrics"] == 150)
        #expect(answer.body["rejected_metrics"] == 0)
        #expect(answer.body["validation_errors"] == [])
        #expect(answer.body["estimated_processing_time"] == 300)
        #expect(answer.body["sync_token"] == "tok")
        #expect(answer.body["timestamp"] == "2027-01-15T08:00:00Z")
        #expect(try bench.summary("kept") == ["heart_rate": 150])
        #expect(try bench.summary("dropped") == [:])
    }

    @Test func `the deployed backend keeps the last metric of each type`() throws {
        let bench = try Bench.loop(Quirk.repaired)
        let steps = metric(9, "activity_level", ("activity_data", ["steps": 5]))
        let body = JSON.upload([.heartRate(1), steps, .heartRate(2), .heartRate(3)])

        let answer = try bench.upload(body, token: try bench.loopToken())
        let kept = try bench.call("GET", "/_sandbox/metrics").body["metrics"].elements

        #expect(answer.status == 201)
        #expect(answer.body["accepted_metrics"] == 4)
        #expect(answer.body["rejected_metrics"] == 0)
        #expect(kept.map { $0["metric_id"] } == [.id(9), .id(3)])
        #expect(try bench.summary("kept") == ["activity_level": 1, "heart_rate": 1])
        #expect(try bench.summary("dropped") == ["same_type": 2])
    }

    @Test(
        arguments: [([], 1, 0, 1), ([.noDeduplication], 2, 1, 0)] as [(Set<Quirk>, Int, Int, Int)])
    func `the same metric again is refused, or doubled`(
        _ quirks: Set<Quirk>, _ kept: Int, _ doubled: Int, _ refused: Int
    ) throws {
        let bench = try Bench.loop(quirks)
        let token = try bench.loopToken()
        let body = JSON.upload([.heartRate(1)])

        let first = try bench.upload(body, token: token)
        let second = try bench.upload(body, token: token)

        #expect(first.status == 201 && second.status == 201)
        #expect(first.body["processing_id"] != second.body["processing_id"])
        #expect(second.body["accepted_metrics"] == .count(1 - refused))
        #expect(second.body["rejected_metrics"] == .count(refused))
        #expect(try bench.summary("metrics") == .count(kept))
        #expect(try bench.summary("distinct_metric_ids") == 1)
        #expect(try bench.summary("doubled") == .count(doubled))
        #expect(try bench.summary("refused") == (refused == 0 ? [:] : ["duplicate": 1]))
    }

    @Test(
        arguments: [
            ("heart_rate", ("biometric_data", ["heart_rate": 61]), true),
            ("blood_pressure", ("biometric_data", ["blood_pressure_systolic": 120]), true),
            ("activity_level", ("activity_data", ["steps": 5]), true),
            ("mood_assessment", ("mental_health_data", ["mood_score": "good"]), true),
            ("heart_rate", ("activity_data", ["steps": 5]), false),
            ("heart_rate_variability", ("biometric_data", ["heart_rate_variability": 40]), false),
            ("blood_oxygen", ("biometric_data", ["oxygen_saturation": 97]), false),
            ("respiratory_rate", ("biometric_data", ["respiratory_rate": 14]), false),
            ("stress_indicators", ("mental_health_data", ["stress_level": 3]), false),
            ("cognitive_metrics", ("mental_health_data", ["focus_rating": 3]), false),
            ("environmental", ("biometric_data", ["body_temperature": 36.6]), false),
            ("body_temperature", ("biometric_data", ["body_temperature": 36.6]), false),
            ("blood_glucose", ("biometric_data", ["blood_glucose": 90]), false),
        ] as [(String, (String, JSON), Bool)])
    func `five types are processed, any other fails the whole upload`(
        _ type: String, _ payload: (String, JSON), _ isProcessed: Bool
    ) throws {
        let body = JSON.upload([.heartRate(1), metric(2, type, payload)])
        let clean = try Bench.loop()
        let measured = try Bench.loop([.fiveTypes])

        let accepted = try clean.upload(body, token: try clean.loopToken())
        let answer = try measured.upload(body, token: try measured.loopToken())

        #expect(accepted.status == 201)
        #expect(answer.status == (isProcessed ? 201 : 400))
        guard !isProcessed else { return }
        #expect(
            answer.body["detail"]
                == .string(
                    "Health data processing failed: Health data validation failed: "
                        + "Validation failed: 1 errors"))
        #expect(try measured.summary("metrics") == 0)
        let reason = type == "heart_rate" ? "missing_payload" : "unaccepted_type"
        #expect(try measured.summary("refused")?[reason] == 2)
    }

    @Test(
        arguments: [
            ("biometric_data", "heart_rate", 30.0, 300.0, false),
            ("biometric_data", "blood_pressure_systolic", 70, 250, true),
            ("biometric_data", "blood_pressure_diastolic", 40, 150, true),
            ("biometric_data", "oxygen_saturation", 70, 100, false),
            ("biometric_data", "heart_rate_variability", 0, 200, false),
            ("biometric_data", "respiratory_rate", 5, 60, false),
            ("biometric_data", "body_temperature", 35, 42, false),
            ("biometric_data", "blood_glucose", 50, 500, false),
            ("activity_data", "steps", 0, 100_000, true),
            ("activity_data", "distance", 0, 100, false),
            ("activity_data", "active_energy", 0, 5000, false),
            ("activity_data", "exercise_minutes", 0, 1440, true),
            ("activity_data", "flights_climbed", 0, 500, true),
            ("activity_data", "vo2_max", 10, 80, false),
            ("activity_data", "active_minutes", 0, 1440, true),
            ("activity_data", "resting_heart_rate", 30, 120, false),
            ("mental_health_data", "stress_level", 1, 10, false),
            ("mental_health_data", "anxiety_level", 1, 10, false),
            ("mental_health_data", "energy_level", 1, 10, false),
            ("mental_health_data", "focus_rating", 1, 10, false),
            ("mental_health_data", "social_interaction_minutes", 0, 1440, true),
            ("mental_health_data", "meditation_minutes", 0, 480, true),
        ])
    func `each field has its range, ends included`(
        _ payload: String, _ field: String, _ low: Double, _ high: Double, _ isWhole: Bool
    ) throws {
        let bench = try Bench.loop()
        let token = try bench.loopToken()
        func faults(_ value: Double) throws -> [String] {
            let content: JSON = .object([.init(name: field, value: .number(value))])
            let body = JSON.upload([JSON.heartRate(1).with(payload, content)])
            let answer = try bench.upload(body, token: token)
            return answer.status == 201 ? [] : try answer.body.faults
        }
        let place = "body.metrics.0.\(payload).\(field)"

        #expect(try faults(low) == [])
        #expect(try faults(high) == [])
        #expect(try faults(low - 1) == ["\(place) greater_than_equal"])
        #expect(try faults(high + 1) == ["\(place) less_than_equal"])
        #expect(try faults(low + 1.5) == (isWhole ? ["\(place) int_from_float"] : []))
    }

    @Test(
        arguments: [
            ("user_id", nil, "user_id missing"), ("user_id", "x", "user_id uuid_parsing"),
            ("metrics", [], "metrics too_short"), ("metrics", [:], "metrics list_type"),
            ("metrics", [5], "metrics.0 model_attributes_type"),
            ("upload_source", nil, "upload_source missing"),
            ("client_timestamp", "x", "client_timestamp datetime_from_date_parsing"),
            ("sync_token", 1, "sync_token string_type"),
            ("metrics", [.heartRate(1), .heartRate(1)], "metrics value_error"),
        ] as [(String, JSON?, String)])
    func `a faulty envelope is refused with its place and its input`(
        _ field: String, _ value: JSON?, _ fault: String
    ) throws {
        let bench = try Bench.loop()
        let body = JSON.upload([.heartRate(1)]).with(field, value)

        let answer = try bench.upload(body, token: try bench.loopToken())

        #expect(answer.status == 422)
        #expect(try answer.body.faults == ["body.\(fault)"])
        let input = try answer.body["detail"].elements[0]["input"]
        if value == nil { #expect(input == body) }
        if value == "x" { #expect(input == "x") }
    }

    @Test(
        arguments: [
            "2026-11-20T06:00:00Z", "2026-11-20T06:00:00.123456+01:00", "2026-11-20T06:00:00",
            "2026-11-20 06:00", "2096-11-20T06:00:00Z", 1_800_000_000, 1_800_000_000.5,
            "1800000000",
        ] as [JSON])
    func `dates are taken with any zone or none, as seconds, and ahead`(_ date: JSON) throws {
        let bench = try Bench.loop()
        let body = JSON.upload([JSON.heartRate(1).with("created_at", date)])
            .with("client_timestamp", date)

        #expect(try bench.upload(body, token: try bench.loopToken()).status == 201)
    }

    @Test func `numbers as text, users in upper case and unknown fields pass`() throws {
        let bench = try Bench.loop()
        let metric = JSON.heartRate(1, bpm: "72.0").with("metric_id", nil).with("more", true)
        let body = JSON.upload([metric]).with("user_id", .string(Seed.user.uppercased()))

        #expect(try bench.upload(body, token: try bench.loopToken()).status == 201)
    }

    @Test(arguments: [([], 403), ([.wrongStatuses], 500)] as [(Set<Quirk>, Int)])
    func `another user's upload is refused`(_ quirks: Set<Quirk>, _ status: Int) throws {
        let bench = try Bench.loop(quirks)
        let body = JSON.upload([.heartRate(1)])

        let answer = try bench.upload(body, token: try bench.loopStrangersToken())

        #expect(answer.status == status)
        #expect(try bench.summary("metrics") == 0)
    }

    @Test func `sleep and what is no object crash the deployed validator`() throws {
        let bench = try Bench.loop(Quirk.measured)
        let token = try bench.loopToken()
        let night = metric(
            1, "sleep_analysis",
            (
                "sleep_data",
                [
                    "total_sleep_minutes": 400, "sleep_efficiency": 0.9,
                    "sleep_stages": ["deep": 60],
                    "sleep_start": "2026-11-19T23:00:00Z", "sleep_end": "2026-11-20T06:00:00Z",
                ]
            ))
        let clean = try Bench.loop()

        for element in [night, 5] {
            let response = try bench.response(
                "POST", "/health-data", .upload([.heartRate(1), element]), token: token)
            #expect(response == .crash)
            #expect(response.text == "Internal Server Error")
        }
        #expect(try bench.summary("refused") == ["validator_crash": 4])
        #expect(try clean.upload(.upload([night]), token: try clean.loopToken()).status == 201)
    }

    @Test(arguments: ["/health-data", "/health-data/"])
    func `the deployed backend crashes at every upload and stores nothing`(path: String) throws {
        let bench = try Bench.loop(Quirk.measured)

        let response = try bench.response(
            "POST", path, .upload([.heartRate(1)]), token: try bench.loopToken())

        #expect(response == .crash)
        #expect(try bench.summary("metrics") == 0)
        #expect(try bench.summary("refused") == ["limiter_crash": 1])
    }

    @Test func `the 101st upload of an hour is told to come back at once`() throws {
        let bench = try Bench.loop(Quirk.repaired)
        let token = try bench.loopToken()
        let statuses = try (0..<100).map { number in
            try bench.upload(.upload([.heartRate(number)]), token: token).status
        }

        // The limit does not count uploads that fail validation.
        _ = try bench.upload([:], token: token)
        let response = try bench.response(
            "POST", "/health-data", .upload([.heartRate(100)]), token: token)
        bench.clock.now = Bench.start + .milliseconds(3_599_999)
        let last = try bench.upload(.upload([.heartRate(100)]), token: try bench.loopToken())
        bench.clock.now = Bench.start + .seconds(3600)
        let next = try bench.upload(.upload([.heartRate(100)]), token: try bench.loopToken())

        #expect(Set(statuses) == [201])
        #expect(response.status == 429)
        #expect(response.header("Retry-After") == "0")
        #expect(response.header("X-RateLimit-Limit") == "100")
        #expect(response.header("X-RateLimit-Remaining") == "100")
        #expect(response.header("X-RateLimit-Reset") == "1800000000")
        #expect(try JSONParser.parse(response.body)["type"] == "rate_limit_exceeded")
        #expect(last.status == 429)
        #expect(next.status == 201)
        #expect(try bench.summary("refused") == ["rate_limit": 2])
    }

    @Test func `a limit by itself says when to come back`() throws {
        let bench = try Bench.loop([.limits])
        for _ in 0..<10 { _ = try bench.loopLogin() }
        bench.clock.now = Bench.start + .seconds(20)

        let response = try bench.response(
            "POST", "/auth/login", ["email": .string(Seed.email), "password": "x"])

        #expect(response.status == 429)
        #expect(response.header("Retry-After") == "40")
        #expect(response.header("X-RateLimit-Remaining") == "0")
    }
}
