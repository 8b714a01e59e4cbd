/// The instructions that a worker gets when an attempt starts.
public struct AttemptOrder: Hashable, Sendable {
    public var run: RunID
    public var job: JobID
    public var kind: JobKind
    /// The number of the attempt within its run, from 1.
    public var attempt: Int
    /// A fencing token, higher than that of every earlier attempt of the run: a receiver can refuse
    /// an older one. The workers of this program do not compare it, because sample ids make their
    /// repeats harmless.
    public var generation: Int64
    public var scheduledFor: Instant
    /// The time from the start of the attempt to its deadline.
    public var timeout: Duration
    /// How long before the deadline the worker is warned.
    public var warning: Duration
    /// The limit on resident memory, in bytes; an attempt that exceeds it is ended.
    public var memoryLimitBytes: Int64
    /// The checkpoint that an earlier attempt of the same run left with `AttemptReport.checkpoint`.
    public var checkpoint: String?
    /// The known conditions of the machine at the start, for a kind that uses them.
    public var conditions: OrderConditions
    /// The job's options and the sections of the job file, flattened: `backend.url`,
    /// `sources.0.path`, `page_size`.
    public var options: [String: String]

    /// Creates an order.
    public init(
        run: RunID, job: JobID, kind: JobKind, attempt: Int, generation: Int64,
        scheduledFor: Instant, timeout: Duration, warning: Duration, memoryLimitBytes: Int64,
        checkpoint: String? = nil, conditions: OrderConditions = OrderConditions(),
        options: [String: String] = [:]
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
        self.conditions = conditions
        self.options = options
    }
}
