public import ClarityJobs
public import ClarityScheduler

/// The result of a registration.
public struct RegistrationResult: Hashable, Sendable {
    /// `nil` if the backend does not report it.
    public var userID: String?
    /// Whether the e-mail address must be confirmed before anybody can log in.
    public var needsVerification: Bool

    /// Creates a result.
    public init(userID: String?, needsVerification: Bool) {
        self.userID = userID
        self.needsVerification = needsVerification
    }
}

/// A full insight as it was received, with its state.
public struct Insight: Hashable, PrivateValue {
    public enum State: Hashable, Sendable {
        case generating, completed, failed
    }

    /// `nil` if the backend gives a new insight none; the history lists it with the same
    /// `generatedAt`.
    public var id: String?
    public var state: State
    public var generatedAt: Instant?
    /// The insight's JSON as it was received.
    public var json: [UInt8]

    /// Creates an insight.
    public init(id: String?, state: State, generatedAt: Instant?, json: [UInt8]) {
        self.id = id
        self.state = state
        self.generatedAt = generatedAt
        self.json = json
    }
}

/// An analysis of a recording as it was received, with its state.
public struct Analysis: Hashable, PrivateValue {
    public enum State: String, Hashable, Sendable {
        case received, processing, completed, failed
        case notFound = "not_found"
        /// A state that the contract does not have; the work may go on.
        case other
    }

    public var id: String
    public var state: State
    /// Whether the backend had already analysed the same recording.
    public var isCached: Bool
    /// The answer's JSON as it was received.
    public var json: [UInt8]

    /// Creates an analysis.
    public init(id: String, state: State, isCached: Bool, json: [UInt8]) {
        self.id = id
        self.state = state
        self.isCached = isCached
        self.json = json
    }
}

/// The health that a service of the backend reports; it proves little.
public struct ServiceHealth: Hashable, Sendable {
    public var isHealthy: Bool
    public var service: String?
    public var version: String?

    /// Creates the health of a service.
    public init(isHealthy: Bool, service: String?, version: String?) {
        self.isHealthy = isHealthy
        self.service = service
        self.version = version
    }
}
