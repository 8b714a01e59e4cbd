/// The state of a run.
///
/// `enqueued` -> `running` -> `succeeded` | `failed` | `cancelled`, or back to `enqueued` when
/// another attempt is due; `enqueued` -> `skipped` | `cancelled`. The store's CHECK constraints
/// enforce the same states.
public enum RunState: String, CaseIterable, Sendable {
    case enqueued
    case running
    case succeeded
    case failed
    case cancelled
    case skipped

    /// Whether the run is over for good.
    public var isFinished: Bool {
        switch self {
        case .enqueued, .running: false
        case .succeeded, .failed, .cancelled, .skipped: true
        }
    }
}

/// Why a run exists.
public enum Trigger: String, CaseIterable, Sendable {
    /// The job's schedule named this occurrence.
    case schedule
    /// The run stands for missed occurrences.
    case catchUp
    /// A person requested the run.
    case manual
    /// An event named in `on:` happened.
    case event
    /// A run of another job, which names this job in `then:`, succeeded or failed for good.
    case chain
    /// A person requested this occurrence of the past.
    case backfill
}

/// Why a job or an enqueued run waits; computed anew for each decision.
public enum WaitReason: String, CaseIterable, Sendable {
    case notDue
    case constraint
    case backoff
    case overlap
    case paused
}

/// What happens to an occurrence that gets no run of its own.
public enum OccurrenceFate: String, CaseIterable, Sendable {
    /// A later run, or one that already waits, stands for it.
    case coalesced
    /// A policy passed over it: `overlap: skip` or `catch_up`.
    case skipped
    /// No scheduler looked before `start_within`, or `within` of `catch_up`, was over.
    case expired
    /// The job was paused, and has `catch_up: none`.
    case paused
}

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
