/// A step of a job's `relax` list: a constraint that a run drops once it is late enough.
public struct Relaxation: Hashable, Sendable {
    /// How late a run has to be to drop the constraint; see `Run.lateSince`.
    public var after: Duration
    /// The constraint's name in the job file, as in `Constraint.name`.
    public var drops: String

    /// Creates a step.
    public init(after: Duration, drops: String) {
        self.after = after
        self.drops = drops
    }
}

/// What happens to a running attempt when a constraint of its job no longer holds.
public enum LossPolicy: Hashable, Sendable {
    /// The attempt is stopped.
    case stop
    /// The attempt continues to its end.
    case finish
    /// The attempt is stopped unless it ends, or the constraint holds again, within this span.
    case finishWithin(Duration)
}
