import HealthModel
public import HealthStore
public import ClarityScheduler
import Platform
public import JSON

/// The report of `status`: how fresh everything is, and what is in the way.
public struct StatusReport: Sendable {
    public let rulings: [FreshnessRuling]
    public let backlog: OutboxCounts
    /// When the access token expires; `nil` if nobody is logged in.
    public let session: Instant?
    /// Since when the backend has refused to renew the session.
    private let refusedSince: Instant?
    public let jobs: [BringingJob]
    private let installation: Installation
    private let now: Instant

    /// Whether every goal holds, no job is overdue, and of the loops that run one decides.
    public var holds: Bool {
        rulings.allSatisfy(\.holds) && !jobs.contains(where: \.isOverdue)
            && !installation.isLeaderless
    }

    /// Creates a report of the goals that the job file names, and of the default goals.
    ///
    /// - Parameters:
    ///   - jobs: every job of the job file.
    ///   - store: `nil` if there is none yet; it is only read.
    public init(
        goals named: [FreshnessGoal], jobs: [BringingJob], store: HealthStore?,
        installation: Installation, now: Instant
    ) throws(HealthStoreError) {
        let session = try store?.sessions.load()
        let refusedSince = try store?.sessions.refusedSince(at: now)
        let others = try store?.arrivedSubjects().filter { subject in
            !named.contains { $0.subject == subject }
        }
        rulings = try (named + FreshnessGoal.defaults(for: others ?? [], jobs: jobs))
            .map { goal throws(HealthStoreError) in
                FreshnessRuling(
                    on: goal, try store?.freshness(of: goal, now: now) ?? FreshnessFacts(),
                    jobs: jobs, isLoggedIn: session != nil && refusedSince == nil, now: now)
            }
        backlog = try store?.outbox.backlog() ?? OutboxCounts()
        self.session = session?.expiresAt
        self.refusedSince = refusedSince
        self.jobs = jobs
        self.installation = installation
        self.now = now
    }
}

// For people.
extension StatusReport {
    /// Returns a line for each goal, then the outbox, the session, the jobs and the installation;
    /// with `missedOnly` only the missed goals and the overdue jobs.
    public func lines(missedOnly: Bool) -> [String] {
        let goals = rulings.filter { !missedOnly || !$0.holds }.map(line)
        guard !missedOnly else {
            let leader = installation.isLeaderless ? [Installation.leaderless] : []
            return (goals + jobs.filter(\.isOverdue).map(line) + leader).map(\.forReport)
        }
        let outbox =
            "outbox: \(backlog.waiting) waiting, \(backlog[.accepted]) accepted, "
            + "\(backlog.forPerson) for you to decide"
        let head = goals.isEmpty ? ["no goals: the job file has no `fresh`"] : goals
        return (head + [outbox, sessionLine] + jobs.map(line) + installation.lines).map(\.forReport)
    }

    private var sessionLine: String {
        if let refusedSince {
            return "session: the backend has refused to renew it since \(refusedSince); see "
                + "`clarity-jobs auth login`"
        }
        guard let session else { return "session: nobody is logged in" }
        return session > now
            ? "session: logged in, access until \(session)"
            : "session: logged in, the next job renews the access that expired at \(session)"
    }

    private func line(_ ruling: FreshnessRuling) -> String {
        let wanted =
            "wanted within \(ruling.goal.within.text)\(ruling.goal.isDefault ? " by default" : "")"
        let age = ruling.age.map { "\(StatusReport.text($0)) old" } ?? "none yet"
        let name = ruling.goal.subject.name
        guard let blame = ruling.blame else { return "\(name): holds: \(age), \(wanted)" }
        return "\(name): \(ruling.holds ? "holds" : "missed"): \(age), \(wanted): \(words(blame))"
    }

