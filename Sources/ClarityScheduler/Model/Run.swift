/// One occurrence or request on its way from enqueued to finished.
public struct Run: Hashable, Sendable {
    public var id: RunID
    public var job: JobID
    public var kind: JobKind
    public var trigger: Trigger
    public var state: RunState
    /// The occurrence that asked for it, or the instant of the request.
    public var scheduledFor: Instant
    /// The latest of the occurrences that came while it waited and were coalesced into it.
    public var latestOccurrence: Instant?
    public var enqueuedAt: Instant
    /// No attempt before this instant: backoff.
    public var notBefore: Instant?
    /// What the last attempt said that the next one needs, beyond the constraints of the job; `nil`
    /// for nothing, and once the next has started.
    public var needs: NeededCondition?
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
    /// Rises with each attempt; see `AttemptOrder.generation`.
    public var generation: Int64
    /// Who may write the running attempt's end; `nil` unless running.
    public var lease: Lease?
    public var startedAt: Instant?
    public var finishedAt: Instant?
    /// What the last attempt left for the next.
    public var checkpoint: String?
    /// The run whose success, or whose end that somebody wants undone, caused this one.
    public var causedBy: RunID?
    /// Why the last attempt did not succeed, or why the run was skipped or cancelled.
    public var failure: Failure?
    public var stopReason: StopReason?
    /// What another process asked the holder of the lease for, which is to stop the run for good.
    public var stopRequest: StopReason?
    /// The counts of all attempts, the later replacing the earlier where both have them.
    public var tally: Tally
    public var notes: [String]

    /// Since when it is late: what was asked of the past is not late by the time of its occurrence.
    public var lateSince: Instant { trigger == .backfill ? enqueuedAt : scheduledFor }

    /// Whether it waits for its turn to fill the past, and stands for nothing that comes now.
    public var isWaitingBackfill: Bool { trigger == .backfill && state == .enqueued }

    /// The occurrence that it stands for: the latest of those that it has.
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
