public import ClarityScheduler

/// The conditions of a machine over a stretch of time, recorded or made up.
public struct ConditionTrace: Hashable, Sendable {
    /// The conditions that hold from an instant on.
    public struct Entry: Hashable, Sendable {
        public var at: Instant
        public var conditions: Conditions
        /// The outcomes of attempts that start from then on.
        public var attempts = SimulatedOutcomes()
    }

    /// At least one entry, in strictly ascending order of time.
    public let entries: [Entry]

    /// Creates a trace; returns `nil` if `entries` is empty or an entry is not later than the one
    /// before it.
    public init?(_ entries: [Entry]) {
        guard !entries.isEmpty, zip(entries, entries.dropFirst()).allSatisfy({ $0.at < $1.at })
        else { return nil }
        self.entries = entries
    }

    /// The jobs whose outcomes some entry sets by their id.
    public var supposedJobs: Set<JobID> {
        entries.reduce(into: []) { $0.formUnion($1.attempts.jobs) }
    }

    /// Returns the conditions at an instant.
    ///
    /// These are the conditions of the last entry up to the instant, or of the first entry if the
    /// instant is before it. Uses a binary search.
    public func conditions(at instant: Instant) -> Conditions {
        entry(at: instant).conditions
    }

    /// Returns the simulated outcome of a job's attempts that start at an instant; uses a binary
    /// search.
    public func attempt(of job: JobID, at instant: Instant) -> SimulatedAttempt {
        entry(at: instant).attempts[job]
    }

    private func entry(at instant: Instant) -> Entry {
        entries[max(0, count(upTo: instant) - 1)]
    }

    /// Returns the first instant strictly after another at which an entry begins; `nil` after the
    /// last.
    public func nextChange(after instant: Instant) -> Instant? {
        let count = count(upTo: instant)
        return count < entries.count ? entries[count].at : nil
    }

    /// Returns the number of entries that begin at or before an instant.
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
