/// A way in which the deployed backend departs from what its schema says.
///
/// Each was measured or, where the comment says so, read in its code.
enum Quirk: String, CaseIterable, Sendable {
    /// Of the metrics of one type in an upload the last is kept; all are called accepted.
    case oneOfEachType = "one-of-each-type"
    /// Metrics of eight types pass the validation, and then the whole upload is refused.
    case fiveTypes = "five-types"
    /// A metric or sample that comes again is stored again.
    case noDeduplication = "no-deduplication"
    /// Uploads, step analyses, logins and registrations are limited a window.
    case limits
    /// A refusal by a limit says to come back at once, and that nothing is used up.
    case retryAfterZero = "retry-after-zero"
    /// Three failed logins lock an address for 15 minutes.
    case lockout
    /// Nobody can register.
    case noSignup = "no-signup"
    /// `GET /auth/me` knows no address.
    case noEmail = "no-email"
    /// Signing out revokes nothing.
    case lastingTokens = "lasting-tokens"
    /// Sleep data, and a metric that is no object, crash the service.
    case validatorCrash = "validator-crash"
    /// Uploads stay `received`.
    case neverProcessed = "never-processed"
    /// The list of health data is empty.
    case emptyList = "empty-list"
    /// Removing answers yes to anything.
    case deleteSaysYes = "delete-says-yes"
    /// An insight cannot be had by its id, and the status of the insights is taken for an id.
    case deadInsights = "dead-insights"
    /// The history's totals are wrong unless the page reaches its end.
    case wrongTotals = "wrong-totals"
    /// Five analyses with scores that are no numbers close the insights to everybody for 60 s.
    case insightBreaker = "insight-breaker"
    /// Analyses cannot be had again (read in the code).
    case lostAnalyses = "lost-analyses"
    /// What is not there is 400, another user's upload 500, a dead refresh token 500, and an
    /// outage behind the service looks like a mistake of the client.
    case wrongStatuses = "wrong-statuses"
    /// The rate limiter crashes at every upload of metrics and every step analysis, before
    /// anything is stored.
    case limiterCrash = "limiter-crash"

    /// The quirks of the deployed backend.
    static let measured = Set(allCases)
    /// The quirks that remain once the limiter is repaired, as the routes behind it were measured.
    static let repaired = measured.subtracting([.limiterCrash])
}

/// How many requests of one operation a window admits.
struct RateLimit: Sendable {
    /// Who shares a window.
    enum Scope: Sendable {
        case user, everybody
    }

    var count: Int
    var seconds: Int64
    var scope: Scope
}
