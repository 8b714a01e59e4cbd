/// What the store knows that a decision needs: a job's clock and its unfinished runs.
public struct Ledger: Hashable, Sendable {
    public var clocks: [JobID: JobClock]
    /// The runs that are not finished, by id.
    public var open: [Run]
    /// When the last run of a job finished: of those that are finished, the one of the highest
    /// number.
    public var lastFinished: [JobID: Instant]
    /// The id that the next new run gets.
    public var nextRun: RunID

    /// Creates a ledger.
    public init(
        clocks: [JobID: JobClock] = [:], open: [Run] = [],
        lastFinished: [JobID: Instant] = [:], nextRun: RunID = RunID(1)
    ) {
        self.clocks = clocks
        self.open = open
        self.lastFinished = lastFinished
        self.nextRun = nextRun
    }
}

/// How far a job's schedule has been dealt with.
public struct JobClock: Hashable, Sendable {
    /// When the job was first seen; `every` counts from here.
    public var anchor: Instant
    /// Every occurrence up to and including this instant has its fate.
    public var considered: Instant

    /// Creates a clock.
    public init(anchor: Instant, considered: Instant) {
        self.anchor = anchor
        self.considered = considered
    }
}

/// What becomes of occurrences that get no run of their own.
public enum OccurrenceFate: String, CaseIterable, Sendable {
    /// A later run, or one that already waits, stands for them.
    case coalesced
    /// A policy passed over them: `overlap: skip` or `catch_up: none`.
    case skipped
}

/// One reason for which an enqueued run did not start, with what was wanted and measured.
public struct Deferral: Hashable, Sendable {
    public var reason: WaitReason
    /// The constraint's name in the job file, or the reason's where it is none.
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
}

/// A change that a decision makes to the store. All changes of one decision are one transaction.
public enum LedgerChange: Hashable, Sendable {
    case setClock(JobID, JobClock)
    /// `count` of the occurrences from `first` to `latest` share a fate, and a run where one stands
    /// for them.
    case recordFate(
        JobID, OccurrenceFate, first: Instant, latest: Instant, count: Int, run: RunID?)
    /// Adds a run, or replaces what is known of it.
    case put(Run)
    /// Adds an attempt, or replaces what is known of it.
    case putAttempt(Attempt)
    /// From this instant on the run waits for these reasons and no others.
    case deferred(RunID, [Deferral], at: Instant)
    /// This process still holds the leases of its running runs.
    case renewLeases
}
