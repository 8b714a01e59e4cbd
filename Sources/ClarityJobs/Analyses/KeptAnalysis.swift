public import ClarityScheduler

/// The form in which a week of steps is sent.
public enum AnalysisForm: String, CaseIterable, Sendable {
    /// The steps of each minute.
    case steps
    /// The same steps as movement measurements, one a minute.
    case actigraphy
}

/// The state of an analysis; `HealthSchema.analyses` lists the transitions.
public enum AnalysisState: String, CaseIterable, Sendable {
    /// Recorded, and certainly not at the backend.
    case queued
    /// Sent, and no answer is known.
    case sending
    /// Accepted by the backend, which is processing it.
    case accepted
    case completed
    case failed
    /// The backend never reported the outcome.
    case unconfirmed
}

/// The status requests to the backend about one piece of work.
public struct Questions: Hashable, Sendable {
    public var count: Int
    public var lastAt: Instant?
    /// The last answer, in this program's own words.
    public var lastWord: String?

    /// Creates a record; the default means that nothing was asked.
    public init(count: Int = 0, lastAt: Instant? = nil, lastWord: String? = nil) {
        self.count = count
        self.lastAt = lastAt
        self.lastWord = lastWord
    }

    /// A summary for people: `asked 12 times, last word: processing`.
    public var text: String {
        guard count > 0 else { return "never asked" }
        return "asked \(count) \(count == 1 ? "time" : "times"), last word: \(lastWord ?? "none")"
    }
}

/// A week of steps to analyse, without its steps and its result.
public struct KeptAnalysis: Hashable, Sendable {
    public let id: Int64
    public let form: AnalysisForm
    /// The last of its seven days.
    public let lastDay: CivilDay
    /// The minutes known when it was last queued, 1 to 10,080.
    public let knownMinutes: Int
    public let state: AnalysisState
    /// The number of sends that may have arrived.
    public let sends: Int
    /// The backend's id of the analysis, once accepted.
    public let processingID: String?
    public let acceptedAt: Instant?
    public let questions: Questions
}
