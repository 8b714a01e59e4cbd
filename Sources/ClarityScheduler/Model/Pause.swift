/// A pause, set by a person, during which a job starts nothing.
///
/// Occurrences during the pause are missed, and `catch_up` applies when it ends; with
/// `catch_up: none` they are recorded as paused. Events, chains and requests wait until the pause
/// is over; a forced run does not. A running attempt continues.
public struct Pause: Hashable, Sendable {
    public var since: Instant
    /// The first instant at which the pause is over; `nil` until somebody resumes the job.
    public var until: Instant?
    /// The reason that the person gave; empty if there is none.
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
