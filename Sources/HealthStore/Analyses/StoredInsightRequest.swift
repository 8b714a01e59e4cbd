public import HealthModel
public import ClarityScheduler
import Database

/// The content of an insight request.
public struct InsightMatter: Hashable, Sendable, PrivateValue {
    /// The numbers of an analysis by name.
    public var numbers: [String: Double]
    /// The context for the backend; `nil` for none.
    public var context: String?
    /// The length of the text: `comprehensive` or `brief`.
    public var length: String
    public var includesRecommendations: Bool
    /// A language tag, such as `en`.
    public var language: String

    /// Creates the content of a request.
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

    var encryptedForm: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(encrypted: numbers)
        bytes.append(field: length)
        bytes.append(field: language)
        bytes.append(littleEndian: UInt8(includesRecommendations ? 1 : 0))
        if let context { bytes.append(field: context) }
        return bytes
    }

    init?(encryptedForm: [UInt8]) {
        var reader = ByteReader(encryptedForm)
        guard let numbers = reader.numbers(), let length = reader.field(),
            let language = reader.field(), let flag = reader.number(UInt8.self)
        else { return nil }
        let hasContext = !reader.isAtEnd
        let context = reader.field()
        guard context != nil || !hasContext else { return nil }
        self.init(
            numbers: numbers, context: context, length: length,
            includesRecommendations: flag == 1, language: language)
    }
}

/// The state of an insight request; `HealthSchema.analysisTables` lists the transitions.
public enum InsightRequestState: String, CaseIterable, Sendable {
    /// Recorded, and certainly not at the backend.
    case queued
    /// Sent at least once, and no answer is known.
    case sending
    /// The backend is generating the insight and has given its id.
    case generating
    case completed
    case failed
    /// The backend never reported the outcome.
    case unconfirmed
}

/// A request for an insight, without its content.
public struct StoredInsightRequest: Hashable, Sendable {
    public let id: Int64
    /// The analysis that the insight is about.
    public let analysis: Int64
    public let state: InsightRequestState
    /// The number of unanswered sends that may have created an insight.
    public let sends: Int
    /// The times of the first and the last of these sends.
    public let firstSentAt: Instant?
    public let lastSentAt: Instant?
    /// The id of the resulting insight.
    public let insightID: String?

    /// The id under which an insight is stored until the backend has given it one.
    public var provisionalID: String { "\(StoredInsightRequest.provisional)\(id)" }

    static let provisional = "unnamed-"

    /// The amount by which the backend's clock may be behind.
    public static let clockMargin = Duration.seconds(120)
    /// The maximum number of ids that are stored as known before a request was sent.
    static let mostKnown: Int64 = 1000
}

extension StoredInsightRequest {
    enum Column: String, RowColumn {
        case id, analysis_id, state, sends, first_sent_at_ms, last_sent_at_ms, insight_id
    }

    /// Parses a row of `Column`; returns `nil` for values that this version does not know.
    init?(_ row: borrowing Row) {
        guard let state = InsightRequestState(rawValue: row.text(Column.state)) else { return nil }
        self.init(
            id: row.integer(Column.id), analysis: row.integer(Column.analysis_id), state: state,
            sends: Int(row.integer(Column.sends)),
            firstSentAt: row.optionalInstant(Column.first_sent_at_ms),
            lastSentAt: row.optionalInstant(Column.last_sent_at_ms),
            insightID: row.optionalText(Column.insight_id))
    }
}

/// An insight with its full text.
public struct FullInsight: Hashable, Sendable, PrivateValue {
    public var id: String
    public var generatedAt: Instant
    /// The insight's JSON as received.
    public var json: [UInt8]

    /// Creates an insight.
    public init(id: String, generatedAt: Instant, json: [UInt8]) {
        self.id = id
        self.generatedAt = generatedAt
        self.json = json
    }
}

extension CachedRow {
    /// The type of an insight of the history, which has only the beginning of its text.
    public static let insightPreview = "insight"
    /// The type of an insight with its full text.
    public static let fullInsight = "insight_full"
}

/// Facts about a week that an insight request may include: dates and counts, no values and no text.
public enum InsightContext {
    /// Returns one paragraph of at most 400 bytes, with as many of the most frequent kinds as fit.
    ///
    /// - Parameter samples: the number of samples of each kind in these days.
    public static func text(
        lastDay: CivilDay, knownMinutes: Int, samples: [SampleKind: Int64]
    ) -> String {
        let first = CivilDay(daysSince1970: lastDay.daysSince1970 - 6)
        var text =
            "Movement of \(first) to \(lastDay), \(knownMinutes) of \(MovementWeek.minutes) minutes "
            + "known."
        let counts = samples.filter { $0.value > 0 }
            .sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
            .map { "\($0.value) \($0.key.rawValue)" }
        var list = ""
        for count in counts where list.utf8.count + count.utf8.count < 280 {
            list += (list.isEmpty ? "" : ", ") + count
        }
        if !list.isEmpty { text += " Samples of these days: \(list)." }
        return text
    }
}

extension Analyses {
    /// Returns the number of samples that began between two instants, by kind.
    public func sampleCounts(
        from start: Instant, to end: Instant
    ) throws(HealthStoreError) -> [SampleKind: Int64] {
        try store.access { connection in
            var counts: [SampleKind: Int64] = [:]
            let starts = start.secondsSince1970..<max(start, end).secondsSince1970
            let packed = PackedSamples(cipher: cipher, connection: connection)
            for kind in SampleKind.allCases {
                // One query for each kind, because the index begins with the kind.
                var count =
                    try connection.integer(
                        """
                        SELECT count(*) FROM outbox WHERE kind = ? AND start_s >= ? AND start_s < ?
                        """, .text(kind.rawValue), .integer(starts.lowerBound),
                        .integer(starts.upperBound)) ?? 0
                // `audit` names what is damaged; here it cannot be counted.
                _ = try packed.forEach(kind, starts) { _ in count += 1 }
                counts[kind] = count
            }
            return counts
        }
    }
}
