/// A person's wish that a job start nothing for a while.
///
/// What its schedule names meanwhile is recorded as paused and not caught up; events, chains and
/// requests wait until the pause is over. An attempt that runs goes on.
public struct Pause: Hashable, Sendable {
    public var since: Instant
    /// The first instant at which it no longer holds; `nil` until somebody resumes the job.
    public var until: Instant?
    /// Why, in the words of who paused; empty when they gave none.
    public var reason: String

    /// Creates a pause.
    public init(since: Instant, until: Instant? = nil, reason: String = "") {
        self.since = since
        self.until = until
        self.reason = reason
    }

    /// Whether the job is paused at an instant.
    public func holds(at instant: Instant) -> Bool { until.map { instant < $0 } ?? true }
}
