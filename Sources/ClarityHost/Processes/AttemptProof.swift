public import ClarityScheduler
public import Platform
import Glibc

/// What the process of an attempt holds, so that nobody takes its run over before it has ended.
public struct AttemptProof: Sendable {
    /// Makes and takes the lock of an attempt, and returns the locked file, which is closed after the
    /// process has inherited it.
    public var lock: @Sendable (AttemptOrder) throws(StateDirectoryError) -> Int32
    /// The scheduler's session with the server that has its leases, and the memory that says until
    /// when they are certain; `nil` if only locks say so.
    public var session: (socket: Int32, span: Int32)?

    /// Creates a proof.
    public init(
        lock: @escaping @Sendable (AttemptOrder) throws(StateDirectoryError) -> Int32,
        session: (socket: Int32, span: Int32)? = nil
    ) {
        (self.lock, self.session) = (lock, session)
    }

    /// Returns the lock of an attempt.
    func take(_ order: AttemptOrder) throws(SystemError) -> Descriptor {
        do throws(StateDirectoryError) {
            return Descriptor(owning: try lock(order))
        } catch {
            throw SystemError("lock the attempt (\(error))", code: EIO)
        }
    }
}