    private func words(_ blame: FreshnessRuling.Blame) -> String {
        switch blame {
        case .source(nil): "no source was ever read"
        case .source(let reading?):
            "nothing newer was there when the sources were read at \(reading)"
        case .job(let job): "job `\(job.id)` \(job.status)"
        case .backend: "the backend has not confirmed or made anything newer"
        case .person(let place):
            "newer samples are \(place.rawValue) and want a person: see `clarity-jobs outbox`"
        case .login where refusedSince != nil:
            "the backend refuses to renew the session: see `clarity-jobs auth login`"
        case .login: "nobody is logged in: see `clarity-jobs auth login`"
        case .noJob: "no job of the job file brings it"
        }
    }

    private func line(_ job: BringingJob) -> String {
        let success = job.lastSuccess.map {
            "succeeded \(StatusReport.text(max(now - $0, .zero))) ago"
        }
        return "\(job.id): \(success ?? "no success yet"); \(job.status)"
    }

    /// Returns a span in whole minutes if it is an hour or longer, else in seconds.
    private static func text(_ span: Duration) -> String {
        let seconds = span.milliseconds / 1000
        return Duration.seconds(seconds >= 3600 ? seconds / 60 * 60 : seconds).text
    }
}

// For programs.
extension StatusReport {
    /// Returns an object with `holds`, `goals`, `outbox`, `session`, `jobs` and `installation`; with
    /// `missedOnly` only `holds`, the missed goals and the overdue jobs.
    public func object(missedOnly: Bool) -> JSON {
        let head: JSON = ["holds": .bool(holds), "goals": .array(goals(missedOnly))]
        return head.adding(missedOnly ? [:] : ["outbox": outbox, "session": sessionObject])
            .adding(["jobs": .array(jobs(missedOnly))])
            .adding(missedOnly ? [:] : ["installation": installation.object])
    }

    /// Returns the same as separate objects, distinguished by `what`: `goal`, `outbox`, `session`,
    /// `job`, `installation`.
    public func objects(missedOnly: Bool) -> [JSON] {
        let state = missedOnly ? [] : [("outbox", outbox), ("session", sessionObject)]
        let all =
            goals(missedOnly).map { ("goal", $0) } + state + jobs(missedOnly).map { ("job", $0) }
            + (missedOnly ? [] : [("installation", installation.object)])
        return all.map { what, object in
            let head: JSON = ["what": .string(what)]
            return head.adding(object)
        }
    }

    private func goals(_ missedOnly: Bool) -> [JSON] {
        rulings.filter { !missedOnly || !$0.holds }.map { ruling in
            [
                "goal": .string(ruling.goal.subject.name), "holds": .bool(ruling.holds),
                "default": .bool(ruling.goal.isDefault),
                "within_seconds": .integer(ruling.goal.within.milliseconds / 1000),
                "age_seconds": .integer(optional: ruling.age.map { $0.milliseconds / 1000 }),
                "blame": .text(ruling.blame?.name),
                "why": .text(ruling.blame.map(words)?.forReport),
            ]
        }
    }

    private func jobs(_ missedOnly: Bool) -> [JSON] {
        jobs.filter { !missedOnly || $0.isOverdue }.map { job in
            [
                "job": .string(job.id), "last_success_at": .text(job.lastSuccess),
                "words": .string(job.status.forReport), "overdue": .bool(job.isOverdue),
            ]
        }
    }

    private var outbox: JSON {
        [
            "waiting": .integer(backlog.waiting), "accepted": .integer(backlog[.accepted]),
            "for_person": .integer(backlog.forPerson),
        ]
    }

    private var sessionObject: JSON {
        [
            "logged_in": .bool(session != nil && refusedSince == nil), "expires_at": .text(session),
            "renewal_refused_since": .text(refusedSince),
        ]
    }
}

extension FreshnessRuling.Blame {
    /// A word for programs.
    fileprivate var name: String {
        switch self {
        case .source: "source"
        case .job: "job"
        case .backend: "backend"
        case .person: "person"
        case .login: "login"
        case .noJob: "no_job"
        }
    }
}
