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
}

/// Why a job or an enqueued run waits; derived anew each time, never stored as truth.
public enum WaitReason: String, CaseIterable, Sendable {
    case notDue
    case constraint
    case backoff
    case overlap
    case paused
}

/// One occurrence or request on its way from enqueued to finished.
public struct Run: Hashable, Sendable {
    public var id: RunID
    public var job: JobID
    public var kind: JobKind
    public var trigger: Trigger
    public var state: RunState
    /// The occurrence it stands for, or the instant of the request.
    public var scheduledFor: Instant
    public var enqueuedAt: Instant
    /// No attempt before this instant: backoff.
    public var notBefore: Instant?
    /// Whether a person asked for it to start at once: backoff and `earliest_begin` do not count.
    public var isExpedited: Bool
    /// Whether a person asked for it whatever the constraints say.
    public var isForced: Bool
    /// The attempts that were started.
    public var attempts: Int
    /// The attempts that failed by their own fault; only these count against the retry policy.
    public var failures: Int
    /// The attempts that vanished in a row: killed from outside, or lost with the machine.
    public var interruptions: Int
    /// Rises with each attempt; a worker with an older one is fenced off.
    public var generation: Int64
    /// Who may write the running attempt's end; `nil` unless running.
    public var lease: Lease?
    public var startedAt: Instant?
    public var finishedAt: Instant?
    /// What the last attempt left for the next.
    public var checkpoint: String?
    /// The run whose success or the event whose name caused this one.
    public var causedBy: RunID?
    /// Why the last attempt did not succeed, or why the run was skipped or cancelled.
    public var failure: Failure?
    public var stopReason: StopReason?
    /// The counts of all attempts, the later replacing the earlier where both have them.
    public var tally: Tally
    public var notes: [String]

    /// Creates an enqueued run.
    public init(
        id: RunID, job: JobID, kind: JobKind, trigger: Trigger, scheduledFor: Instant,
        enqueuedAt: Instant, isExpedited: Bool = false, isForced: Bool = false,
        causedBy: RunID? = nil
    ) {
        self.id = id
        self.job = job
        self.kind = kind
        self.trigger = trigger
        self.state = .enqueued
        self.scheduledFor = scheduledFor
        self.enqueuedAt = enqueuedAt
        self.isExpedited = isExpedited
        self.isForced = isForced
        self.causedBy = causedBy
        attempts = 0
        failures = 0
        interruptions = 0
        generation = 0
        tally = Tally()
        notes = []
    }
}

/// The right to run a run's attempt and to write down its end.
public struct Lease: Hashable, Sendable {
    /// What a lease is worth, as seen by the process that reads it.
    public enum Standing: String, CaseIterable, Sendable {
        /// This process holds it.
        case mine
        /// Another process holds it and is alive.
        case held
        /// Its holder is gone, or has not renewed it in time.
        case lapsed
    }

    /// The holder's name, unique to a process.
    public var owner: String
    public var standing: Standing

    /// Creates a lease.
    public init(owner: String, standing: Standing) {
        self.owner = owner
        self.standing = standing
    }
}

/// How one attempt went, for the history.
public struct Attempt: Hashable, Sendable {
    /// How an attempt ended.
    public enum Result: String, CaseIterable, Sendable {
        case running
        case succeeded
        /// It failed and counts against the retry policy.
        case failed
        /// It was stopped by the scheduler and does not count.
        case stopped
        /// It vanished: its process or its scheduler was killed from outside.
        case interrupted
    }

    public var run: RunID
    /// From 1.
    public var number: Int
    public var startedAt: Instant
    public var finishedAt: Instant?
    public var result: Result
    public var stopReason: StopReason?
    public var reason: String?
    /// What this attempt alone counted.
    public var tally: Tally
    public var peakMemoryBytes: Int64

    /// Creates the record of an attempt.
    public init(
        run: RunID, number: Int, startedAt: Instant, finishedAt: Instant? = nil,
        result: Result = .running, stopReason: StopReason? = nil, reason: String? = nil,
        tally: Tally = Tally(), peakMemoryBytes: Int64 = 0
    ) {
        self.run = run
        self.number = number
        self.startedAt = startedAt
        self.finishedAt = finishedAt
        self.result = result
        self.stopReason = stopReason
        self.reason = reason
        self.tally = tally
        self.peakMemoryBytes = peakMemoryBytes
    }
}
