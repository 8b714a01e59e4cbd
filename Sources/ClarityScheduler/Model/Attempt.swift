/// What a worker is told when an attempt starts.
public struct AttemptOrder: Hashable, Sendable {
    public var run: RunID
    public var job: JobID
    public var kind: JobKind
    /// The number of the attempt within its run, from 1.
    public var attempt: Int
    /// The fencing generation: higher than that of every earlier attempt of the job.
    public var generation: Int64
    public var scheduledFor: Instant
    /// The time that the attempt has from its start to its deadline.
    public var timeout: Duration
    /// How long before the deadline the worker is told that its time ends.
    public var warning: Duration
    /// The resident memory that ends the attempt when exceeded, in bytes.
    public var memoryLimitBytes: Int64
    /// What an earlier attempt of the same run left with `AttemptReport.checkpoint`.
    public var checkpoint: String?
    /// The job's options and the sections of the job file, flattened: `backend.url`,
    /// `sources.0.path`, `page_size`.
    public var options: [String: String]

    /// Creates an order.
    public init(
        run: RunID, job: JobID, kind: JobKind, attempt: Int, generation: Int64,
        scheduledFor: Instant, timeout: Duration, warning: Duration, memoryLimitBytes: Int64,
        checkpoint: String? = nil, options: [String: String] = [:]
    ) {
        self.run = run
        self.job = job
        self.kind = kind
        self.attempt = attempt
        self.generation = generation
        self.scheduledFor = scheduledFor
        self.timeout = timeout
        self.warning = warning
        self.memoryLimitBytes = memoryLimitBytes
        self.checkpoint = checkpoint
        self.options = options
    }
}

/// What a worker says while an attempt runs. `outcome` is the last word.
public enum AttemptReport: Hashable, Sendable {
    /// So many of so many units are done; `total` is 0 while it is unknown.
    case progress(done: Int64, total: Int64)
    /// The count under a name is now this; a later report of the same name replaces it.
    case count(name: String, Int64)
    /// Something a person should find in the run's history; free of secrets and health values.
    case note(String)
    /// What the run's next attempt gets as `AttemptOrder.checkpoint`.
    case checkpoint(String)
    case outcome(Outcome)
}

/// A request to a running attempt.
public enum AttemptSignal: Hashable, Sendable {
    /// Time ends soon: finish or leave a checkpoint, then return.
    case warn
    /// End now.
    case kill
}

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
    /// The largest resident memory that was seen, in bytes; 0 when unknown.
    public var peakMemoryBytes: Int64

    /// Creates an end.
    public init(
        _ result: Result, tally: Tally = Tally(), notes: [String] = [], checkpoint: String? = nil,
        peakMemoryBytes: Int64 = 0
    ) {
        self.result = result
        self.tally = tally
        self.notes = notes
        self.checkpoint = checkpoint
        self.peakMemoryBytes = peakMemoryBytes
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
