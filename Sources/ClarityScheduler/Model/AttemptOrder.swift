/// What a worker is told when an attempt starts.
public struct AttemptOrder: Hashable, Sendable {
    public var run: RunID
    public var job: JobID
    public var kind: JobKind
    /// The number of the attempt within its run, from 1.
    public var attempt: Int
    /// Higher than that of every earlier attempt of the run, for whoever can refuse an older one.
    /// This program's own workers do not compare it: their repeats are harmless by the samples' ids.
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
    /// What was known of the machine at the start, for a kind that heeds it.
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
