/// The right to execute a run's attempt and to record its end.
public struct Lease: Hashable, Sendable {
    /// The state of a lease, as seen by the process that reads it.
    public enum State: Sendable {
        /// This process holds it.
        case mine
        /// Another process holds it and is alive.
        case held
        /// The holder is gone, or has not renewed the lease in time.
        case lapsed
    }

    /// The holder's name, unique to a process.
    public var owner: String
    public var state: State

    /// Creates a lease.
    public init(owner: String, state: State) {
        self.owner = owner
        self.state = state
    }
}
