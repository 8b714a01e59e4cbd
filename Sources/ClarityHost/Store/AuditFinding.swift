/// Something that an audit of the history found.
public struct AuditFinding: Hashable, Sendable, CustomStringConvertible {
    /// What was held against the history.
    public enum Rule: String, CaseIterable, Sendable {
        /// The file is whole, keeps to its schema, and what a row refers to is there.
        case file
        /// A run's attempts are numbered from 1 without a gap and are finished when the run is.
        case attempts
        /// Nothing holds back a run that is finished.
        case deferrals
        /// A job has one running run at most.
        case oneRunning
        /// The lease of a running run is held by a living process.
        case lease
        /// Each occurrence has exactly one fate.
        case occurrences
        /// A job's record counts the finished runs that there are.
        case counts
    }

    public var rule: Rule
    /// Whether the rule is broken; otherwise it is only worth a word.
    public var isOffence: Bool
    /// One line for people.
    public var description: String

    init(_ rule: Rule, isOffence: Bool = true, _ description: String) {
        self.rule = rule
        self.isOffence = isOffence
        self.description = description
    }
}
