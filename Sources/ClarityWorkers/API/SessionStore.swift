public import ClarityJobs

/// Keeps the session between processes.
public protocol SessionStore: Sendable {
    /// The session that was saved last; `nil` when there is none.
    func load() throws -> Session?
    /// Replaces the session; it is durable when this returns.
    func save(_ session: Session) throws
    /// Forgets the session, if there is one.
    func clear() throws
    /// The right to renew the session, for as long as the object lives; `nil` while another process
    /// has it.
    func lock() throws -> (any AnyObject & Sendable)?
}
