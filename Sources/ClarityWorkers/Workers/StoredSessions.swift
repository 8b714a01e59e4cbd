public import ClarityJobs
import ClarityScheduler

/// The sealed store as the place where the client keeps its session with one backend.
public struct StoredSessions: SessionStore {
    private let store: HealthStore
    private let backend: String

    /// Keeps the session with the backend at `backend` in `store`.
    public init(_ store: HealthStore, backend: String) {
        self.store = store
        self.backend = backend.hasSuffix("/") ? String(backend.dropLast()) : backend
    }

    /// The session that is kept.
    ///
    /// - Throws: `Failure` when it is one with another backend: a job file whose address was changed
    ///   must not bring one backend's tokens, nor what waits in the outbox, to another.
    public func load() throws -> Session? {
        guard let session = try reported({ try store.load() }) else { return nil }
        guard session.backend == backend else {
            throw Failure(
                .credential,
                "the login is for another backend than `backend.url`; run `clarity-jobs auth login`"
            )
        }
        return session
    }

    public func save(_ session: Session) throws {
        var session = session
        session.backend = backend
        try reported { try store.save(session) }
    }

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
