/// How attempts go in a simulation: what is supposed of the world that they meet.
public struct SimulatedAttempt: Hashable, Sendable {
    /// How an attempt ends that is not stopped.
    public enum End: String, CaseIterable, Sendable {
        /// The work is done.
        case ok
        /// It failed and may be tried again, as while a backend is down.
        case retry
        /// It failed for good.
        case fail
        /// It finds nobody logged in, and its run waits for a login.
        case login
        /// It finds none of its source files, and its run waits for one.
        case source
        /// It makes no progress from then on and does not end by itself.
        case stall
    }

    public var end: End
    /// How long it takes, or until it stalls; `nil` for as long as its job's attempts usually do.
    public var duration: Duration?
    /// What it tells of that jobs may wait for with `on:`.
    public var events: Set<EventName>

    /// Supposes something; without arguments a success of the usual length.
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
