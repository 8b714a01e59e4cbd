public import ClarityJobs
public import ClarityScheduler

/// What a registration led to.
public struct RegistrationResult: Hashable, Sendable {
    /// `nil` where the backend does not say.
    public var userID: String?
    /// Whether nobody can log in before the e-mail address is confirmed.
    public var needsVerification: Bool

    /// Creates a result.
    public init(userID: String?, needsVerification: Bool) {
        self.userID = userID
        self.needsVerification = needsVerification
    }
}

/// An insight in full: its bytes, and how far it is.
public struct Insight: Hashable, PrivateValue {
    public enum State: Hashable, Sendable {
        case generating, completed, failed
    }

    /// `nil` where the backend gives none with a new one; the history has it under the same
    /// `generatedAt`.
    public var id: String?
    public var state: State
    public var generatedAt: Instant?
    /// The insight's JSON as it came.
    public var json: [UInt8]

    /// Creates an insight.
    public init(id: String?, state: State, generatedAt: Instant?, json: [UInt8]) {
        self.id = id
        self.state = state
        self.generatedAt = generatedAt
        self.json = json
    }
}

/// An analysis of a recording: its bytes, and how far it is.
public struct Analysis: Hashable, PrivateValue {
    public enum State: String, Hashable, Sendable {
        case received, processing, completed, failed
        case notFound = "not_found"
        /// A state that the contract does not have; it may go on.
        case other
    }

    public var id: String
    public var state: State
    /// Whether the backend had analysed the same recording before.
    public var isCached: Bool
    /// The answer's JSON as it came.
    public var json: [UInt8]

    /// Creates an analysis.
    public init(id: String, state: State, isCached: Bool, json: [UInt8]) {
        self.id = id
        self.state = state
        self.isCached = isCached
        self.json = json
    }
}

/// How a service of the backend says that it is; it proves little.
public struct ServiceHealth: Hashable, Sendable {
    public var isHealthy: Bool
    public var service: String?
    public var version: String?

    /// Creates an account of a service.
    public init(isHealthy: Bool, service: String?, version: String?) {
        self.isHealthy = isHealthy
        self.service = service
        self.version = version
    }
}
