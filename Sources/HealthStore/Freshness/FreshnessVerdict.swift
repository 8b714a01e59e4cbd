public import ClarityScheduler

/// A job that delivers the subject of a goal, with its state in the scheduler.
public struct BringingJob: Hashable, Sendable {
    public var id: String
    public var kind: JobKind
    /// The state of the job, for people: `waits for network: wanted connected, is no route`.
    public var status: String
    /// Whether the job is disabled, or something other than its schedule holds it back.
    public var isHeldBack: Bool
    /// Whether the job is due and no scheduler has looked at it since.
    public var isOverdue: Bool
    /// When a run of the job last succeeded, as far as the history goes back.
    public var lastSuccess: Instant?
    /// How its last run failed, if it did: nothing has succeeded since.
    public var failure: JobFailure?
    /// Whether a run of it waits until somebody logs in.
    public var waitsForLogin: Bool
    /// The longest time between two of its coming occurrences; `nil` without a schedule.
    public var gap: Duration?

    /// Creates a job.
    public init(
        id: String, kind: JobKind, status: String, isHeldBack: Bool, isOverdue: Bool = false,
        lastSuccess: Instant?, failure: JobFailure? = nil, waitsForLogin: Bool = false,
        gap: Duration? = nil
    ) {
        self.id = id
        self.kind = kind
        self.status = status
        self.isHeldBack = isHeldBack
        self.isOverdue = isOverdue
        self.lastSuccess = lastSuccess
        self.failure = failure
        self.waitsForLogin = waitsForLogin
        self.gap = gap
    }

    /// Whether somebody has to do something about it.
    public var isTrouble: Bool { failure != nil || isOverdue || waitsForLogin }
}

/// The run with which a job failed for good.
public struct JobFailure: Hashable, Sendable {
    public var run: Int64
    public var at: Instant
    public var reason: String

    /// Creates a failure.
    public init(run: Int64, at: Instant, reason: String) {
        self.run = run
        self.at = at
        self.reason = reason
    }
}

/// Whether a goal is met, and if not, why.
public struct FreshnessVerdict: Hashable, Sendable {
    /// Who or what would have to act.
    public enum Blame: Hashable, Sendable {
        /// The source had nothing newer; `nil` if no source was ever read.
        case source(lastReading: Instant?)
        /// The data waits for this job.
        case job(BringingJob)
        /// The backend accepted a sample and never confirmed it, or has no newer insight.
        case backend
        /// Samples wait for a person's decision.
        case person(FreshnessFacts.Place)
        /// Nobody is logged in.
        case login
        /// The job file has no job that delivers the subject.
        case noJob
    }

    public let goal: FreshnessGoal
    /// The age of the newest data, at least 0; `nil` if there is none.
    public let age: Duration?
    /// Why there is nothing newer; `nil` if the newest is new enough.
    public let blame: Blame?

    /// Whether the goal is met; a default goal is also met if no job could deliver more than there
    /// is.
    public var holds: Bool {
        switch (blame, goal.subject) {
        case (nil, _): true
        case (.source, _), (.backend, .insights), (.backend, .profile): goal.isDefault
        default: false
        }
    }

    /// Decides whether a goal is met, and if not, why.
    ///
    /// The goal is met while the newest data is no older than `within`. Otherwise the newest sample
    /// that would meet the goal, but is not delivered, decides: a waiting sample waits for its job
    /// or a login, also one that is older, but newer than all that is delivered. If there is no
    /// such sample, it depends on whether somebody has looked within `within`. If so, there was
    /// nothing new. If not, the cause is the job if it is held back, and otherwise the source. For
    /// pulled data it is the login or the job.
    ///
    /// - Parameter jobs: the jobs of the job file, in its order.
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
        let job = FreshnessVerdict.job(bringing: goal.subject, among: jobs)
        switch goal.subject {
        case .samples:
            blame = FreshnessVerdict.blame(for: facts, since: limit, job, isLoggedIn)
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
        let undelivered = facts.elsewhere.filter { place, end in
            end >= limit || place == .waiting && facts.newest.map { end > $0 } ?? true
        }
        let newest = undelivered.values.max()
        let place = FreshnessFacts.Place.allCases.first {
            undelivered[$0] != nil && undelivered[$0] == newest
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
        // A reading that found nothing new is recorded only as the run that made it.
        let reading = [facts.lastReading, job.lastSuccess].compactMap { $0 }.max()
        if let reading, reading >= limit { return .source(lastReading: reading) }
        return job.isHeldBack ? .job(job) : .source(lastReading: reading)
    }

    /// Returns the job that delivers a subject: the first one with the first of these kinds that
    /// exists.
    static func job(
        bringing subject: FreshnessGoal.Subject, among jobs: [BringingJob]
    ) -> BringingJob? {
        let kinds: [JobKind] =
            switch subject {
            case .samples: [.bulkUpload]
            case .insights: [.insightHistory, .refresh]
            case .profile: [.refresh]
            }
        for kind in kinds {
            if let job = jobs.first(where: { $0.kind == kind }) { return job }
        }
        return nil
    }
}
