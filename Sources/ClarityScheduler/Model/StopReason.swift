/// Why a running attempt was stopped from outside.
public enum StopReason: String, CaseIterable, Sendable {
    /// The attempt reached its timeout.
    case timeout
    /// The attempt made no progress for as long as its job allows.
    case stalled
    /// A constraint of the job no longer held.
    case constraintLost
    /// The scheduler is shutting down.
    case shutdown
    /// A person cancelled the run.
    case cancelled
    /// A later occurrence replaced the run.
    case superseded
    /// Another process took over the run.
    case leaseLost
}
