/// What a planner decided: what to write down, then what to do, then when to look again.
public struct Plan: Hashable, Sendable {
    /// Something to do once the changes are durable.
    public enum Act: Hashable, Sendable {
        case start(AttemptOrder)
        case signal(RunID, AttemptSignal)
    }

    /// A run that could not start, or a job that was asked for and could not be enqueued.
    public struct Waiting: Hashable, Sendable {
        public var job: JobID
        public var run: RunID?
        public var deferrals: [Deferral]

        /// Whether somebody has paused the job.
        public var isPaused: Bool { deferrals.contains { $0.reason == .paused } }
    }

    public var changes: [LedgerChange] = []
    public var acts: [Act] = []
    /// What is due and waits all the same.
    public var waiting: [Waiting] = []
    /// The names of the checks whose answers a run now waits for.
    public var asks: Set<String> = []
    /// The span after which a decision can differ without any event; `nil` when there is none.
    public var wakeAfter: Duration?
    /// Whether no attempt of this process runs or is about to start, and no answer is awaited.
    public var isIdle = true

    /// Creates a plan that does nothing.
    public init() {}
}
