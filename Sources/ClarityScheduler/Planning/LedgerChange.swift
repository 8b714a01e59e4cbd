/// A change that a decision makes to the store. All changes of one decision are one transaction.
public enum LedgerChange: Hashable, Sendable {
    case setClock(JobID, JobClock)
    /// Records that the runs for this boot of the machine are enqueued.
    case setBoot(String)
    /// Records the fingerprint of a source.
    case setSource(String, SourceFingerprint)
    /// Pauses a job, or resumes it with `nil`.
    case setPause(JobID, Pause?)
    /// Records that a server wants no attempt of the job before an instant.
    case setRetryAfter(JobID, Instant)
    /// Records that the `count` occurrences from `first` to `latest` share a fate. `run` is the run
    /// that stands for them or was running then; `nil` if there is none.
    case recordFate(
        JobID, OccurrenceFate, first: Instant, latest: Instant, count: Int, run: RunID?)
    /// Adds a run, or replaces its record.
    case put(Run)
    /// Asks the process that holds a run's lease to stop it.
    case requestStop(RunID, StopReason)
    /// Adds an attempt, or replaces its record.
    case putAttempt(Attempt)
    /// Records that from this instant on the run waits for these reasons and no others.
    case deferred(RunID, [Deferral], at: Instant)
    /// Renews the leases of the runs that this process is running.
    case renewLeases
    /// Prunes the history that the policy does not keep.
    case prune(RetentionPolicy, at: Instant)
}
