/// What a worker says while an attempt runs. `outcome` is the last word.
public enum AttemptReport: Hashable, Sendable {
    /// So many of so many units are done; `total` is 0 while it is unknown.
    case progress(done: Int64, total: Int64)
    /// The count under a name is now this; a later report of the same name replaces it.
    case count(name: String, Int64)
    /// Something a person should find in the run's history; free of secrets and health values.
    case note(String)
    /// What the run's next attempt gets as `AttemptOrder.checkpoint`.
    case checkpoint(String)
    /// Something happened that jobs may wait for with `on:`; they start when the attempt has ended,
    /// however it ends. A name twice counts once, and the job itself does not hear it.
    case happened(EventName)
    case outcome(Outcome)
}

/// A request to a running attempt.
public enum AttemptSignal: Hashable, Sendable {
    /// Time ends soon: finish or leave a checkpoint, then return.
    case warn
    /// End now.
    case kill
}
