public import ClarityContract
public import ClarityJobs

/// Remembers in the encrypted store which dialect a backend speaks.
public struct StoredDialects: DialectMemory {
    private let store: HealthStore

    /// Creates a memory in `store`.
    public init(_ store: HealthStore) { self.store = store }

    public func dialect(of base: String) throws -> String? {
        do {
            return try store.sessions.dialect(of: base)
        } catch {
            throw error.failure
        }
    }

    public func remember(_ dialect: String, of base: String) throws {
        do {
            try store.sessions.remember(dialect, of: base)
        } catch {
            throw error.failure
        }
    }
}
