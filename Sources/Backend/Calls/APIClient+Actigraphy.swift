public import BackendContract
public import HealthModel
public import ClarityScheduler
import JSON

/// A recording of steps, one count for each minute.
public struct StepRecording: PrivateValue {
    /// The minutes with their instants, in order of time; minutes may be missing.
    public var minutes: [MovementWeek.Minute]
    /// Additional metadata, as text.
    public var metadata: [String: String]

    /// Creates a recording.
    public init(_ minutes: [MovementWeek.Minute], metadata: [String: String] = [:]) {
        self.minutes = minutes
        self.metadata = metadata
    }

    /// Returns the request body: a count and a timestamp for each minute.
    ///
    /// - Throws: `APIError.refused` if the recording is outside `limits`, or a count is below 0 or
    ///   above `MovementWeek.mostSteps`.
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
                for minute in minutes { json.field(nil, minute.start) }
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

/// A recording of movement measurements.
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
    /// Points per minute; above 0.
    public var samplingRate: Double
    /// The hours that the recording covers.
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
    /// Returns the form in which the backend accepts a week for analysis.
    package func analysisForm() async throws(APIError) -> AnalysisForm {
        try await requests.dialect.analysisForm
    }

    /// Requests an analysis of a step recording.
    ///
    /// The client does not repeat the request after an error that leaves open whether it arrived.
    public func analyse(_ recording: StepRecording) async throws(APIError) -> Analysis {
        let content = try recording.body(try await requests.dialect.analysisLimits)
        return try await read(.analyseSteps, body: content, as: Analysis.init)
    }

    /// Requests an analysis of a movement recording, under the same rule as for steps.
    public func analyse(_ recording: ActigraphyRecording) async throws(APIError) -> Analysis {
        let content = try recording.body(try await requests.dialect.analysisLimits)
        return try await read(.analyseActigraphy, body: content, as: Analysis.init)
    }

    /// Returns the state of an analysis; `Analysis.State.notFound` is a state, not an error.
    public func analysis(_ id: String) async throws(APIError) -> Analysis {
        try await read(.analysis, id: id, as: Analysis.init)
    }

    /// Returns the health of the backend's analysis service.
    public func actigraphyHealth() async throws(APIError) -> ServiceHealth {
        try await health(.actigraphyHealth)
    }
}
