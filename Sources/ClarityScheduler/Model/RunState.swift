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
