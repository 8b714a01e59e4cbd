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

/// A deviation of the deployed backend from its own schema.
///
/// Each was measured or, if the comment says so, read in the backend's code.
enum Quirk: String, CaseIterable, Sendable {
    /// An upload stores only the last metric of each type, but reports all as accepted.
    case oneOfEachType = "one-of-each-type"
    /// Metrics of eight types pass validation, but then the whole upload is refused.
    case fiveTypes = "five-types"
    /// A metric or sample that is sent twice is stored twice.
    case noDeduplication = "no-deduplication"
    /// Uploads of metrics, step analyses, logins and registrations are limited in each time window.
    case limits
    /// A refusal by the limiter says to retry at once, and that nothing of the limit is used up.
    case retryAfterZero = "retry-after-zero"
    /// Three failed logins lock an address for 15 minutes.
    case lockout
    /// Nobody can register.
    case noSignup = "no-signup"
    /// A registration answers 202 without tokens: the address has to be verified first.
    case verifiedSignup = "verified-signup"
    /// `GET /auth/me` returns no email address.
    case noEmail = "no-email"
    /// A logout revokes nothing.
    case lastingTokens = "lasting-tokens"
    /// Sleep data, and a metric that is no object, crash the service.
    case validatorCrash = "validator-crash"
    /// Uploads of metrics stay `received`, which is read from the stored upload.
    case neverProcessed = "never-processed"
    /// The status of HealthKit samples is always `processing` and 0.75, also for an upload that
    /// never was.
    case constantStatus = "constant-status"
    /// The list of health data is empty.
    case emptyList = "empty-list"
    /// Every deletion reports success.
    case deleteSaysYes = "delete-says-yes"
    /// No insight can be fetched by its id, and the path of the insights' status is taken for an
    /// id.
    case deadInsights = "dead-insights"
    /// The totals of the history are wrong unless the page reaches its end.
    case wrongTotals = "wrong-totals"
    /// Five analyses whose scores are not numbers block the insights for everybody for 60 s.
    case insightBreaker = "insight-breaker"
    /// No analysis can be fetched again (read in the code).
    case lostAnalyses = "lost-analyses"
    /// Wrong statuses: a missing resource gives 400, another user's upload 500 and a dead refresh
    /// token 500, and an outage behind the service looks like a client error, or comes after
    /// HealthKit samples are stored.
    case wrongStatuses = "wrong-statuses"
    /// The rate limiter crashes at each upload of metrics and each step analysis, before anything
    /// is stored.
    case limiterCrash = "limiter-crash"

    /// The quirks of the deployed backend.
    static let measured = Set(allCases)
    /// The quirks that remain without the limiter's crash, as measured on the routes behind it.
    static let repaired = measured.subtracting([.limiterCrash])
}

/// The number of requests that one operation accepts in a time window.
struct RateLimit: Sendable {
    /// Who shares a window.
    enum Scope: Sendable {
        case user, everybody
    }

    var count: Int
    var seconds: Int64
    var scope: Scope
}
