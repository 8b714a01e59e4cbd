public import ClarityJobs

/// The sealed store as the place where the client keeps its session.
public struct StoredSessions: SessionStore {
    private let store: HealthStore

    /// Keeps the session in `store`.
    public init(_ store: HealthStore) { self.store = store }

    public func load() throws -> Session? { try reported { try store.load() } }
    public func save(_ session: Session) throws { try reported { try store.save(session) } }
    public func clear() throws { try reported { try store.clear() } }
    public func lock() throws -> (any AnyObject & Sendable)? {
        try reported { try store.lockSession() }
    }

    /// The store's errors as failures, whose category the client hands on.
    private func reported<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as HealthStoreError {
            throw error.failure
        }
    }
}
