public import ClarityScheduler

/// How old something may get: one line of `fresh:`.
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

    /// Creates a goal.
    public init(_ subject: Subject, within: Duration) {
        self.subject = subject
        self.within = within
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
