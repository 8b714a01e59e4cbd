// The answers as the wire has them. Only what is used is named; everything else is passed over.

/// The tokens of a session.
struct TokensWire: Decodable {
    let accessToken: String
    /// A backend that keeps the refresh token as it is may leave it out.
    let refreshToken: String?
    let expiresIn: Double

    private enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case expiresIn = "expires_in"
    }
}

/// The answer to a login.
struct LoginWire: Decodable {
    let user: UserWire?
    let tokens: TokensWire?
    let secondFactorToken: String?

    private enum CodingKeys: String, CodingKey {
        case user
        case tokens
        case secondFactorToken = "mfa_session_token"
    }
}

/// The answer to a refresh: the tokens, bare or under `tokens`.
struct RefreshWire: Decodable {
    let tokens: TokensWire

    private enum CodingKeys: String, CodingKey {
        case tokens
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        tokens =
            if fields.contains(.tokens) {
                try fields.decode(TokensWire.self, forKey: .tokens)
            } else {
                try TokensWire(from: decoder)
            }
    }
}

/// An account.
struct UserWire: Decodable {
    let userID: String
    let email: String?

    private enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case email
    }
}

/// The answer to an upload.
struct UploadWire: Decodable {
    let processingID: String
    let accepted: Int
    let rejected: Int?
    let validationErrors: [FaultReport.Item]?

    private enum CodingKeys: String, CodingKey {
        case processingID = "processing_id"
        case accepted = "accepted_metrics"
        case rejected = "rejected_metrics"
        case validationErrors = "validation_errors"
    }
}

/// The answer to a question about an upload.
struct ProcessingWire: Decodable {
    let status: String
    /// Percent.
    let progress: Double?

    private enum CodingKeys: String, CodingKey {
        case status
        case progress
    }
}

/// A page of health data without its rows.
struct HealthDataPageWire: Decodable {
    struct Pagination: Decodable {
        let hasNext: Bool
        let nextCursor: String?

        private enum CodingKeys: String, CodingKey {
            case hasNext = "has_next"
            case nextCursor = "next_cursor"
        }
    }

    let pagination: Pagination

    private enum CodingKeys: String, CodingKey {
        case pagination
    }
}

/// A row of health data: a measurement, or a whole metric as it was uploaded.
struct HealthDataRowWire: Decodable {
    let id: String
    let type: String
    let timestamp: String

    private enum CodingKeys: String, CodingKey {
        case id
        case metricID = "metric_id"
        case type
        case metricType = "metric_type"
        case timestamp
        case createdAt = "created_at"
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        func either(_ name: CodingKeys, _ other: CodingKeys) throws -> String {
            try fields.decodeIfPresent(String.self, forKey: name)
                ?? fields.decode(String.self, forKey: other)
        }
        id = try either(.id, .metricID)
        type = try either(.type, .metricType)
        timestamp = try either(.timestamp, .createdAt)
    }
}

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

/// An insight of the history.
struct InsightRowWire: Decodable {
    let id: String
    /// `generating` while the backend is making it; a history may leave it out.
    let status: String?
    let generatedAt: String?

    private enum CodingKeys: String, CodingKey {
        case id
        case status
        case generatedAt = "generated_at"
    }
}
