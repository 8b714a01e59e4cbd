/// Where a run stands.
///
/// `enqueued` -> `running` -> `succeeded` | `failed` | `cancelled`, or back to `enqueued` when
/// another attempt is due; `enqueued` -> `skipped` | `cancelled`. The store's CHECK constraints
/// hold the same machine.
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
    /// Its schedule named this occurrence.
    case schedule
    /// Occurrences were missed and this run stands for them.
    case catchUp
    /// A person asked for it.
    case manual
    /// An event named in `on:` happened.
    case event
    /// Another job's run, which names it in `then:`, succeeded.
    case chain
    /// A person asked for this occurrence of the past.
    case backfill
}

/// Why a job or an enqueued run waits; derived anew each time, never stored as truth.
public enum WaitReason: String, CaseIterable, Sendable {
    case notDue
    case constraint
    case backoff
    case overlap
    case paused
}
