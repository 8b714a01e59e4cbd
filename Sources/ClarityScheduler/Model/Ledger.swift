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
