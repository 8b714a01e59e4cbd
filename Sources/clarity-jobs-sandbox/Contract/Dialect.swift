/// A contract as data: where its operations are, what it accepts and how much.
///
/// Another version of the backend is another value.
struct Dialect: Sendable {
    /// The name that `--dialect` takes.
    var name: String
    /// What stands before every path of `endpoints`.
    var basePath: String
    var endpoints: [Endpoint]
    /// The endpoints that stand beside `basePath`, not below it.
    var outside: [Endpoint] = []
    var limits: Limits
    var payloads: [PayloadRule]
    var metrics: [MetricRule]
    /// The values of `upload_source`; any text where there are none.
    var uploadSources: [String]
    /// How often an operation may be asked for, where `Quirk.limits` has them kept.
    var rates: [Operation: RateLimit] = [:]
    /// Where the service departs from its own schema.
    var quirks: Set<Quirk> = []

    /// The dialects that can be served.
    static let all: [Dialect] = [.blueprint, .loop]

    /// How much of something is accepted.
    struct Limits: Sendable {
        var bodyBytes: Int
        var metricsPerUpload: ClosedRange<Int>
        /// The rows of a page of health data.
        var dataPage: ClosedRange<Int>
        var usualDataPage: Int
        /// The rows of a page of the insight history.
        var insightPage: ClosedRange<Int>
        var usualInsightPage: Int
        /// The minutes of a step analysis, the points of an actigraphy analysis.
        var analysisPoints: ClosedRange<Int>
        /// The hours that an actigraphy analysis covers.
        var analysisHours: ClosedRange<Double>
    }

    /// The rule for metrics of `type`; `nil` for an unknown type.
    func metric(_ type: String) -> MetricRule? { metrics.first { $0.type == type } }

    /// The rule for the payload called `name`.
    func payload(_ name: String) -> PayloadRule? { payloads.first { $0.name == name } }
}

/// What a request asks for, whatever path the dialect gives it.
enum Operation: Sendable {
    case register, login, refresh, logout, me, updateMe, verifyEmail, resendConfirmation
    case forgotPassword, resetPassword
    case uploadHealthKit, healthKitStatus
    case uploadMetrics, metricsProcessing, listMetrics, deleteMetrics, removedQuery
    case analyzeSteps, analyzeActigraphy, analysis, actigraphyHealth
    case generateInsight, insight, insightHistory, insightStatus
    case index, health, rootHealth, readiness, authHealth, healthDataHealth
}

/// A method and a path pattern with the operation behind them.
struct Endpoint: Sendable {
    var method: String
    /// A segment in braces takes any text: `/insights/{id}`.
    var path: String
    var operation: Operation
    /// Whether it answers without a bearer token.
    var isOpen = false
    /// Whether the path with a slash at its end is another, which sends the client here.
    var isExact = false

    /// What the segments in braces take in `segments`; `nil` when the pattern does not match.
    func parameters(in segments: [Substring]) -> [String]? {
        let pattern = path.split(separator: "/")
        guard pattern.count == segments.count else { return nil }
        var parameters: [String] = []
        for (wanted, found) in zip(pattern, segments) {
            if wanted.hasPrefix("{") {
                parameters.append(String(found))
            } else if wanted != found {
                return nil
            }
        }
        return parameters
    }
}

/// What a metric of one type must carry.
struct MetricRule: Sendable {
    var type: String
    /// The one payload that fits it.
    var payload: String
    /// The fields of the payload that it cannot do without. Where there are none, any one field
    /// will do.
    var needs: [String] = []
    /// The unit of a metric that is one number; such a metric is listed as a row of its own, the
    /// others are listed whole.
    var unit: String?
    /// Whether `Quirk.fiveTypes` lets the type through.
    var isProcessed = false
}

/// What a payload may hold.
struct PayloadRule: Sendable {
    var name: String
    var fields: [FieldRule]
    /// Pairs of fields of which the first must lie below the second.
    var ascending: [(lower: String, upper: String)] = []
}

/// What a field may hold.
struct FieldRule: Sendable {
    /// The kinds of value.
    enum Kind: Sendable {
        /// Any number in the range.
        case number(ClosedRange<Double>)
        /// A whole number in the range.
        case count(ClosedRange<Double>)
        /// Text of at most so many characters.
        case text(Int)
        case choice([String])
        case instant
        /// An object of names with a number in the range each.
        case amounts(ClosedRange<Double>)
        /// An object of these names with a whole number each.
        case counts([String])
    }

    var name: String
    var kind: Kind
    var isRequired = false
}
