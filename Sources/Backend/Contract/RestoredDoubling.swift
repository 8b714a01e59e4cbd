public import HealthStore

extension StateRestore.Doubling {
    /// Decides whether the backend would store a sample of `store` twice, by the job file's dialect
    /// or else by the one that the store remembers. An unknown backend counts as one that would.
    ///
    /// The other parameters are the job file's settings; `nil` for those that it does not have.
    public init(
        of store: HealthStore, backend: String?, dialect: String?, route: String?, isHeld: Bool
    ) throws {
        let remembered = try backend.flatMap { try store.sessions.dialect(of: $0) }
        let known =
            dialect.flatMap { Dialect.named($0) } ?? remembered.flatMap { Dialect.named($0) }
        let wanted = route.flatMap { UploadRoute(rawValue: $0) }
        let endpoint = known.flatMap { $0.endpoints[wanted ?? $0.standardRoute] }
        self.init(isPossible: !(endpoint?.isIdempotent ?? false), isHeld: isHeld)
    }
}
