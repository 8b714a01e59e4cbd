/// Something that an audit of the history found.
public struct AuditFinding: Hashable, Sendable, CustomStringConvertible {
    /// The rule that the history was checked against.
    public enum Rule: String, CaseIterable, Sendable {
        /// The file is intact and matches its schema, and every reference leads to an existing row.
        case file
        /// A run's attempts are numbered from 1 without a gap and are finished when the run is.
        case attempts
        /// A finished run has no deferral that is still open.
        case deferrals
        /// A job has at most one running run.
        case oneRunning
        /// A living process holds the lease of each running run.
        case lease
        /// Each occurrence has exactly one fate.
        case occurrences
        /// A job's record counts exactly the finished runs that exist.
        case counts
    }

    public var rule: Rule
    /// Whether a rule is broken; otherwise the finding is only a remark.
    public var isOffence: Bool
    /// One line for people.
    public var description: String

    init(_ rule: Rule, isOffence: Bool = true, _ description: String) {
        self.rule = rule
        self.isOffence = isOffence
        self.description = description
    }
}
