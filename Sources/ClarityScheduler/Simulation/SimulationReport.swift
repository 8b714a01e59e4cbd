/// What came of a simulation.
public struct SimulationReport: Hashable, Sendable {
    /// From the beginning up to where it came; earlier than asked for when there were too many runs.
    public var stretch: Range<Instant>
    /// By number.
    public var runs: [SimulatedRun]
    /// In the order of the job file.
    public var jobs: [SimulatedJob]
}

/// What became of one run in a simulation.
public struct SimulatedRun: Hashable, Sendable {
    /// The run as it was in the end; its lease and counts mean nothing.
    public var run: Run
    /// What held it back, what did it longest first.
    public var heldBack: [HoldSummary]
}

/// What became of one job in a simulation.
public struct SimulatedJob: Hashable, Sendable {
    public var job: JobID
    /// How many occurrences its schedule named.
    public var occurrences: Int
    /// How many of them got no run of their own, by fate.
    public var fates: [OccurrenceFate: Int]
    /// How many runs there were, whatever asked for them.
    public var runs: Int
    /// How many of them succeeded.
    public var successes: Int
    /// How many of them were given up before they started.
    public var expired: Int
    /// How many attempts were started.
    public var starts: Int
    /// What held it back, what did it longest first.
    public var heldBack: [HoldSummary]
    /// The longest that its data was without a success: from the beginning, or from one success to
    /// the next, or from the last to the end.
    public var worstAge: Duration
}
