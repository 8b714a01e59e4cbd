public import ClarityJobs

/// What an insight is made of.
public struct InsightRequest: PrivateValue {
    /// How much is written.
    public enum Length: String, Sendable {
        case comprehensive, brief
    }

    /// The numbers of an analysis by their names, finite.
    public var results: [String: Double]
    /// What else should be known; cut to 500 characters.
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

    /// The body, with the results in the order of their names: the same request is the same bytes.
    ///
    /// - Throws: `APIError.refused` for a number that is not finite: what is no number counts as an
    ///   outage at the backend, and five of those close it to everybody.
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
    /// Has an insight made. Never sent twice: a second request makes a second insight.
    ///
    /// The answer may already be it, or name the one that is being made.
    public func generateInsight(_ request: InsightRequest) async throws(APIError) -> Insight {
        let content = try request.body()
        let body = try await answer(to: .generateInsight) { requests, token throws(APIError) in
            try requests.request(.generateInsight, body: content, token: token)
        }
        return try AnswerReader(.generateInsight).insight(body)
    }

    /// Whether an insight can be had in full by its id.
    public func givesInsightsInFull() async throws(APIError) -> Bool {
        try await requests.dialect.givesInsightsInFull
    }

    /// The numbers of an analysis of which the backend makes an insight; `nil`: whichever there are.
    public func insightNumbers() async throws(APIError) -> Set<String>? {
        try await requests.dialect.insightNumbers
    }

    /// Reads one insight in full.
    public func insight(_ id: String) async throws(APIError) -> Insight {
        let body = try await answer(to: .insight) { requests, token throws(APIError) in
            try requests.request(.insight, id: id, token: token)
        }
        return try AnswerReader(.insight).insight(body)
    }

    /// Reads a page of a person's insights.
    ///
    /// Only `hasMore` and the rows say whether there is another page; the totals of the deployed
    /// backend are wrong and are not read.
    public func insightsPage(
        user: String, limit: Int, offset: Int
    ) async throws(APIError) -> InsightsPage {
        let body = try await answer(to: .insightHistory) { requests, token throws(APIError) in
            try requests.insightsPage(user: user, limit: limit, offset: offset, token: token)
        }
        return try AnswerReader(.insightHistory).insights(body)
    }

    /// Asks how the part of the backend is that makes insights.
    public func insightStatus() async throws(APIError) -> ServiceHealth {
        try await health(.insightStatus)
    }

    /// Asks how the backend is; it may say that all is well whatever happens.
    public func serviceHealth() async throws(APIError) -> ServiceHealth {
        try await health(.serviceHealth)
    }

    func health(_ call: APICall) async throws(APIError) -> ServiceHealth {
        let body = try await answer(to: call) { requests, token throws(APIError) in
            try requests.request(call, token: token)
        }
        return try AnswerReader(call).health(body)
    }
}
