import JSON

extension Service {
    func analyzeSteps(_ call: Call) throws -> Response {
        let body = try call.body()
        var validation = Validation(now: call.now)
        let points = dialect.limits.analysisPoints
        let counts = validation.list(body["step_counts"], points) ?? []
        let times = validation.list(body["timestamps"], points) ?? []
        if counts.count != times.count {
            validation.fail(
                body["timestamps"],
                "must be as long as step_counts: \(counts.count), is \(times.count)",
                "value_error")
        }
        _ = validation.object(body["user_metadata"], required: false)
        let values = counts.map { validation.number($0, 0...1000, whole: true) }
        let instants = times.map { validation.instant($0) }
        try validation.finish()
        return try startAnalysis(call, zip(instants, values).compactMap(ActigraphyPoint.init))
    }

    func analyzeActigraphy(_ call: Call) throws -> Response {
        let body = try call.body()
        var validation = Validation(now: call.now)
        var points: [ActigraphyPoint?] = []
        for node in validation.list(body["data_points"], dialect.limits.analysisPoints) ?? [] {
            guard validation.object(node) != nil else { continue }
            let time = validation.instant(node["timestamp"])
            points.append(
                ActigraphyPoint(time, validation.number(node["value"], 0...1_000_000)))
        }
        _ = validation.number(body["sampling_rate"], 0.001...6000)
        _ = validation.number(body["duration_hours"], dialect.limits.analysisHours)
        try validation.finish()
        return try startAnalysis(call, points.compactMap { $0 })
    }

    func analysis(_ call: Call) throws -> Response {
        let work: Work
        do {
            work = try advance(.analysis, call, "analysis")
        } catch is Refusal {
            // The contract has a status for an analysis that does not exist.
            return .ok([
                "processing_id": .string(call.parameters[0]), "status": "not_found",
                "message": "there is no such analysis", "metadata": [:],
            ])
        }
        let result = work.state == .completed ? work.result : .null
        let answer: JSON = [
            "processing_id": .string(work.id), "status": .string(work.state.rawValue),
            "message": .string(message(work)),
            "analysis_date": work.state == .completed ? .time(work.updatedAt) : .null,
            "pat_features": result["pat_features"] ?? .null,
            "activity_embedding": result["activity_embedding"] ?? .null,
            "metadata": ["submitted_at": .time(work.createdAt)],
        ]
        return .ok(answer.withoutNulls)
    }

    /// - Parameter time: the current time in the dialect's format.
    func actigraphyHealth(at time: JSON) -> Response {
        .ok([
            "service": "pat", "status": "healthy", "timestamp": time,
            "version": "1.0.0", "inference_engine": ["status": "ready"],
            "pat_model": ["name": "rest-activity statistics", "loaded": true],
        ])
    }

    /// Starts an analysis, or returns the existing one of the same recording.
    private func startAnalysis(_ call: Call, _ points: [ActigraphyPoint]) throws -> Response {
        let caller = try call.account.id
        let digest = SHA256.digest(Array(call.request.path.utf8) + [0] + call.request.body)
        return try store.transaction {
            if let known = try store.work(.analysis, digest: digest, of: caller) {
                return analysisAnswer(known, isCached: true)
            }
            let features = ActigraphyFeatures(points)
            let work = Work(
                id: identifiers.uuid(), kind: .analysis, user: caller,
                // Without movement there is no rhythm to analyze.
                endsIn: features == nil ? .failed : .completed, result: features?.json ?? [:],
                createdAt: call.now, updatedAt: call.now)
            try store.add(work, digest: digest)
            return analysisAnswer(work, isCached: false)
        }
    }

    private func analysisAnswer(_ work: Work, isCached: Bool) -> Response {
        let isDone = work.state == .completed
        let answer: JSON = [
            "analysis_id": .string(work.id), "status": .string(work.state.rawValue),
            "analysis": isDone ? work.result : .null, "message": .string(message(work)),
            "cached": .bool(isCached),
        ]
        return .ok(answer.withoutNulls)
    }
}

/// A measurement of movement.
struct ActigraphyPoint: Hashable, Sendable {
    var time: Timestamp
    var value: Double

    /// Creates a point if both its parts exist.
    init?(_ time: Timestamp?, _ value: Double?) {
        guard let time, let value else { return nil }
        self.time = time
        self.value = value
    }
}

/// The rest-activity statistics of a recording.
struct ActigraphyFeatures: Hashable, Sendable {
    /// The mean of each hour of the day in UTC; 0 for an hour without a point.
    var hourly: [Double]
    var mean: Double
    /// The mean of the ten consecutive hours with the most movement; `leastActive` is that of the
    /// five with the least.
    var mostActive: Double
    var leastActive: Double
    /// The mean square of the differences between consecutive points, divided by the variance; 0 if
    /// the variance is 0, as it is for fewer than two points.
    var variability: Double

    /// Computes the statistics; `nil` if nothing moved.
    init?(_ points: [ActigraphyPoint]) {
        let total = points.reduce(0) { $0 + $1.value }
        guard total > 0 else { return nil }
        var sums = [Double](repeating: 0, count: 24)
        var counts = [Double](repeating: 0, count: 24)
        for point in points {
            sums[point.time.hour] += point.value
            counts[point.time.hour] += 1
        }
        hourly = zip(sums, counts).map { $1 == 0 ? 0 : $0 / $1 }
        mean = total / Double(points.count)
        let windows = { [hourly] (length: Int) in
            (0..<24).map { start in
                (0..<length).reduce(0) { $0 + hourly[(start + $1) % 24] } / Double(length)
            }
        }
        mostActive = windows(10).max() ?? 0
        leastActive = windows(5).min() ?? 0
        let center = mean
        let variance = points.reduce(0) { $0 + ($1.value - center) * ($1.value - center) }
        let steps = zip(points, points.dropFirst()).reduce(0) { sum, pair in
            sum + (pair.1.value - pair.0.value) * (pair.1.value - pair.0.value)
        }
        let count = Double(points.count)
        variability = variance == 0 ? 0 : steps * count / ((count - 1) * variance)
    }

    /// The difference of the most and the least active hours, relative to their sum.
    var amplitude: Double {
        let sum = mostActive + leastActive
        return sum == 0 ? 0 : (mostActive - leastActive) / sum
    }

    /// The day's profile scaled to its highest hour.
    var embedding: JSON {
        let highest = hourly.max() ?? 0
        return .array(hourly.map { .number(highest == 0 ? 0 : $0 / highest) })
    }

    var json: JSON {
        [
            "pat_features": [
                "mean_activity": .number(mean), "m10": .number(mostActive),
                "l5": .number(leastActive),
                "relative_amplitude": .number(amplitude),
                "intradaily_variability": .number(variability),
            ],
            "activity_embedding": embedding,
        ]
    }
}
