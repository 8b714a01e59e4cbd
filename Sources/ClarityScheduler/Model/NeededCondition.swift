/// A condition that a run itself needs, beyond the constraints of its job.
public enum NeededCondition: String, CaseIterable, Sendable {
    /// The machine runs on external power.
    case externalPower = "external_power"
    /// The connection is not metered.
    case unmetered = "network_unmetered"
    /// Somebody is logged in.
    case login
    /// A source file that the job file names exists. The job's next occurrence ends this need,
    /// because there may be other work.
    case source

    /// Whether a person has to make the condition hold; the others change by themselves.
    public var isUpToSomebody: Bool {
        switch self {
        case .externalPower, .unmetered: false
        case .login, .source: true
        }
    }
}

/// The machine's conditions that a worker gets when an attempt starts.
///
/// `nil` means that the answer is unknown or does not count: a forced run needs no condition, and a
/// late run no longer needs what its job's `relax` drops.
public struct OrderConditions: Hashable, Sendable {
    /// Whether the connection is metered.
    public var metered: Bool?
    /// Whether the machine runs on external power.
    public var externalPower: Bool?

    /// Creates conditions; a value that is not given is unknown.
    public init(metered: Bool? = nil, externalPower: Bool? = nil) {
        self.metered = metered
        self.externalPower = externalPower
    }
}
