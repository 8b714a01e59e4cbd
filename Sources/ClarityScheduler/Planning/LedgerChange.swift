/// A change that a decision makes to the store. All changes of one decision are one transaction.
public enum LedgerChange: Hashable, Sendable {
    case setClock(JobID, JobClock)
    /// The runs that start with this boot of the machine are enqueued.
    case setBoot(String)
    /// What a scheduler has seen of a source.
    case setSource(String, SourceFingerprint)
    /// Pauses a job, or with `nil` lets it go on.
    case setPause(JobID, Pause?)
    /// A server asked that no attempt of the job come before an instant.
    case setRetryAfter(JobID, Instant)
    /// `count` of the occurrences from `first` to `latest` share a fate, and a run where one stands
    /// for them.
    case recordFate(
        JobID, OccurrenceFate, first: Instant, latest: Instant, count: Int, run: RunID?)
    /// Adds a run, or replaces what is known of it.
    case put(Run)
    /// Asks the process that holds a run's lease to stop it.
    case requestStop(RunID, StopReason)
    /// Adds an attempt, or replaces what is known of it.
    case putAttempt(Attempt)
    /// From this instant on the run waits for these reasons and no others.
    case deferred(RunID, [Deferral], at: Instant)
    /// This process still holds the leases of its running runs.
    case renewLeases
    /// Forgets the past that the policy does not keep.
    case prune(RetentionPolicy, at: Instant)
}
