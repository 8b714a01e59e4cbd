public import ClarityJobs
public import ClarityScheduler

/// The steps of minutes.
public struct StepRecording: PrivateValue {
    /// The minutes with their instants, in the order of time; some may be missing.
    public var minutes: [MovementWeek.Minute]
    /// What else should be known, as texts.
    public var metadata: [String: String]

    /// Creates a recording.
    public init(_ minutes: [MovementWeek.Minute], metadata: [String: String] = [:]) {
        self.minutes = minutes
        self.metadata = metadata
    }

    /// Creates a recording of one minute after the other.
    public init(start: Instant, counts: [Int], metadata: [String: String] = [:]) {
        self.init(
            counts.enumerated().map {
                MovementWeek.Minute(
                    start: start + .seconds(60 * Int64($0.offset)), steps: $0.element)
            }, metadata: metadata)
    }

    /// The body: a count and a timestamp for each minute.
    ///
    /// - Throws: `APIError.refused` beyond the limits, and for counts below 0 or above
    ///   `MovementWeek.mostSteps`.
    func body(_ limits: Dialect.AnalysisLimits) throws(APIError) -> [UInt8] {
        guard limits.steps.contains(minutes.count) else {
            throw .refused(
                "a step analysis takes \(limits.steps.lowerBound) to \(limits.steps.upperBound) "
                    + "minutes, got \(minutes.count)")
        }
        guard minutes.allSatisfy({ (0...MovementWeek.mostSteps).contains($0.steps) }) else {
            throw .refused("a count of the recording is none of a minute's steps")
        }
        guard metadata.count <= limits.metadata else {
            throw .refused(
                "a step analysis takes at most \(limits.metadata) entries of metadata, got "
                    + "\(metadata.count)")
        }
        var json = JSONWriter(capacity: 64 + 32 * minutes.count)
        json.object { json in
            json.array("step_counts") { json in
                for minute in minutes { json.element(minute.steps) }
            }
            json.array("timestamps") { json in
                for minute in minutes { json.element(minute.start) }
            }
            if !metadata.isEmpty {
                json.object("user_metadata") { json in
                    for (name, text) in metadata.sorted(by: { $0.key < $1.key }) {
                        json.field(name, text)
                    }
                }
            }
        }
        return json.bytes
    }
}

/// Measurements of movement.
public struct ActigraphyRecording: PrivateValue {
    /// One measurement.
    public struct Point: PrivateValue {
        public var time: Instant
        /// At least 0 and finite.
        public var value: Double

        /// Creates a point.
        public init(time: Instant, value: Double) {
            self.time = time
            self.value = value
        }
    }

    public var points: [Point]
    /// Points a minute, above 0.
    public var samplingRate: Double
    /// The hours that it covers.
    public var hours: Int

    /// Creates a recording.
    public init(points: [Point], samplingRate: Double = 1, hours: Int = 24) {
        self.points = points
        self.samplingRate = samplingRate
        self.hours = hours
    }

    func body(_ limits: Dialect.AnalysisLimits) throws(APIError) -> [UInt8] {
        guard limits.points.contains(points.count) else {
            throw .refused(
                "an actigraphy analysis takes \(limits.points.lowerBound) to "
                    + "\(limits.points.upperBound) points, got \(points.count)")
        }
        guard limits.hours.contains(hours) else {
            throw .refused(
                "an actigraphy analysis takes \(limits.hours.lowerBound) to "
                    + "\(limits.hours.upperBound) hours, got \(hours)")
        }
        guard samplingRate > 0, samplingRate.isFinite,
            points.allSatisfy({ $0.value.isFinite && $0.value >= 0 })
        else { throw .refused("a number of the recording is not finite or below 0") }
        var json = JSONWriter(capacity: 64 + 64 * points.count)
        json.object { json in
            json.array("data_points") { json in
                for point in points {
                    json.object { json in
                        json.field("timestamp", point.time)
                        json.field("value", number: point.value)
                    }
                }
            }
            json.field("sampling_rate", number: samplingRate)
            json.field("duration_hours", number: hours)
        }
        return json.bytes
    }
}

extension APIClient {
    /// The form of a week that the backend analyses.
    func analysisForm() async throws(APIError) -> AnalysisForm {
        try await requests.dialect.analysisForm
    }

    /// Has the steps of a recording analysed. Never sent twice after an error that leaves open
    /// whether it arrived.
    public func analyse(_ recording: StepRecording) async throws(APIError) -> Analysis {
        let content = try recording.body(try await requests.dialect.analysisLimits)
        return try await analysis(.analyseSteps, content)
    }

    /// Has the movements of a recording analysed; as with steps.
    public func analyse(_ recording: ActigraphyRecording) async throws(APIError) -> Analysis {
        let content = try recording.body(try await requests.dialect.analysisLimits)
        return try await analysis(.analyseActigraphy, content)
    }

    /// Asks what became of an analysis; `notFound` is a state, no error.
    public func analysis(_ id: String) async throws(APIError) -> Analysis {
        let body = try await answer(to: .analysis) { requests, token throws(APIError) in
            try requests.request(.analysis, id: id, token: token)
        }
        return try AnswerReader(.analysis).analysis(body)
    }

    /// Asks how the part of the backend is that analyses.
    public func actigraphyHealth() async throws(APIError) -> ServiceHealth {
        try await health(.actigraphyHealth)
    }

    private func analysis(
        _ call: APICall, _ content: [UInt8]
    ) async throws(APIError) -> Analysis {
        let body = try await answer(to: call) { requests, token throws(APIError) in
            try requests.request(call, body: content, token: token)
        }
        return try AnswerReader(call).analysis(body)
    }
}
