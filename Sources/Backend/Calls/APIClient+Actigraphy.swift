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

/// The input for an insight.
public struct InsightRequest: PrivateValue {
    /// The length of the insight.
    public enum Length: String, Sendable {
        case comprehensive, brief
    }

    /// The numbers of an analysis by name; all must be finite.
    public var results: [String: Double]
    /// Additional context; the request carries its first 500 characters.
    public var context: String?
    public var length: Length
    public var includesRecommendations: Bool
    /// A language tag, such as `en`.
    public var language: String

    /// Creates a request.
    public init(
        results: [String: Double], context: String? = nil, length: Length = .comprehensive,
        includesRecommendations: Bool = true, language: String = "en"
    ) {
        self.results = results
        self.context = context
        self.length = length
        self.includesRecommendations = includesRecommendations
        self.language = language
    }

    /// Returns the request body. Results are sorted by name, so equal requests have equal bytes.
    ///
    /// - Throws: `APIError.refused` for a number that is not finite. The backend counts such a
    ///   request as an outage of its own, and after five of those it refuses everybody.
    func body() throws(APIError) -> [UInt8] {
        guard results.values.allSatisfy(\.isFinite) else {
            throw .refused("a result to make an insight of is no finite number")
        }
        var json = JSONWriter()
        json.object { json in
            json.object("analysis_results") { json in
                for (name, value) in results.sorted(by: { $0.key < $1.key }) {
                    json.field(name, number: value)
                }
            }
            if let context { json.field("context", String(context.prefix(500))) }
            json.field("insight_type", length.rawValue)
            json.field("include_recommendations", includesRecommendations)
            json.field("language", language)
        }
        return json.bytes
    }
}

extension APIClient {
    /// Requests an insight.
    ///
    /// A second request makes a second insight, so the client does not repeat one that may have
    /// arrived. The answer is either the finished insight, or names the one that the backend is
    /// still making.
    public func generateInsight(_ request: InsightRequest) async throws(APIError) -> Insight {
        try await read(.generateInsight, body: request.body(), as: Insight.init)
    }

    /// Returns whether the backend can return a full insight by its id.
    public func givesInsightsInFull() async throws(APIError) -> Bool {
        try await requests.dialect.givesInsightsInFull
    }

    /// Returns the numbers of an analysis that the backend makes an insight of; `nil`: any numbers.
    public func insightNumbers() async throws(APIError) -> Set<String>? {
        try await requests.dialect.insightNumbers
    }

    /// Returns one insight in full.
    public func insight(_ id: String) async throws(APIError) -> Insight {
        try await read(.insight, id: id, as: Insight.init)
    }

    /// Returns a page of a user's insights.
    ///
    /// Only `hasMore` and the rows say whether there is another page: the deployed backend's totals
    /// are wrong, and the client does not read them.
    public func insightsPage(
        user: String, limit: Int, offset: Int
    ) async throws(APIError) -> InsightsPage {
        let body = try await answer(to: .insightHistory) { requests, token throws(APIError) in
            try requests.insightsPage(user: user, limit: limit, offset: offset, token: token)
        }
        return try AnswerReader(.insightHistory).read(body, InsightsPage.init)
    }

    /// Returns the health of the backend's insight service.
    public func insightStatus() async throws(APIError) -> ServiceHealth {
        try await health(.insightStatus)
    }

    /// Returns the health that the backend reports; it may report itself healthy whatever happens.
    public func serviceHealth() async throws(APIError) -> ServiceHealth {
        try await health(.serviceHealth)
    }

    func health(_ call: APICall) async throws(APIError) -> ServiceHealth {
        try await read(call, as: ServiceHealth.init)
    }
}
