/// How an attempt ended, as seen from outside.
public struct AttemptEnd: Hashable, Sendable {
    /// The outcome that the worker reported, or the fault that ended the attempt without one.
    public enum Result: Hashable, Sendable {
        case reported(Outcome)
        case broke(AttemptFault)
    }

    public var result: Result
    public var tally: Tally
    /// What held when the attempt ended; each name occurs once.
    public var facts: [AttemptFact]
    public var notes: [String]
    public var checkpoint: String?
    /// The events that the attempt emitted; jobs may wait for them with `on:`.
    public var events: Set<EventName>
    /// The largest resident memory that was measured, in bytes; 0 if unknown.
    public var peakMemoryBytes: Int64
    /// The output of the attempt's program; `nil` if it was not kept.
    public var output: AttemptOutput?

    /// Creates an end.
    public init(
        _ result: Result, tally: Tally = Tally(), facts: [AttemptFact] = [], notes: [String] = [],
        checkpoint: String? = nil, events: Set<EventName> = [], peakMemoryBytes: Int64 = 0,
        output: AttemptOutput? = nil
    ) {
        self.result = result
        self.tally = tally
        self.facts = facts
        self.notes = notes
        self.checkpoint = checkpoint
        self.events = events
        self.peakMemoryBytes = peakMemoryBytes
        self.output = output
    }
}

extension AttemptEnd {
    /// Whether all events of the attempt are known: its worker reported an outcome or never
    /// started.
    var hasLastWord: Bool {
        switch result {
        case .reported, .broke(.notStarted): true
        case .broke: false
        }
    }
}

/// A way for a worker to end without a valid report.
///
/// Most faults make the attempt fail. If the scheduler was stopping the attempt, or SIGKILL from
/// outside ended it, the attempt may count as stopped, cancelled or interrupted instead.
public enum AttemptFault: Hashable, Sendable {
    /// The program could not be started.
    case notStarted(String)
    /// The program exited with this status and reported no outcome.
    case exitedWithoutReport(status: Int32)
    /// A signal ended the program; SIGKILL from outside is 9.
    case killedBySignal(Int32)
    /// The program wrote something that is not a report to its report descriptor.
    case malformedReport(String)
    /// The resident memory exceeded the limit.
    case memoryLimitExceeded(limitBytes: Int64, measuredBytes: Int64)
    /// The program ended and left a process of its process group running.
    case leftProcessesBehind
}
