public import ClarityScheduler

/// As what a week of steps is sent.
public enum AnalysisForm: String, CaseIterable, Sendable {
    /// The steps of each minute.
    case steps
    /// The same as measurements of movement, one a minute.
    case actigraphy
}

/// Where an analysis is; `HealthSchema.analyses` has the ways from one to the next.
public enum AnalysisState: String, CaseIterable, Sendable {
    /// Written down and surely not at the backend.
    case queued
    /// Sent, and not answered as far as is known here.
    case sending
    /// The backend has it and works at it.
    case accepted
    case completed
    case failed
    /// The backend never said what became of it.
    case unconfirmed
}

/// What the backend was asked about something that it works at.
public struct Questions: Hashable, Sendable {
    public var count: Int
    public var lastAt: Instant?
    /// The last answer, in words of this program.
    public var lastWord: String?

    /// Creates an account of questions; without any there was none.
    public init(count: Int = 0, lastAt: Instant? = nil, lastWord: String? = nil) {
        self.count = count
        self.lastAt = lastAt
        self.lastWord = lastWord
    }

    /// What was tried, for a person: `asked 12 times, last word: processing`.
    public var text: String {
        guard count > 0 else { return "never asked" }
        return "asked \(count) \(count == 1 ? "time" : "times"), last word: \(lastWord ?? "none")"
    }
}

/// A week of steps that is, was or will be analysed, without its steps and its result.
public struct KeptAnalysis: Hashable, Sendable {
    public let id: Int64
    public let form: AnalysisForm
    /// The last of its seven days.
    public let lastDay: CivilDay
    /// The minutes that were known when it was made, 1 to 10,080.
    public let knownMinutes: Int
    public let state: AnalysisState
    /// The sends that may have arrived.
    public let sends: Int
    /// The backend's name for it, once it has taken it.
    public let processingID: String?
    public let acceptedAt: Instant?
    public let questions: Questions
}
