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
