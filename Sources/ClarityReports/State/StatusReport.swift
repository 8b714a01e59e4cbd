public import ClarityJobs
public import ClarityScheduler
import ClaritySystem
public import JSON

/// The report of `status`: how fresh everything is, and what is in the way.
public struct StatusReport: Sendable {
    public let rulings: [FreshnessRuling]
    public let backlog: OutboxCounts
    /// When the access token expires; `nil` if nobody is logged in.
    public let session: Instant?
    public let jobs: [BringingJob]
    private let now: Instant

    /// Whether every goal holds and no job is overdue.
    public var holds: Bool { rulings.allSatisfy(\.holds) && !jobs.contains(where: \.isOverdue) }

    /// Creates a report of the goals that the job file names, and of the default goals.
    ///
    /// - Parameters:
    ///   - jobs: every job of the job file.
    ///   - store: `nil` if there is none yet; it is only read.
    public init(
        goals named: [FreshnessGoal], jobs: [BringingJob], store: HealthStore?, now: Instant
    ) throws(HealthStoreError) {
        let session = try store?.sessions.load()
        let others = try store?.arrivedSubjects().filter { subject in
            !named.contains { $0.subject == subject }
        }
        rulings = try (named + FreshnessGoal.defaults(for: others ?? [], jobs: jobs))
            .map { goal throws(HealthStoreError) in
                FreshnessRuling(
                    on: goal, try store?.freshness(of: goal, now: now) ?? FreshnessFacts(),
                    jobs: jobs, isLoggedIn: session != nil, now: now)
            }
        backlog = try store?.outbox.backlog() ?? OutboxCounts()
        self.session = session?.expiresAt
        self.jobs = jobs
        self.now = now
    }
}

// For people.
extension StatusReport {
    /// Returns a line for each goal, then the outbox, the session and the jobs; with `missedOnly`
    /// only the missed goals and the overdue jobs.
    public func lines(missedOnly: Bool) -> [String] {
        let goals = rulings.filter { !missedOnly || !$0.holds }.map(line)
        guard !missedOnly else {
            return (goals + jobs.filter(\.isOverdue).map(line)).map(\.forReport)
        }
        let outbox =
            "outbox: \(backlog.waiting) waiting, \(backlog[.accepted]) accepted, "
            + "\(backlog.forPerson) for a person"
        let session =
            "session: " + (session.map { "logged in, access until \($0)" } ?? "nobody is logged in")
        let head = goals.isEmpty ? ["no goals: the job file has no `fresh`"] : goals
        return (head + [outbox, session] + jobs.map(line)).map(\.forReport)
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
    /// Returns an object with `holds`, `goals`, `outbox`, `session` and `jobs`; with `missedOnly`
    /// only `holds`, the missed goals and the overdue jobs.
    public func object(missedOnly: Bool) -> JSON {
        var all = [
            JSON.Member(name: "holds", value: .bool(holds)),
            JSON.Member(name: "goals", value: .array(goals(missedOnly).map { .object($0) })),
        ]
        if !missedOnly {
            all += [
                JSON.Member(name: "outbox", value: .object(outbox)),
                JSON.Member(name: "session", value: .object(sessionMembers)),
            ]
        }
        all.append(
            JSON.Member(name: "jobs", value: .array(jobs(missedOnly).map { .object($0) })))
        return .object(all)
    }

    /// Returns the same as separate objects, distinguished by `what`: `goal`, `outbox`, `session`,
    /// `job`.
    public func objects(missedOnly: Bool) -> [JSON] {
        let state = missedOnly ? [] : [("outbox", outbox), ("session", sessionMembers)]
        let all =
            goals(missedOnly).map { ("goal", $0) } + state + jobs(missedOnly).map { ("job", $0) }
        return all.map { what, members in
            .object([JSON.Member(name: "what", value: .string(what))] + members)
        }
    }

    private func goals(_ missedOnly: Bool) -> [[JSON.Member]] {
        rulings.filter { !missedOnly || !$0.holds }.map(members)
    }

    private func jobs(_ missedOnly: Bool) -> [[JSON.Member]] {
        jobs.filter { !missedOnly || $0.isOverdue }.map(members)
    }

    private func members(_ ruling: FreshnessRuling) -> [JSON.Member] {
        [
            JSON.Member(name: "goal", value: .string(ruling.goal.subject.name)),
            JSON.Member(name: "holds", value: .bool(ruling.holds)),
            JSON.Member(name: "default", value: .bool(ruling.goal.isDefault)),
            JSON.Member(
                name: "within_seconds", value: .integer(ruling.goal.within.milliseconds / 1000)),
            JSON.Member(
                name: "age_seconds",
                value: ruling.age.map { .integer($0.milliseconds / 1000) } ?? .null),
            JSON.Member(name: "blame", value: .text(ruling.blame?.name)),
            JSON.Member(name: "why", value: .text(ruling.blame.map(words)?.forReport)),
        ]
    }

    private var outbox: [JSON.Member] {
        [
            JSON.Member(name: "waiting", value: .integer(backlog.waiting)),
            JSON.Member(name: "accepted", value: .integer(backlog[.accepted])),
            JSON.Member(name: "for_person", value: .integer(backlog.forPerson)),
        ]
    }

    private var sessionMembers: [JSON.Member] {
        [
            JSON.Member(name: "logged_in", value: .bool(session != nil)),
            JSON.Member(name: "access_until", value: .text(session)),
        ]
    }

    private func members(_ job: BringingJob) -> [JSON.Member] {
        [
            JSON.Member(name: "job", value: .string(job.id)),
            JSON.Member(name: "last_success", value: .text(job.lastSuccess)),
            JSON.Member(name: "state", value: .string(job.status.forReport)),
            JSON.Member(name: "overdue", value: .bool(job.isOverdue)),
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
