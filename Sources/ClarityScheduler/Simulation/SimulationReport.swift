/// The result of a simulation.
public struct SimulationReport: Hashable, Sendable {
    /// The simulated time; it ends earlier than requested if there were too many runs.
    public var stretch: Range<Instant>
    /// In the order of their numbers.
    public var runs: [SimulatedRun]
    /// In the order of the job file.
    public var jobs: [SimulatedJob]
}

/// The result of one run in a simulation.
public struct SimulatedRun: Hashable, Sendable {
    /// The final state of the run; its lease and counts have no meaning.
    public var run: Run
    /// What held the run back, the longest first.
    public var heldBack: [HoldSummary]
}

/// The result of one job in a simulation.
public struct SimulatedJob: Hashable, Sendable {
    public var job: JobID
    /// The number of occurrences that the job's schedule named.
    public var occurrences: Int
    /// The number of occurrences that got no run of their own, by fate.
    public var fates: [OccurrenceFate: Int]
    /// The number of runs, whatever triggered them.
    public var runs: Int
    /// The number of runs that succeeded.
    public var successes: Int
    /// The number of runs that were skipped before they started.
    public var expired: Int
    /// The number of attempts that were started.
    public var starts: Int
    /// What held the job's runs back, the longest first.
    public var heldBack: [HoldSummary]
    /// The longest time without a success: from the start to the first success, between two
    /// successes, or from the last success to the end.
    public var worstAge: Duration
}
