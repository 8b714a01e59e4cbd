/// The decision of a planner: what to write, then what to do, then when to decide again.
public struct Plan: Hashable, Sendable {
    /// An action to perform once the changes are durable.
    public enum Act: Hashable, Sendable {
        case start(AttemptOrder)
        case signal(RunID, AttemptSignal)
    }

    /// A run that could not start, or a requested job for which no run could be enqueued.
    public struct Waiting: Hashable, Sendable {
        public var job: JobID
        public var run: RunID?
        public var deferrals: [Deferral]

        /// Whether somebody has paused the job.
        public var isPaused: Bool { deferrals.contains { $0.reason == .paused } }
    }

    public var changes: [LedgerChange] = []
    public var acts: [Act] = []
    /// The due runs that have to wait.
    public var waiting: [Waiting] = []
    /// The names of the checks whose answers a run now needs.
    public var asks: Set<String> = []
    /// The span after which a decision can differ without any event; `nil` if there is none.
    public var wakeAfter: Duration?
    /// Whether no attempt of this process runs or is about to start, and no check has been asked.
    public var isIdle = true

    /// Creates a plan that does nothing.
    public init() {}
}
