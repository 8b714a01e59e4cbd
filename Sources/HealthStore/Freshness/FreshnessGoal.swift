public import HealthModel
public import ClarityScheduler

/// The maximum age of some data: one line of `fresh:`, or a default derived from the jobs.
public struct FreshnessGoal: Hashable, Sendable {
    /// The data whose age is limited.
    public enum Subject: Hashable, Sendable {
        /// The newest sample of a kind that the backend has accepted. For the parts of a day, such
        /// as steps, the newest day counts too.
        case samples(SampleKind)
        case insights
        case profile

        /// The name in the job file.
        public var name: String {
            switch self {
            case .samples(let kind): kind.rawValue
            case .insights: "insights"
            case .profile: "profile"
            }
        }
    }

    public let subject: Subject
    public let within: Duration
    /// Whether the goal is a default, with no line in `fresh:`.
    ///
    /// A default goal requires of the jobs that they deliver what there is, but not of the wearer
    /// that there is any data.
    public let isDefault: Bool

    /// Creates a goal.
    public init(_ subject: Subject, within: Duration, isDefault: Bool = false) {
        self.subject = subject
        self.within = within
        self.isDefault = isDefault
    }

    /// The minimum span of a default goal: a job that waits for night and charger takes a day.
    static let leastDefault: Duration = .seconds(2 * 86_400)

    /// Returns the default goals of subjects.
    ///
    /// A default is three times the longest gap between two occurrences of the job that delivers
    /// the subject, and at least two days. A subject that no scheduled job delivers has none.
    public static func defaults(
        for subjects: [Subject], jobs: [BringingJob]
    ) -> [FreshnessGoal] {
        subjects.compactMap { subject in
            guard let gap = FreshnessRuling.job(bringing: subject, among: jobs)?.gap else {
                return nil
            }
            return FreshnessGoal(subject, within: max(gap * 3, leastDefault), isDefault: true)
        }
    }

    /// Returns the kinds whose samples count for a goal of this kind.
    static func kinds(serving kind: SampleKind) -> [SampleKind] {
        ActivityDay.kinds.contains(kind) ? [kind, .activity] : [kind]
    }
}
