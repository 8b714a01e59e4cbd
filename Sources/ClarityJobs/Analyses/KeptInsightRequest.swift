public import ClarityScheduler

/// What an insight is made of.
public struct InsightMatter: Hashable, Sendable, PrivateValue {
    /// The numbers of an analysis by their names.
    public var numbers: [String: Double]
    /// What else the backend is told; `nil` for nothing.
    public var context: String?
    /// How much is written: `comprehensive` or `brief`.
    public var length: String
    public var includesRecommendations: Bool
    /// A language tag, such as `en`.
    public var language: String

    /// Creates a matter.
    public init(
        numbers: [String: Double], context: String? = nil, length: String,
        includesRecommendations: Bool, language: String
    ) {
        self.numbers = numbers
        self.context = context
        self.length = length
        self.includesRecommendations = includesRecommendations
        self.language = language
    }

    var sealedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(sealed: numbers)
        bytes.append(field: length)
        bytes.append(field: language)
        bytes.append(littleEndian: UInt8(includesRecommendations ? 1 : 0))
        if let context { bytes.append(field: context) }
        return bytes
    }

    init?(sealedForm: [UInt8]) {
        var reader = ByteReader(sealedForm)
        guard let numbers = reader.numbers(), let length = reader.field(),
            let language = reader.field(), let flag = reader.number(UInt8.self)
        else { return nil }
        var context: String?
        if !reader.isAtEnd {
            guard let text = reader.field() else { return nil }
            context = text
        }
        self.init(
            numbers: numbers, context: context, length: length,
            includesRecommendations: flag == 1, language: language)
    }
}

/// Where a request for an insight is; `HealthSchema.analyses` has the ways from one to the next.
public enum InsightRequestState: String, CaseIterable, Sendable {
    /// Written down, and surely not at the backend.
    case queued
    /// Sent at least once, and not answered as far as is known here.
    case sending
    /// The backend makes it, and has named it.
    case generating
    case completed
    case failed
    /// The backend never said what became of it.
    case unconfirmed
}

/// A request for an insight, without what it is made of.
public struct KeptInsightRequest: Hashable, Sendable {
    public let id: Int64
    /// The analysis that it is about.
    public let analysis: Int64
    public let state: InsightRequestState
    /// The sends that may have made an insight and were not answered.
    public let sends: Int
    /// The first and the last of them.
    public let firstSentAt: Instant?
    public let lastSentAt: Instant?
    /// The row of the insights that it is, or will be.
    public let insightID: String?
    public let questions: Questions

    /// What an insight is called here as long as the backend has not named it.
    public var provisionalID: String { "\(KeptInsightRequest.provisional)\(id)" }

    static let provisional = "unnamed-"

    /// By how much the backend's clock may be behind.
    public static let clockMargin = Duration.seconds(120)
    /// How many insights are remembered as those that were known before a request was sent.
    static let mostKnown: Int64 = 1000
}

/// An insight in full.
public struct FullInsight: Hashable, Sendable, PrivateValue {
    public var id: String
    public var generatedAt: Instant
    /// The insight's JSON as it came.
    public var json: [UInt8]

    /// Creates an insight.
    public init(id: String, generatedAt: Instant, json: [UInt8]) {
        self.id = id
        self.generatedAt = generatedAt
        self.json = json
    }
}

extension CachedRow {
    /// The type of an insight of the history, with the beginning of its text.
    public static let insightPreview = "insight"
    /// The type of an insight in full.
    public static let fullInsight = "insight_full"
}
