import ClarityJobs

/// One version of the backend's contract, as data.
///
/// Another version is another value: the client asks the dialect and never which one it is. Nothing
/// outside this folder knows which one is spoken.
public struct Dialect: Hashable, Sendable {
    /// Where a call goes and what it takes along.
    struct Route: Hashable, Sendable {
        var method: HTTPRequest.Method
        /// Below the base URL; `{id}` stands for the id that it names.
        var path: String
        /// Whether a token goes along.
        var isAuthorized: Bool
        /// The fields of its body that must be there, in their order, and those that may.
        var fields: [BodyField]
        var optionalFields: [BodyField]
        /// Whether a second request after one that may have arrived does no harm.
        var isRepeatable: Bool
        /// Whether a backend of this dialect certainly has the path.
        var mustExist: Bool
        /// How long the backend refuses after its limit for this call is reached; `nil`: it has
        /// none that is known, or says itself how long.
        var window: Duration?

        init(
            _ method: HTTPRequest.Method, _ path: String, isAuthorized: Bool = true,
            _ fields: [BodyField] = [], optional: [BodyField] = [], isRepeatable: Bool? = nil,
            mustExist: Bool? = nil, window: Duration? = nil
        ) {
            self.method = method
            self.path = path
            self.isAuthorized = isAuthorized
            self.fields = fields
            optionalFields = optional
            self.isRepeatable = isRepeatable ?? (method != .post)
            // Behind a path with an id, 404 speaks of the id.
            self.mustExist = mustExist ?? !path.contains("{id}")
            self.window = window
        }
    }

    /// How the pages of health data are asked for.
    enum Paging: Hashable, Sendable {
        /// By what the page before calls its successor.
        case cursor
        /// By how many rows came before; the client counts them.
        case offset
    }

    /// By what a backend is known to speak the dialect when it is asked for `Dialect.greetingPath`.
    enum Greeting: Hashable, Sendable {
        /// It answers 200, and calls itself so under `service`.
        case service(String)
        /// It has nothing there.
        case nothing
    }

    /// What a recording to analyse must keep to.
    struct AnalysisLimits: Hashable, Sendable {
        /// The minutes of a step analysis.
        var steps: ClosedRange<Int>
        /// The points of an actigraphy analysis.
        var points: ClosedRange<Int>
        var hours: ClosedRange<Int>
        /// Entries of the metadata that go along.
        var metadata: Int
    }

    /// The dialect's name in the job file.
    public var name: String
    var greeting: Greeting
    /// The calls that are offered.
    var routes: [APICall: Route]
    /// Where samples go in.
    var doors: [UploadRoute: UploadEndpoint]
    var standardRoute: UploadRoute
    var paging: Paging
    /// Whether ids of users are sent in lower case; else as the backend gave them.
    var lowersUserIDs: Bool
    /// What a new password must have, as far as it is known before it is sent.
    var passwordRule: PasswordRule
    var analysisLimits: AnalysisLimits
    /// The form of a week that the backend analyses.
    var analysisForm: AnalysisForm
    /// The numbers of an analysis that an insight is made of, of which a missing one would count as
    /// 0; `nil` where it is made of whichever there are.
    var insightNumbers: Set<String>?
    /// Whether an insight can be had in full by its id; else the history's previews are all.
    var givesInsightsInFull: Bool
    /// Whether a token that is refused right after its renewal is certainly worth nothing.
    var refusalOfTokenIsCertain: Bool
    /// Whether a refusal of an upload that no row of `meanings` explains proves that nothing was
    /// kept.
    var refusalOfUploadIsCertain: Bool
    /// What an answer really means, the first row that fits; where none does, its status counts.
    var meanings: [Meaning]

    /// Every dialect that is spoken.
    public static let all: [Dialect] = [.blueprint, .loop]

    /// The dialect of this name.
    public static func named(_ name: String) -> Dialect? { all.first { $0.name == name } }

    /// Where a backend is asked which dialect it speaks, without a token.
    static let greetingPath = "/auth/health"

    /// The route of a call.
    ///
    /// - Throws: `APIError.notOffered`.
    func route(_ call: APICall) throws(APIError) -> Route {
        if let route = routes[call] { return route }
        if call == .greeting {
            return Route(.get, Dialect.greetingPath, isAuthorized: false, mustExist: false)
        }
        throw .notOffered("the call `\(call.name)`")
    }

    /// The door of a route; without one the standard's.
    ///
    /// - Throws: `APIError.notOffered`.
    func door(_ route: UploadRoute?) throws(APIError) -> UploadEndpoint {
        let route = route ?? standardRoute
        guard let door = doors[route] else {
            throw .notOffered("uploads by the route `\(route.rawValue)`")
        }
        return door
    }
}

/// A field that a request's body may have; the raw value is its name on the wire.
enum BodyField: String, Hashable, Sendable {
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

/// What a new password must have.
struct PasswordRule: Hashable, Sendable {
    /// The fewest characters.
    var length: Int
    /// Whether it needs an upper and a lower case letter, a digit and another sign.
    var needsKinds: Bool

    /// Whether a password keeps to the rule.
    func allows(_ password: Secret) -> Bool {
        let text = password.reveal()
        guard text.count >= length else { return false }
        guard needsKinds else { return true }
        return text.contains(where: \.isUppercase) && text.contains(where: \.isLowercase)
            && text.contains(where: \.isNumber)
            && text.contains { !$0.isLetter && !$0.isNumber }
    }
}
