/// A condition that a run may ask for on its own account, beyond the constraints of its job.
public enum NeededCondition: String, CaseIterable, Sendable {
    /// The machine runs on external power.
    case externalPower = "external_power"
    /// The connection is not metered.
    case unmetered = "network_unmetered"
    /// Somebody is logged in.
    case login
    /// The source files that the job file names exist. The next occurrence of the job ends this need:
    /// there may be something else to do.
    case source

    /// Whether it takes somebody to make it hold; the others come and go by themselves.
    public var isUpToSomebody: Bool {
        switch self {
        case .externalPower, .unmetered: false
        case .login, .source: true
        }
    }
}

/// What of the machine's conditions a worker is told when an attempt starts.
///
/// `nil` is an answer that nobody knows, or one that does not count: a forced run asks for nothing,
/// and a late one no longer for what its job's `relax` drops.
public struct OrderConditions: Hashable, Sendable {
    /// Whether the connection is metered.
    public var metered: Bool?
    /// Whether the machine runs on external power.
    public var externalPower: Bool?

    /// Creates conditions in which what is not given is unknown.
    public init(metered: Bool? = nil, externalPower: Bool? = nil) {
        self.metered = metered
        self.externalPower = externalPower
    }
}
