public import ClarityScheduler

/// How old something may get: one line of `fresh:`, or what follows from the jobs where it has none.
public struct FreshnessGoal: Hashable, Sendable {
    /// What may not get older.
    public enum Subject: Hashable, Sendable {
        /// The newest sample of a kind that the backend has taken. What a day is made of, such as
        /// steps, is in the newest day.
        case samples(SampleKind)
        case insights
        case profile

        /// As it is called in the job file.
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
    /// Whether no line of `fresh:` says it. Such a goal asks of the jobs that they bring what there is,
    /// and not of the wearer that there be something.
    public let isDefault: Bool

    /// Creates a goal.
    public init(_ subject: Subject, within: Duration, isDefault: Bool = false) {
        self.subject = subject
        self.within = within
        self.isDefault = isDefault
    }

    /// The least span of a default goal: a job that waits for the night and a charger takes a day.
    static let leastDefault: Duration = .seconds(2 * 86_400)

    /// The default goals of subjects: three times the longest gap between two occurrences of the job
    /// that brings each, and at least two days; none where no schedule brings it.
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

    /// The goals among the options of an order, samples first and in the order of their kinds.
    ///
    /// - Throws: `Failure` for one that is no span.
    public static func all(_ options: [String: String]) throws(Failure) -> [FreshnessGoal] {
        var goals: [FreshnessGoal] = []
        for subject in SampleKind.allCases.map({ Subject.samples($0) }) + [.insights, .profile] {
            guard let text = options["fresh.\(subject.name)"] else { continue }
            guard let span = Int64(text), span > 0 else {
                throw Failure(.configuration, "`fresh.\(subject.name)` is not a span")
            }
            goals.append(FreshnessGoal(subject, within: .milliseconds(span)))
        }
        return goals
    }

    /// The kinds of which a sample serves a goal for this kind.
    static func kinds(serving kind: SampleKind) -> [SampleKind] {
        ActivityDay.kinds.contains(kind) ? [kind, .activity] : [kind]
    }
}
