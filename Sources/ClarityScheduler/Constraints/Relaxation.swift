/// A step of a ladder: a constraint that a run no longer asks for once it is late enough.
public struct Relaxation: Hashable, Sendable {
    /// How long after the run's occurrence the constraint is dropped.
    public var after: Duration
    /// The constraint's name in the job file, as in `Constraint.name`.
    public var drops: String

    /// Creates a step.
    public init(after: Duration, drops: String) {
        self.after = after
        self.drops = drops
    }
}

/// What becomes of a running attempt when a constraint of its job no longer holds.
public enum LossPolicy: Hashable, Sendable {
    /// It is stopped.
    case stop
    /// It goes on to its end.
    case finish
    /// It is stopped unless it ends, or the constraint holds again, within this span.
    case finishWithin(Duration)
}
