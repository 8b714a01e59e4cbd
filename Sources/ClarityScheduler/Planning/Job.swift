/// A job as its author declared it.
public struct Job: Hashable, Sendable {
    /// A job's class, as on the phone: what it may take.
    public enum Class: String, CaseIterable, Sendable {
        /// Light and short: 30 s unless it says otherwise.
        case appRefresh = "app-refresh"
        /// Long: 15 min unless it says otherwise.
        case processing

        /// The time an attempt has when the job names no `timeout`.
        public var standardTimeout: Duration {
            switch self {
            case .appRefresh: .seconds(30)
            case .processing: .seconds(15 * 60)
            }
        }
    }

    public var id: JobID
    public var kind: JobKind
    public var jobClass: Class
    /// `nil` for a job that only runs when asked, by chain or by event.
    public var schedule: Schedule?
    /// The least span between the end of one run and the start of the next.
    public var earliestBegin: Duration
    public var events: Set<EventName>
    public var constraints: [Constraint]
    public var retry: RetryPolicy
    public var overlap: OverlapPolicy
    public var catchUp: CatchUpPolicy
    public var timeout: Duration
    /// How long before the deadline an attempt is told that its time ends; less than `timeout`.
    public var warning: Duration
    public var memoryLimitBytes: Int64
    /// The jobs whose runs follow a success of this one.
    public var then: [JobID]
    public var options: [String: String]

    /// Creates a job with the engine's standards for all that is not given.
    public init(
        id: JobID, kind: JobKind, jobClass: Class = .processing, schedule: Schedule? = nil,
        earliestBegin: Duration = .zero, events: Set<EventName> = [],
        constraints: [Constraint] = [], retry: RetryPolicy = RetryPolicy(),
        overlap: OverlapPolicy = .skip, catchUp: CatchUpPolicy = .latest,
        timeout: Duration? = nil, warning: Duration? = nil,
        memoryLimitBytes: Int64 = Job.standardMemoryLimitBytes, then: [JobID] = [],
        options: [String: String] = [:]
    ) {
        self.id = id
        self.kind = kind
        self.jobClass = jobClass
        self.schedule = schedule
        self.earliestBegin = earliestBegin
        self.events = events
        self.constraints = constraints
        self.retry = retry
        self.overlap = overlap
        self.catchUp = catchUp
        let timeout = timeout ?? jobClass.standardTimeout
        self.timeout = timeout
        self.warning = warning ?? min(.seconds(10), timeout / 5)
        self.memoryLimitBytes = memoryLimitBytes
        self.then = then
        self.options = options
    }

    /// The resident memory an attempt may have when the job names no `memory_limit`: 256 MiB.
    public static var standardMemoryLimitBytes: Int64 { 256 << 20 }
}
