/// A contract as data: its endpoints, what it accepts, and its limits.
///
/// Another version of the backend is another value.
struct Dialect: Sendable {
    /// The name for `--dialect`.
    var name: String
    /// The prefix of every path in `endpoints`.
    var basePath: String
    var endpoints: [Endpoint]
    /// The endpoints outside `basePath`.
    var outside: [Endpoint] = []
    var limits: Limits
    var payloads: [PayloadRule]
    var metrics: [MetricRule]
    /// The accepted values of `upload_source`; if empty, any text is accepted.
    var uploadSources: [String]
    /// How often an operation may be called, if `Quirk.limits` enforces it.
    var rates: [Operation: RateLimit] = [:]
    /// The types of metrics that `Quirk.fiveTypes` accepts.
    var processedTypes: Set<String> = []
    /// The deviations of the service from its own schema.
    var quirks: Set<Quirk> = []

    /// The available dialects.
    static let all: [Dialect] = [.blueprint, .loop]

    /// The limits of a dialect.
    struct Limits: Sendable {
        var bodyBytes: Int
        var metricsPerUpload: ClosedRange<Int>
        /// How many rows a page of health data may have.
        var dataPage: ClosedRange<Int>
        var usualDataPage: Int
        /// How many rows a page of the insight history may have.
        var insightPage: ClosedRange<Int>
        var usualInsightPage: Int
        /// How many minutes a step analysis or points an actigraphy analysis may have.
        var analysisPoints: ClosedRange<Int>
        /// How many hours an actigraphy analysis may cover.
        var analysisHours: ClosedRange<Double>
    }

    /// Returns the rule for metrics of `type`, or `nil` for an unknown type.
    func metric(_ type: String) -> MetricRule? { metrics.first { $0.type == type } }

    /// Returns the rule for the payload called `name`, or `nil` if there is none.
    func payload(_ name: String) -> PayloadRule? { payloads.first { $0.name == name } }
}

/// The operation that a request calls, whatever its path in the dialect.
enum Operation: Sendable {
    case register, login, refresh, logout, me, updateMe, verifyEmail, resendConfirmation
    case forgotPassword, resetPassword
    case uploadHealthKit, healthKitStatus
    case uploadMetrics, metricsProcessing, listMetrics, deleteMetrics, removedQuery
    case analyzeSteps, analyzeActigraphy, analysis, actigraphyHealth
    case generateInsight, insight, insightHistory, insightStatus
    case index, socket, health, rootHealth, readiness, authHealth, healthDataHealth
}

/// A method and a path pattern with their operation.
struct Endpoint: Sendable {
    var method: String
    /// The path pattern. A segment in braces matches any text: `/insights/{id}`.
    var path: String
    var operation: Operation
    /// Whether the endpoint works without a bearer token.
    var isOpen = false
    /// Whether the path with a trailing slash is another one, which redirects the client here.
    var isExact = false

    /// Creates an endpoint; `route` is its method and path.
    init(_ operation: Operation, _ route: String, isOpen: Bool = false) {
        let words = route.split(separator: " ")
        (method, path) = (String(words[0]), String(words[1]))
        self.operation = operation
        self.isOpen = isOpen
    }

    /// Returns an endpoint whose path is another one with a trailing slash.
    static func exact(_ operation: Operation, _ route: String, isOpen: Bool = false) -> Endpoint {
        var endpoint = Endpoint(operation, route, isOpen: isOpen)
        endpoint.isExact = true
        return endpoint
    }

    /// Returns the values that `segments` has for the segments in braces, or `nil` if the pattern
    /// does not match.
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

/// The requirements for metrics of one type.
struct MetricRule: Sendable {
    var type: String
    /// The only payload that is allowed for the type.
    var payload: String
    /// The fields that the payload must have, unless the dialect is lax; if empty, any one field is
    /// enough.
    var needs: [String] = []
    /// The unit of a metric that is a single number.
    ///
    /// Such a metric is listed as a row; other metrics are listed as they were sent.
    var unit: String?
}

/// The rule for the content of a payload.
struct PayloadRule: Sendable {
    var name: String
    var fields: [FieldRule]
    /// Pairs of fields whose first value must be below the second.
    var ascending: [(lower: String, upper: String)] = []
}

extension PayloadRule {
    /// Returns the payload of moods, of which the dialects differ in few limits.
    static func mentalHealth(
        social: FieldRule.Kind, meditation: FieldRule.Kind, notes: Int
    ) -> PayloadRule {
        PayloadRule(
            name: "mental_health_data",
            fields: [
                FieldRule(
                    name: "mood_score",
                    kind: .choice(["very_low", "low", "neutral", "good", "excellent"])),
                FieldRule(name: "stress_level", kind: .number(1...10)),
                FieldRule(name: "anxiety_level", kind: .number(1...10)),
                FieldRule(name: "energy_level", kind: .number(1...10)),
                FieldRule(name: "focus_rating", kind: .number(1...10)),
                FieldRule(name: "social_interaction_minutes", kind: social),
                FieldRule(name: "meditation_minutes", kind: meditation),
                FieldRule(name: "notes", kind: .text(notes)),
                FieldRule(name: "timestamp", kind: .instant),
            ])
    }
}

/// The rule for the content of a field.
struct FieldRule: Sendable {
    /// A kind of value.
    enum Kind: Sendable {
        /// A number in the range.
        case number(ClosedRange<Double>)
        /// An integer in the range.
        case count(ClosedRange<Double>)
        /// Text of at most this many characters.
        case text(Int)
        case choice([String])
        case instant
        /// An object whose values are numbers in the range, under any names.
        case amounts(ClosedRange<Double>)
        /// An object with these names, each with an integer.
        case counts([String])
    }

    var name: String
    var kind: Kind
    var isRequired = false
}
