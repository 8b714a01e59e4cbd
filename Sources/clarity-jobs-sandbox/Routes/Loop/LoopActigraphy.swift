import JSON

extension LoopRoutes {
    func analyzeSteps(_ call: Service.Call, _ service: Service) throws -> Response {
        let body = try call.laxBody()
        var validation = Validation.lax
        let counts =
            validation.list(body["step_counts"], service.dialect.limits.analysisPoints) ?? []
        let times = validation.list(body["timestamps"]) ?? []
        let values = counts.map { validation.number($0, whole: true) }
        let instants = times.map { validation.instant($0) }
        if validation.faults.isEmpty, counts.count != times.count {
            validation.fail(
                body["timestamps"], "Value error, as many timestamps as counts are wanted",
                "value_error", ["error": [:]])
        }
        if let metadata = validation.object(body["user_metadata"], required: false),
            metadata.count > 50
        {
            validation.fail(
                body["user_metadata"], "Should have at most 50 items", "too_long",
                ["max_length": 50])
        }
        try validation.finish()
        if has(.limiterCrash) { return .crash }
        try count(.analyzeSteps, call)
        return try analyze(zip(instants, values).compactMap(ActigraphyPoint.init), call, service)
    }

    func analyzeActigraphy(_ call: Service.Call, _ service: Service) throws -> Response {
        let body = try call.laxBody()
        var validation = Validation.lax
        var points: [ActigraphyPoint?] = []
        for node in validation.list(body["data_points"]) ?? [] {
            guard validation.object(node) != nil else { continue }
            // Only the analysis reads the content of a point; the validation of the request does
            // not.
            var content = Validation.lax
            points.append(
                ActigraphyPoint(
                    content.instant(node["timestamp"]), content.number(node["value"])))
        }
        _ = validation.number(
            body["sampling_rate"], Double.leastNonzeroMagnitude...1e300, required: false)
        _ = validation.number(
            body["duration_hours"], service.dialect.limits.analysisHours, whole: true,
            required: false)
        try validation.finish()
        return try analyze(points.compactMap { $0 }, call, service)
    }

    /// Analyzes a recording at once.
    private func analyze(
        _ points: [ActigraphyPoint], _ call: Service.Call, _ service: Service
    ) throws -> Response {
        let caller = try call.account.id
        let id = service.identifiers.uuid()
        // Values outside this range say nothing about rest, and their sum could overflow.
        guard points.allSatisfy({ (0...1e9).contains($0.value) }),
            let features = ActigraphyFeatures(points)
        else { return try fail(id, call, service) }
        try service.store.add(
            Work(.analysis, id: id, of: caller, at: call.now, result: features.json))
        return .ok([
            "analysis_id": .string(id), "status": "completed",
            "analysis": features.sleep(of: caller, at: call.now),
            "processing_time_ms": 0.0, "message": "Analysis completed", "cached": false,
        ])
    }

    /// Answers for a recording without movement or with values out of range.
    private func fail(
        _ id: String, _ call: Service.Call, _ service: Service
    ) throws -> Response {
        let reason: JSON = "nothing moved"
        if has(.wrongStatuses) {
            return .json(
                500,
                [
                    "detail": [
                        "analysis_id": .string(id), "error": "Analysis failed", "message": reason,
                    ]
                ])
        }
        try service.store.add(
            Work(
                id: id, kind: .analysis, user: try call.account.id, state: .failed,
                endsIn: .failed, result: [:], createdAt: call.now, updatedAt: call.now))
        return .ok([
            "analysis_id": .string(id), "status": "failed", "analysis": .null,
            "processing_time_ms": 0.0, "message": reason, "cached": false,
        ])
    }

    func analysis(_ call: Service.Call, _ service: Service) throws -> Response {
        let id = call.parameters[0]
        let caller = try call.account.id
        guard !has(.lostAnalyses),
            let work = try service.store.work(.analysis, id, of: caller)
        else {
            return .ok([
                "processing_id": .string(id), "status": "not_found",
                "message": "There is no such analysis", "analysis_date": .null,
                "pat_features": .null, "activity_embedding": .null, "metadata": [:],
            ])
        }
        return .ok([
            "processing_id": .string(id), "status": .string(work.state.rawValue),
            "message": .string(service.message(work)),
            "analysis_date": .string(work.updatedAt.offsetText),
            "pat_features": work.result["pat_features"] ?? .null,
            "activity_embedding": work.result["activity_embedding"] ?? .null,
            "metadata": [:],
        ])
    }
}

extension ActigraphyFeatures {
    /// Derives sleep from the day's profile.
    ///
    /// An hour with less than a tenth of the movement of the busiest hour counts as asleep. The
    /// scores of depression and mania are always the same, so that tests recognise them wherever
    /// they turn up.
    fileprivate func sleep(of user: String, at time: Timestamp) -> JSON {
        let highest = hourly.max() ?? 0
        let isAsleep = hourly.map { $0 < highest / 10 }
        let asleep = isAsleep.count { $0 }
        // The time in bed runs from the first to the last hour asleep, counted from noon to noon.
        let night = (12..<36).map { isAsleep[$0 % 24] }
        let span = (night.lastIndex(of: true) ?? 0) - (night.firstIndex(of: true) ?? 0) + 1
        let inBed = asleep == 0 ? 0 : span
        return [
            "user_id": .string(user), "analysis_timestamp": .string(time.offsetText),
            "sleep_efficiency": .number(inBed == 0 ? 0 : Double(100 * asleep) / Double(inBed)),
            "sleep_onset_latency": 0.0,
            "wake_after_sleep_onset": .number(Double(60 * (inBed - asleep))),
            "total_sleep_time": .number(Double(asleep)),
            "circadian_rhythm_score": .number(amplitude),
            "activity_fragmentation": .number(variability), "depression_risk_score": 0.86421357,
            "sleep_stages": .array(isAsleep.map { $0 ? "sleep" : "wake" }),
            "confidence_score": .number(min(1, amplitude)), "clinical_insights": [],
            "embedding": embedding, "mania_risk_score": 0.97538642,
            "mania_alert_level": "heightened",
        ]
    }
}
