/// The assumed course of an attempt in a simulation.
public struct SimulatedAttempt: Hashable, Sendable {
    /// How an attempt ends if it is not stopped.
    public enum End: String, CaseIterable, Sendable {
        /// The work is done.
        case ok
        /// The attempt fails and may be retried, as while a backend is down.
        case retry
        /// The attempt fails for good.
        case fail
        /// The attempt finds nobody logged in, and its run waits for a login.
        case login
        /// The attempt finds none of its source files, and its run waits for one.
        case source
        /// The attempt makes no progress after `duration` and does not end by itself.
        case stall
    }

    public var end: End
    /// How long the attempt takes to end or stall; `nil` for the usual time of its job's attempts.
    public var duration: Duration?
    /// The events that the attempt emits; jobs may wait for them with `on:`.
    public var events: Set<EventName>

    /// Creates an assumption; the default is a success after the usual time.
    public init(_ end: End = .ok, duration: Duration? = nil, events: Set<EventName> = []) {
        self.end = end
        self.duration = duration
        self.events = events
    }

    var outcome: Outcome {
        switch end {
        case .ok: .success
        case .retry: .retry(after: nil, Failure(.unreachable, "supposed to fail"))
        case .fail: .failure(Failure(.work, "supposed to fail for good"))
        case .login: .awaits(.login, Failure(.credential, "supposed to find nobody logged in"))
        case .stall: .retry(after: nil, Failure(.work, "supposed to stall"))
        case .source: .awaits(.source, Failure(.configuration, "supposed to find no source file"))
        }
    }
}
