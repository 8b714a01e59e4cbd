public import BackendContract
public import HealthModel
import JSON

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
