package import HealthModel

/// One version of the backend's contract, as data.
///
/// Another version is another value. The client reads the properties of a dialect and never checks
/// which one it is. Nothing outside this folder knows which dialect is in use.
public struct Dialect: Hashable, Sendable {
    /// The method, path and fields of a call.
    package struct Route: Hashable, Sendable {
        package var method: HTTPMethod
        /// The path below the base URL; `{id}` stands for the id.
        package var path: String
        /// Whether the request carries an access token.
        package var isAuthorized: Bool
        /// The required fields of the body, in order.
        package var fields: [BodyField]
        /// The optional fields of the body, which follow the required ones.
        package var optionalFields: [BodyField]
        /// Whether repeating a request that may have arrived does no harm.
        package var isRepeatable: Bool
        /// Whether every backend of this dialect has the path.
        package var mustExist: Bool
        /// How long the backend refuses this call once its limit is reached; `nil` if no limit is
        /// known, or if the backend itself says how long.
        package var window: Duration?

        init(
            _ method: HTTPMethod, _ path: String, isAuthorized: Bool = true,
            _ fields: [BodyField] = [], optional: [BodyField] = [], isRepeatable: Bool? = nil,
            mustExist: Bool? = nil, window: Duration? = nil
        ) {
            self.method = method
            self.path = path
            self.isAuthorized = isAuthorized
            self.fields = fields
            optionalFields = optional
            self.isRepeatable = isRepeatable ?? (method != .post)
            // A 404 for a path with an id is about the id.
            self.mustExist = mustExist ?? !path.contains("{id}")
            self.window = window
        }
    }

    /// The way in which the backend pages health data.
    package enum Paging: Hashable, Sendable {
        /// By the cursor that the previous page returned.
        case cursor
        /// By the number of rows before the page, which the client counts.
        case offset
    }

    /// How the answer at `Dialect.greetingPath` identifies the dialect.
    package enum Greeting: Hashable, Sendable {
        /// The backend answers with success, and with this name as `service`.
        case service(String)
        /// The backend has no such path.
        case nothing
    }

    /// The limits of a recording to analyse.
    package struct AnalysisLimits: Hashable, Sendable {
        /// The minutes of a step analysis.
        package var steps: ClosedRange<Int>
        /// The points of an actigraphy analysis.
        package var points: ClosedRange<Int>
        package var hours: ClosedRange<Int>
        /// The most entries of metadata.
        package var metadata: Int
    }

    /// The dialect's name in the job file.
    public var name: String
    package var greeting: Greeting
    /// The calls that the dialect offers.
    package var routes: [APICall: Route]
    /// The endpoints for samples.
    package var endpoints: [UploadRoute: UploadEndpoint]
    package var standardRoute: UploadRoute
    package var paging: Paging
    /// Whether user ids are sent in lower case; otherwise they are sent as the backend gave them.
    package var lowersUserIDs: Bool
    /// The rule for a new password, as far as it is known before the password is sent.
    package var passwordRule: PasswordRule
    package var analysisLimits: AnalysisLimits
    /// The form in which the backend accepts a week for analysis.
    package var analysisForm: AnalysisForm
    /// The numbers of an analysis that an insight is made of; the backend would count a missing one
    /// as 0. `nil` if it uses whichever numbers there are.
    package var insightNumbers: Set<String>?
    /// Whether the backend returns a full insight by its id; otherwise only previews exist.
    package var givesInsightsInFull: Bool
    /// Whether a token that is refused right after its renewal is certainly invalid.
    package var refusalOfTokenIsCertain: Bool
    /// Whether a refusal of an upload that no row of `meanings` explains proves that nothing was
    /// stored.
    package var refusalOfUploadIsCertain: Bool
    /// The true meanings of answers. The first row that fits counts; without one, the status does.
    package var meanings: [Meaning]
    /// The faults that a check of the backend cannot find by itself.
    package var knownFaults: [KnownFault] = []

    /// Every dialect that the client speaks.
    public static let all: [Dialect] = [.blueprint, .loop]

    /// Returns the dialect with this name.
    public static func named(_ name: String) -> Dialect? { all.first { $0.name == name } }

    /// Returns the first dialect that has one of these names.
    static func first(of names: [String?]) -> Dialect? {
        names.lazy.compactMap { $0 }.compactMap { named($0) }.first
    }

    /// Whether a backend may store a sample twice that it is sent twice. One whose dialect is
    /// unknown counts as such a backend.
    ///
    /// - Parameters:
    ///   - dialects: the name of the dialect in the job file, then the one that the store
    ///     remembers; the first known one counts.
    ///   - route: the route that the job file names; without one, the dialect's default.
    public static func mayStoreTwice(dialects: [String?], route: String?) -> Bool {
        let known = first(of: dialects)
        let wanted = route.flatMap { UploadRoute(rawValue: $0) }
        let endpoint = known.flatMap { $0.endpoints[wanted ?? $0.standardRoute] }
        return !(endpoint?.isIdempotent ?? false)
    }

    /// The path at which a backend is asked, without a token, which dialect it speaks.
    package static let greetingPath = "/auth/health"

    /// Returns the route of a call.
    ///
    /// - Throws: `APIError.notOffered`.
    package func route(_ call: APICall) throws(APIError) -> Route {
        if let route = routes[call] { return route }
        if call == .greeting {
            return Route(.get, Dialect.greetingPath, isAuthorized: false, mustExist: false)
        }
        throw .notOffered("the call `\(call.name)`")
    }

