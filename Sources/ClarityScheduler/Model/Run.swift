/// One occurrence or request on its way from enqueued to finished.
public struct Run: Hashable, Sendable {
    public var id: RunID
    public var job: JobID
    public var kind: JobKind
    public var trigger: Trigger
    public var state = RunState.enqueued
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
    public var attempts = 0
    /// The number of attempts that count against the retry policy: those that failed, and an
    /// interruption after `Planner.toleratedInterruptions` others in a row.
    public var failures = 0
    /// The number of attempts in a row that vanished: killed from outside, or lost with the
    /// machine.
    public var interruptions = 0
    /// Increases with each attempt; see `AttemptOrder.fencingToken`.
    public var fencingToken: Int64 = 0
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
    public var tally = Tally()
    public var notes: [String] = []
    /// The values that the request for the run set for parameters of its job; never changed.
    public var parameters: [String: String] = [:]

    /// The instant from which the run's lateness counts: its occurrence, or the request for a
    /// backfill, whose occurrence is in the past from the start.
    public var lateSince: Instant { trigger == .backfill ? enqueuedAt : scheduledFor }

    /// Whether the run waits, and never stands for a new occurrence, an event or another request: a
    /// backfill, or a run with parameters of its own.
    public var waitsForItself: Bool {
        state == .enqueued && (trigger == .backfill || !parameters.isEmpty)
    }

    /// Which of the waiting runs of a job go first: those with parameters of their own, which a
    /// person just asked for, then all others, then backfills. Those of one rank go by number.
    var rank: Int { !parameters.isEmpty ? 0 : trigger == .backfill ? 2 : 1 }

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
        self.scheduledFor = scheduledFor
        self.enqueuedAt = enqueuedAt
        self.isExpedited = isExpedited
        self.isForced = isForced
        self.causedBy = causedBy
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
public enum OccurrenceOutcome: String, CaseIterable, Sendable {
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

/// One reason why an enqueued run did not start, with the required and the measured value.
public struct Deferral: Hashable, Sendable {
    public var reason: WaitReason
    /// The name of the constraint in the job file, or a name for any other reason.
    public var subject: String
    public var wanted: String
    public var measured: String
    public var source: String

    /// Creates a deferral.
    public init(
        _ reason: WaitReason, subject: String, wanted: String, measured: String, source: String
    ) {
        self.reason = reason
        self.subject = subject
        self.wanted = wanted
        self.measured = measured
        self.source = source
    }

    /// What makes two deferrals of a run the same wait, whatever is measured. A group can hold a run
    /// back for two reasons, one after the other.
    public struct Cause: Hashable, Sendable {
        public var reason: WaitReason
        public var subject: String
    }

    public var cause: Cause { Cause(reason: reason, subject: subject) }
}

/// A deferral of a run and the time during which it held.
public struct DeferralSpan: Hashable, Sendable {
    public var deferral: Deferral
    public var run: RunID
    public var since: Instant
    /// The end, or `nil` while the deferral holds.
    public var until: Instant?

    /// Creates a span.
    public init(_ deferral: Deferral, of run: RunID, since: Instant, until: Instant? = nil) {
        self.deferral = deferral
        self.run = run
        self.since = since
        self.until = until
    }
}

/// A loop that runs.
public struct RunningLoop: Hashable, Sendable {
    /// The name of the machine; `nil` for this one.
    public var machine: String?
    public var process: Int32
    public var since: Instant
    /// Whether it follows another loop, which decides.
    public var isStandby: Bool

    /// Creates a loop.
    public init(
        machine: String? = nil, process: Int32, since: Instant, isStandby: Bool = false
    ) {
        self.machine = machine
        self.process = process
        self.since = since
        self.isStandby = isStandby
    }
}

extension [RunningLoop] {
    /// Whether there are loops, and all of them wait for one that decides.
    public var isLeaderless: Bool { !isEmpty && allSatisfy(\.isStandby) }
}

/// A summary of a source that shows whether it has something new, taken without reading its files.
public struct SourceFingerprint: Hashable, Sendable {
    /// Whether the source is a folder in which each file counts.
    public var isFolder: Bool
    /// The number of files; 0 or 1 unless the source is a folder.
    public var files: Int
    /// The time of the newest change of a file's contents or name, in nanoseconds since 1970; 0
    /// without a file.
    public var newestChange: Int64

    /// Creates a fingerprint.
    public init(isFolder: Bool = false, files: Int, newestChange: Int64) {
        self.isFolder = isFolder
        self.files = files
        self.newestChange = newestChange
    }

    /// Whether the source has something that was not there when `known` was taken.
    ///
    /// A removed file is no news. A single file is new whichever way its time differs, because the
    /// clock may have been set back.
    public func isNews(after known: SourceFingerprint?) -> Bool {
        guard let known else { return files > 0 }
        let isOther =
            isFolder
            ? newestChange > known.newestChange : newestChange != known.newestChange
        return files > known.files || files > 0 && isOther
    }
}
