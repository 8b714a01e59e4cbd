/// The record of one attempt in the history.
public struct Attempt: Hashable, Sendable {
    /// How an attempt ended.
    public enum Result: String, CaseIterable, Sendable {
        case running
        case succeeded
        /// The attempt failed and counts against the retry policy.
        case failed
        /// The scheduler stopped the attempt, or the attempt snoozed or awaits a condition. It does
        /// not count against the retry policy.
        case stopped
        /// The attempt vanished: its process or its scheduler was killed from outside.
        case interrupted
    }

    public var run: RunID
    /// The number of the attempt within its run, from 1.
    public var number: Int
    public var startedAt: Instant
    public var finishedAt: Instant?
    public var result: Result
    public var stopReason: StopReason?
    public var reason: String?
    /// The counts of this attempt alone.
    public var tally: Tally
    public var peakMemoryBytes: Int64
    /// The output of the attempt's program; `nil` if it was not kept.
    public var output: AttemptOutput?

    /// Creates the record of an attempt.
    public init(
        run: RunID, number: Int, startedAt: Instant, finishedAt: Instant? = nil,
        result: Result = .running, stopReason: StopReason? = nil, reason: String? = nil,
        tally: Tally = Tally(), peakMemoryBytes: Int64 = 0, output: AttemptOutput? = nil
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
        self.output = output
    }
}
