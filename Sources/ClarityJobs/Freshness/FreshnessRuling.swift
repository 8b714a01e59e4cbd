public import ClarityScheduler

/// A job that brings what a goal is about, as the scheduler knows it.
public struct BringingJob: Hashable, Sendable {
    public var id: String
    public var kind: JobKind
    /// Where it stands, for people: `waits for network: wanted connected, is no route`.
    public var standing: String
    /// Whether something other than its schedule holds it back, or it is disabled.
    public var isHeldBack: Bool
    /// When a run of it last succeeded, as far as the history goes back.
    public var lastSuccess: Instant?
    /// The longest time between two of its coming occurrences; `nil` without a schedule.
    public var gap: Duration?

    /// Creates a job.
    public init(
        id: String, kind: JobKind, standing: String, isHeldBack: Bool, lastSuccess: Instant?,
        gap: Duration? = nil
    ) {
        self.id = id
        self.kind = kind
        self.standing = standing
        self.isHeldBack = isHeldBack
        self.lastSuccess = lastSuccess
        self.gap = gap
    }
}

/// Whether a goal holds, and what is to blame where it does not.
public struct FreshnessRuling: Hashable, Sendable {
    /// Who or what would have to do something.
    public enum Blame: Hashable, Sendable {
        /// There was nothing newer to read; `nil`: no source was ever read.
        case source(lastReading: Instant?)
        /// It waits for this job.
        case job(BringingJob)
        /// The backend took a sample and never confirmed it, or has no newer insight.
        case backend
        /// Samples wait for a person's decision.
        case person(FreshnessFacts.Place)
        /// Nobody is logged in.
        case login
        /// The job file has no job that would bring it.
        case noJob
    }

    public let goal: FreshnessGoal
    /// How old the newest is, never below zero; `nil` where there is none.
    public let age: Duration?
    /// Why there is nothing newer; `nil` where the newest is new enough.
    public let blame: Blame?

    /// Whether the goal holds; a default one also where no job could bring more than there is.
    public var holds: Bool {
        switch (blame, goal.subject) {
        case (nil, _): true
        case (.source, _), (.backend, .insights), (.backend, .profile): goal.isDefault
        default: false
        }
    }

    /// Rules on a goal.
    ///
    /// It holds while the newest is no older than `within`. Otherwise a sample that would serve it and
    /// is somewhere else says what is to blame, the newest of them first: who waits, waits for its job
    /// or a login. Where there is none, it depends on whether it was looked for since: if so, there
    /// was nothing; if not, a job that is held back is to blame, else the source or, of what is
    /// pulled, the job.
    ///
    /// - Parameter jobs: those of the job file, in its order.
    public init(
        on goal: FreshnessGoal, _ facts: FreshnessFacts, jobs: [BringingJob], isLoggedIn: Bool,
        now: Instant
    ) {
        self.goal = goal
        age = facts.newest.map { max(now - $0, .zero) }
        let limit = now - goal.within
        guard facts.newest.map({ $0 < limit }) ?? true else {
            blame = nil
            return
        }
        let job = FreshnessRuling.job(bringing: goal.subject, among: jobs)
        switch goal.subject {
        case .samples:
            blame = FreshnessRuling.blame(for: facts, since: limit, job, isLoggedIn)
        case .insights, .profile:
            if !isLoggedIn {
                blame = .login
            } else if let job {
                blame = (job.lastSuccess.map { $0 >= limit } ?? false) ? .backend : .job(job)
            } else {
                blame = .noJob
            }
        }
    }

    private static func blame(
        for facts: FreshnessFacts, since limit: Instant, _ job: BringingJob?, _ isLoggedIn: Bool
    ) -> Blame {
        let places = FreshnessFacts.Place.allCases
        let newest = places.compactMap { facts.elsewhere[$0] }.max()
        let place = newest.flatMap { newest in
            newest < limit ? nil : places.first { facts.elsewhere[$0] == newest }
        }
        switch place {
        case .waiting where !isLoggedIn: return .login
        case .waiting: return job.map { .job($0) } ?? .noJob
        case .unconfirmed: return .backend
        case .setAside: return .person(.setAside)
        case .rejected: return .person(.rejected)
        case nil: break
        }
        guard let job else { return .noJob }
        // A reading that found nothing new is noted nowhere but in the run that made it.
        let reading = [facts.lastReading, job.lastSuccess].compactMap { $0 }.max()
        if let reading, reading >= limit { return .source(lastReading: reading) }
        return job.isHeldBack ? .job(job) : .source(lastReading: reading)
    }

    /// The job that brings a subject: by the first of these kinds that the job file has.
    static func job(
        bringing subject: FreshnessGoal.Subject, among jobs: [BringingJob]
    ) -> BringingJob? {
        let kinds =
            switch subject {
            case .samples: ["bulk-upload"]
            case .insights: ["insight-history", "refresh"]
            case .profile: ["refresh"]
            }
        for kind in kinds {
            if let job = jobs.first(where: { $0.kind.rawValue == kind }) { return job }
        }
        return nil
    }
}
