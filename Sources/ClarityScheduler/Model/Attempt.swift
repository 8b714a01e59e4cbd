/// How one attempt went, for the history.
public struct Attempt: Hashable, Sendable {
    /// How an attempt ended.
    public enum Result: String, CaseIterable, Sendable {
        case running
        case succeeded
        /// It failed and counts against the retry policy.
        case failed
        /// It was stopped by the scheduler, or went as far as it may for now, and does not count.
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
    /// What its program wrote, where that is kept.
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
