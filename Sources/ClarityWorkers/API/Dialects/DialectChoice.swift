/// Which dialect a client speaks.
public enum DialectChoice: Hashable, Sendable {
    /// The one that the job file names.
    case fixed(Dialect)
    /// The one that the backend shows when it is asked; remembered.
    case auto
}

/// Where it is remembered which dialect a backend speaks.
public protocol DialectMemory: Sendable {
    /// The name that was remembered for the backend at `base`.
    func dialect(of base: String) throws -> String?
    /// Remembers a name in place of any earlier one.
    func remember(_ dialect: String, of base: String) throws
}

/// Remembers nothing beyond the client that it is given to.
public struct NoDialectMemory: DialectMemory {
    /// Creates it.
    public init() {}

    public func dialect(of base: String) -> String? { nil }
    public func remember(_ dialect: String, of base: String) {}
}
