/// Why a running attempt was stopped from outside.
public enum StopReason: String, CaseIterable, Sendable {
    /// Its time was over.
    case timeout
    /// It made no progress for as long as its job allows.
    case stalled
    /// A constraint of its job no longer held.
    case constraintLost
    /// The scheduler was told to end.
    case shutdown
    /// A person cancelled the run.
    case cancelled
    /// A later occurrence took its place.
    case superseded
    /// Another process took the run over.
    case leaseLost
}
