/// One occurrence or request on its way from enqueued to finished.
public struct Run: Hashable, Sendable {
    public var id: RunID
    public var job: JobID
    public var kind: JobKind
    public var trigger: Trigger
    public var state: RunState
    /// The occurrence for which the run was enqueued, or the instant of the request.
    public var scheduledFor: Instant
    /// The latest of the occurrences that were coalesced into the run while it waited.
    public var latestOccurrence: Instant?
    public var enqueuedAt: Instant
    /// The earliest start of the next attempt: backoff, or `spread` of `catch_up`; `nil` for none.
    public var notBefore: Instant?
    /// The condition that the last attempt asked for, beyond the constraints of the job; `nil` if
    /// it asked for none, and after the next attempt has started.
    public var needs: NeededCondition?
    /// Whether a person wants the run to start at once, without backoff and `earliest_begin`.
    public var isExpedited: Bool
    /// Whether a person forced the run: constraints, pauses and Retry-After do not apply.
    public var isForced: Bool
    /// The number of attempts that were started.
    public var attempts: Int
    /// The number of attempts that count against the retry policy: those that failed, and an
    /// interruption after `Planner.toleratedInterruptions` others in a row.
    public var failures: Int
    /// The number of attempts in a row that vanished: killed from outside, or lost with the
    /// machine.
    public var interruptions: Int
    /// Increases with each attempt; see `AttemptOrder.generation`.
    public var generation: Int64
    /// The lease of the process that may record the running attempt's end; `nil` unless running.
    public var lease: Lease?
    public var startedAt: Instant?
    public var finishedAt: Instant?
    /// The checkpoint for the next attempt, from the last attempt that left one.
    public var checkpoint: String?
    /// The run that led to this one by `then`, or that a person asked to repeat.
    public var causedBy: RunID?
    /// Why the last attempt did not succeed, or why the run was skipped or cancelled.
    public var failure: Failure?
    public var stopReason: StopReason?
    /// Why another process asked the lease holder to stop the run for good; `nil` if none did.
    public var stopRequest: StopReason?
    /// The counts of all attempts together; see `Tally.add(_:)`.
    public var tally: Tally
    public var notes: [String]

    /// The instant from which the run's lateness counts: its occurrence, or the request for a
    /// backfill, whose occurrence is in the past from the start.
    public var lateSince: Instant { trigger == .backfill ? enqueuedAt : scheduledFor }

    /// Whether the run is a waiting backfill, which never stands for a new occurrence.
    public var isWaitingBackfill: Bool { trigger == .backfill && state == .enqueued }

    /// The occurrence that the run stands for: the latest one coalesced into it, else its own.
    public var occurrence: Instant { latestOccurrence ?? scheduledFor }

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

/// The right to execute a run's attempt and to record its end.
public struct Lease: Hashable, Sendable {
    /// The state of a lease, as seen by the process that reads it.
    public enum State: Sendable {
        /// This process holds it.
        case mine
        /// Another process holds it and is alive.
        case held
        /// The holder is gone, and so is its attempt.
        case lapsed
        /// The same, and the attempt is known to have ended with success.
        case succeeded
    }

    /// The holder's name, unique to a process.
    public var owner: String
    public var state: State

    /// Creates a lease.
    public init(owner: String, state: State) {
        self.owner = owner
        self.state = state
    }
}
