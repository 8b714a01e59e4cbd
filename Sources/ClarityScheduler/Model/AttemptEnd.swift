/// How an attempt ended, as seen from outside.
public struct AttemptEnd: Hashable, Sendable {
    /// The worker's last word, or what became of it when it had none.
    public enum Result: Hashable, Sendable {
        case reported(Outcome)
        case broke(AttemptFault)
    }

    public var result: Result
    public var tally: Tally
    public var notes: [String]
    public var checkpoint: String?
    /// What happened in it that jobs may wait for.
    public var events: Set<EventName>
    /// The largest resident memory that was seen, in bytes; 0 when unknown.
    public var peakMemoryBytes: Int64
    /// What its program wrote, where that is kept.
    public var output: AttemptOutput?

    /// Creates an end.
    public init(
        _ result: Result, tally: Tally = Tally(), notes: [String] = [], checkpoint: String? = nil,
        events: Set<EventName> = [], peakMemoryBytes: Int64 = 0, output: AttemptOutput? = nil
    ) {
        self.result = result
        self.tally = tally
        self.notes = notes
        self.checkpoint = checkpoint
        self.events = events
        self.peakMemoryBytes = peakMemoryBytes
        self.output = output
    }
}

extension AttemptEnd {
    /// Whether all that happened in it is known: it said how it ended, or never began.
    var hasLastWord: Bool {
        switch result {
        case .reported, .broke(.notStarted): true
        case .broke: false
        }
    }
}

/// A way for a worker to end without a valid report; every one makes the attempt a failed one.
public enum AttemptFault: Hashable, Sendable {
    /// The program could not be started.
    case notStarted(String)
    /// It ended with this exit status and reported no outcome.
    case exitedWithoutReport(status: Int32)
    /// A signal ended it; SIGKILL from outside is 9.
    case killedBySignal(Int32)
    /// It wrote something on its report descriptor that is no report.
    case malformedReport(String)
    /// Its resident memory passed the limit.
    case memoryLimitExceeded(limitBytes: Int64, measuredBytes: Int64)
    /// It ended and left a process of its group running.
    case leftProcessesBehind
}
