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
