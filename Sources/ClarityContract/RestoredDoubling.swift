public import ClarityJobs

/// Decides for a restore whether the backend would store a sample twice.
public struct RestoredDoubling {
    private let backend: String?
    private let dialect: String?
    private let route: String?
    private let isHeld: Bool

    /// Creates the decision from the job file's settings; `nil` for those that it does not have.
    public init(backend: String?, dialect: String?, route: String?, isHeld: Bool) {
        self.backend = backend
        self.dialect = dialect
        self.route = route
        self.isHeld = isHeld
    }

    /// Returns whether the backend would store a sample twice, by the job file's dialect or else by
    /// the one that the store remembers. An unknown backend counts as one that would.
    public func callAsFunction(_ store: HealthStore) throws -> StateRestore.Doubling {
        let remembered = try backend.flatMap { try store.sessions.dialect(of: $0) }
        let known =
            dialect.flatMap { Dialect.named($0) } ?? remembered.flatMap { Dialect.named($0) }
        let wanted = route.flatMap { UploadRoute(rawValue: $0) }
        let endpoint = known.flatMap { $0.endpoints[wanted ?? $0.standardRoute] }
        return .init(isPossible: !(endpoint?.isIdempotent ?? false), isHeld: isHeld)
    }
}