    /// Returns the endpoint of a route, or of the standard route if it is `nil`.
    ///
    /// - Throws: `APIError.notOffered`.
    package func endpoint(_ route: UploadRoute?) throws(APIError) -> UploadEndpoint {
        let route = route ?? standardRoute
        guard let endpoint = endpoints[route] else {
            throw .notOffered("uploads by the route `\(route.rawValue)`")
        }
        return endpoint
    }
}

extension SampleKind {
    /// Returns the fields of all kinds that have some in a dialect.
    static func fields(_ dialect: KeyPath<KindFacts, UploadField?>) -> [SampleKind: UploadField] {
        var fields: [SampleKind: UploadField] = [:]
        for kind in allCases { fields[kind] = kind.facts[keyPath: dialect] }
        return fields
    }
}

extension UploadRoute {
    /// The call that uploads a batch.
    package var call: APICall { self == .metrics ? .uploadMetrics : .uploadSamples }
    /// The call that asks about an upload.
    package var statusCall: APICall { self == .metrics ? .metricsStatus : .samplesStatus }
}

/// A field that a request's body may have; the raw value is its name on the wire.
package enum BodyField: String, Hashable, Sendable {
    case email, password, code
    case newPassword = "new_password"
    case rememberMe = "remember_me"
    case refreshToken = "refresh_token"
    case firstName = "first_name"
    case lastName = "last_name"
    case phoneNumber = "phone_number"
    case displayName = "display_name"
    case termsAccepted = "terms_accepted"
    case privacyPolicyAccepted = "privacy_policy_accepted"
}

/// The requirements of a new password.
package struct PasswordRule: Hashable, Sendable {
    /// The least number of characters.
    var length: Int
    /// Whether it needs an upper-case and a lower-case letter, a digit and another character.
    var needsKinds: Bool

    /// The requirements for people, as they follow "it needs".
    package var words: String {
        "\(length) characters or more"
            + (needsKinds
                ? ", and among them an upper-case letter, a lower-case letter, a digit and another "
                    + "character" : "")
    }

    /// Whether a password meets the requirements.
    package func allows(_ password: Secret) -> Bool {
        let text = password.reveal()
        guard text.count >= length else { return false }
        guard needsKinds else { return true }
        return text.contains(where: \.isUppercase) && text.contains(where: \.isLowercase)
            && text.contains(where: \.isNumber)
            && text.contains { !$0.isLetter && !$0.isNumber }
    }
}

/// Which dialect a client speaks.
public enum DialectChoice: Hashable, Sendable {
    /// The dialect that the job file names.
    case fixed(Dialect)
    /// The dialect that the backend's answer identifies; it is remembered.
    case auto
}

/// Remembers which dialect a backend speaks.
public protocol DialectMemory: Sendable {
    /// Returns the name that is remembered for the backend at `base`.
    func dialect(of base: String) throws -> String?
    /// Remembers a name in place of any earlier one.
    func remember(_ dialect: String, of base: String) throws
}

/// A memory that keeps nothing: each client detects the dialect for itself.
public struct NoDialectMemory: DialectMemory {
    /// Creates the memory.
    public init() {}

    public func dialect(of base: String) -> String? { nil }
    public func remember(_ dialect: String, of base: String) {}
}

/// A request to a backend, whatever path and form its dialect gives it.
public enum APICall: String, CaseIterable, Hashable, Sendable {
    case register, login, refresh, logout
    case me, updateMe
    case verifyEmail, resendVerification, forgotPassword, resetPassword
    case uploadMetrics, metricsStatus, healthData, deleteHealthData
    case uploadSamples, samplesStatus
    case analyseSteps, analyseActigraphy, analysis, actigraphyHealth
    case generateInsight, insight, insightHistory, insightStatus
    case serviceHealth
    /// The request that distinguishes the dialects; no dialect has to offer it.
    case greeting

    /// The name of the call for people; not part of any wire format.
    package var name: String {
        switch self {
        case .register: "registration"
        case .login: "login"
        case .refresh: "session renewal"
        case .logout: "logout"
        case .me: "account"
        case .updateMe: "account change"
        case .verifyEmail: "e-mail verification"
        case .resendVerification: "verification mail"
        case .forgotPassword: "password mail"
        case .resetPassword: "password reset"
        case .uploadMetrics, .uploadSamples: "upload"
        case .metricsStatus, .samplesStatus: "processing status"
        case .healthData: "health data"
        case .deleteHealthData: "health data removal"
        case .analyseSteps: "step analysis"
        case .analyseActigraphy: "actigraphy analysis"
        case .analysis: "analysis"
        case .actigraphyHealth: "actigraphy health"
        case .generateInsight: "insight generation"
        case .insight: "insight"
        case .insightHistory: "insights"
        case .insightStatus: "insight status"
        case .serviceHealth: "service health"
        case .greeting: "greeting"
        }
    }
}

extension StringProtocol {
    /// An address to whose end a path can be added: without the slashes that it may end in.
    package var withoutSlashAtEnd: String {
        String(reversed().drop { $0 == "/" }.reversed())
    }
}

/// The methods that the client uses.
public enum HTTPMethod: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
}
