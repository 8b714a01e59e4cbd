/// A message from a worker about its running attempt; `outcome` is the last one.
public enum AttemptReport: Hashable, Sendable {
    /// `done` of `total` units are done; `total` is 0 while it is unknown.
    case progress(done: Int64, total: Int64)
    /// The new value of a named count; it replaces the value in an earlier report of that name.
    case count(name: String, Int64)
    /// A note for the person who reads the run's history; free of secrets and health values.
    case note(String)
    /// The checkpoint that the run's next attempt gets as `AttemptOrder.checkpoint`.
    case checkpoint(String)
    /// An event that jobs may wait for with `on:`. They start when the attempt has ended, however
    /// it ends. A repeated name counts once, and the attempt's own job does not react to it.
    case happened(EventName)
    case outcome(Outcome)
}

/// A request to a running attempt.
public enum AttemptSignal: Hashable, Sendable {
    /// Finish soon, or leave a checkpoint, and return.
    case warn
    /// End now.
    case kill
}
