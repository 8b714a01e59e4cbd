// Answers about insights and analyses as they are on the wire, for every dialect.

/// A page of insights without its rows.
struct InsightsPageWire: Decodable {
    struct Page: Decodable {
        let hasMore: Bool

        private enum CodingKeys: String, CodingKey {
            case hasMore = "has_more"
        }
    }

    let success: Bool
    let data: Page

    private enum CodingKeys: String, CodingKey {
        case success
        case data
    }
}

/// An insight in the history.
struct InsightRowWire: Decodable {
    let id: String
    /// `generating` while the backend is making the insight; a history may leave it out.
    let status: String?
    let generatedAt: String?

    private enum CodingKeys: String, CodingKey {
        case id
        case status
        case generatedAt = "generated_at"
    }
}

/// A full insight.
struct InsightWire: Decodable {
    struct Content: Decodable {
        /// `nil` from a backend that makes insights at once.
        let id: String?
        let status: String?
        let generatedAt: String?

        private enum CodingKeys: String, CodingKey {
            case id
            case status
            case generatedAt = "generated_at"
        }
    }

    let success: Bool
    let data: Content

    private enum CodingKeys: String, CodingKey {
        case success
        case data
    }
}

/// The answer to a recording that was sent, or to a request for the state of its analysis.
struct AnalysisWire: Decodable {
    let id: String
    let status: String
    let cached: Bool?

    private enum CodingKeys: String, CodingKey {
        case analysisID = "analysis_id"
        case processingID = "processing_id"
        case status
        case cached
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id =
            try fields.decodeIfPresent(String.self, forKey: .analysisID)
            ?? fields.decode(String.self, forKey: .processingID)
        status = try fields.decode(String.self, forKey: .status)
        cached = try fields.decodeIfPresent(Bool.self, forKey: .cached)
    }
}
