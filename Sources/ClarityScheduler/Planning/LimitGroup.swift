/// A group of jobs that share limits: how many of their attempts run at once, and how many start in
/// a span of time. Its name and limits are those of the job file, for the jobs of all accounts.
public struct LimitGroup: Hashable, Sendable {
    public var name: String
    /// The maximum number of attempts at the same time; `nil` for no limit.
    public var atOnce: Int?
    /// The maximum number of starts in any span of this length; retries count as starts. `nil` for
    /// no limit.
    public var rate: Rate?

    /// Creates a group.
    public init(_ name: String, atOnce: Int? = nil, rate: Rate? = nil) {
        self.name = name
        self.atOnce = atOnce
        self.rate = rate
    }

    /// The subject of the deferral of a run that waits for a place in the group.
    var subject: String { Deferral.groupPrefix + name }
}

extension Deferral {
    /// How the subject of a deferral begins that a group causes.
    fileprivate static let groupPrefix = "group "

    /// The name of the group in which the run waits for a place; `nil` for another deferral.
    public var group: String? {
        subject.hasPrefix(Deferral.groupPrefix)
            ? String(subject.dropFirst(Deferral.groupPrefix.count)) : nil
    }
}

/// The start of an attempt, for the limits of groups.
public struct AttemptStart: Hashable, Sendable {
    public var job: JobID
    public var at: Instant

    /// Creates a start.
    public init(of job: JobID, at instant: Instant) {
        self.job = job
        at = instant
    }
}

/// Which starts of attempts a decision has to know. Most decisions need none.
public struct StartRecall: Hashable, Sendable {
    /// The declared ids of the jobs, without their accounts.
    public var jobs: Set<JobID>
    /// Only starts after this instant.
    public var since: Instant

    /// Creates a recall.
    public init(jobs: Set<JobID>, since: Instant) {
        self.jobs = jobs
        self.since = since
    }
}

/// The groups of the jobs of a set, by their declared ids: all accounts share them.
struct LimitedJobs: Hashable, Sendable {
    private var groups: [JobID: [LimitGroup]] = [:]
    private var rated: Set<JobID> = []
    private var longest = Duration.zero

    mutating func note(_ jobs: [Job]) {
        for index in jobs.indices where !jobs[index].groups.isEmpty {
            let job = jobs[index]
            groups[job.id] = job.groups
            let spans = job.groups.compactMap(\.rate?.span)
            guard let span = spans.max() else { continue }
            rated.insert(job.id)
            longest = max(longest, span)
        }
    }

    var isEmpty: Bool { groups.isEmpty }

    subscript(job: JobID) -> [LimitGroup] { groups[job.declared] ?? [] }

    func recall(at now: Instant) -> StartRecall? {
        rated.isEmpty ? nil : StartRecall(jobs: rated, since: now - longest)
    }
}

extension Planner {
    /// Returns the starts that a decision about events has to know; `nil` for none.
    public func recall(for events: [Event] = [], at now: Instant) -> StartRecall? {
        var jobs = jobs
        for case .reload(let others, _) in events { jobs = others }
        return jobs.recall(at: now)
    }
}
