public import ClarityScheduler

/// What a machine's conditions were over a stretch of time, recorded or made up.
public struct ConditionTrace: Hashable, Sendable {
    /// The conditions that hold from an instant on.
    public struct Entry: Hashable, Sendable {
        public var at: Instant
        public var conditions: Conditions
        /// How attempts go that start from then on.
        public var attempts: SimulatedOutcomes

        /// Creates an entry.
        public init(
            at: Instant, conditions: Conditions,
            attempts: SimulatedOutcomes = SimulatedOutcomes()
        ) {
            self.at = at
            self.conditions = conditions
            self.attempts = attempts
        }
    }

    /// At least one, by rising instants.
    public let entries: [Entry]

    /// Creates a trace; `nil` when there is no entry or one is not later than the one before it.
    public init?(_ entries: [Entry]) {
        guard !entries.isEmpty, zip(entries, entries.dropFirst()).allSatisfy({ $0.at < $1.at })
        else { return nil }
        self.entries = entries
    }

    /// The jobs of which some line supposes by their ids how attempts go.
    public var supposedJobs: Set<JobID> {
        entries.reduce(into: []) { $0.formUnion($1.attempts.jobs) }
    }

    /// The conditions at an instant: those of the last entry up to it, before the first entry those
    /// of the first. Takes a binary search.
    public func conditions(at instant: Instant) -> Conditions {
        entry(at: instant).conditions
    }

    /// How attempts of a job go that start at an instant; takes a binary search.
    public func attempt(of job: JobID, at instant: Instant) -> SimulatedAttempt {
        entry(at: instant).attempts[job]
    }

    private func entry(at instant: Instant) -> Entry {
        entries[max(0, count(upTo: instant) - 1)]
    }

    /// The first instant strictly after another at which an entry begins; `nil` after the last.
    public func nextChange(after instant: Instant) -> Instant? {
        let count = count(upTo: instant)
        return count < entries.count ? entries[count].at : nil
    }

    /// How many entries begin at an instant or before it.
    private func count(upTo instant: Instant) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].at <= instant { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
