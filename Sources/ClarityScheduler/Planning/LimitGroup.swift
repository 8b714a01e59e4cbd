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
        for case .reload(let others, _, _) in events { jobs = others }
        return jobs.recall(at: now)
    }
}

// The groups of jobs that limit how many of their attempts run at once, and how many start in a time.
extension PlanBuilder {
    /// What a group has taken: counted when a run first needs it, and kept up to date from then on.
    struct GroupUse {
        /// The running attempts, in all processes that share the state.
        var running: [SlotHolder]
        /// Whether one of them is of another process.
        var isHeldElsewhere: Bool
        /// The runs before the one that is looked at which keep a place.
        var kept: [SlotHolder] = []
        /// The starts that count, oldest first.
        var starts: [Instant]
        /// The deferrals of each account's runs, while nothing changes.
        var deferrals: [AccountID?: Deferral] = [:]
    }

    /// Returns what keeps a run of the job from a place in its groups; empty if each has one.
    ///
    /// Force makes no place, as with `max_parallel`.
    mutating func groupDeferrals(of job: Job) -> [Deferral] {
        var deferrals: [Deferral] = []
        for group in job.groups {
            if let deferral = deferral(in: group, for: job.id.account) {
                deferrals.append(deferral)
            }
        }
        return deferrals
    }

    /// Counts a place in each of the job's groups as taken for the rest of this decision.
    ///
    /// A run that waits only for the end of attempts keeps its places in its other groups. Else
    /// runs of one group after it could keep a run of two groups waiting for ever.
    mutating func keepPlaces(of run: Run, _ job: Job, _ words: String) {
        for group in job.groups {
            var use = groupUse[group.name] ?? use(of: group)
            use.kept.append(SlotHolder(job: job.id, words: "run \(run.id) of \(job.id) \(words)"))
            use.deferrals = [:]
            groupUse[group.name] = use
        }
    }

    /// Counts an attempt that starts now.
    mutating func noteStart(of run: Run, _ job: Job) {
        for group in job.groups {
            // Before the attempt is in flight.
            var use = groupUse[group.name] ?? use(of: group)
            use.running.append(SlotHolder(job: job.id, words: "run \(run.id) of \(job.id)"))
            use.starts.append(moment.wall)
            use.starts.sort()
            use.deferrals = [:]
            groupUse[group.name] = use
        }
    }

    /// Returns when a group that starts too many attempts has the next place.
    mutating func nextPlace(in group: LimitGroup) -> Instant? {
        guard let rate = group.rate else { return nil }
        let use = groupUse[group.name] ?? use(of: group)
        let index = use.starts.count + use.kept.count - rate.count
        return use.starts.indices.contains(index) ? use.starts[index] + rate.span : nil
    }

    private mutating func deferral(in group: LimitGroup, for account: AccountID?) -> Deferral? {
        let use = groupUse[group.name] ?? use(of: group)
        groupUse[group.name] = use
        if let known = use.deferrals[account] { return known }
        let found = deferral(in: group, use, for: account)
        if let found { groupUse[group.name]?.deferrals[account] = found }
        return found
    }

    private mutating func deferral(
        in group: LimitGroup, _ use: GroupUse, for account: AccountID?
    ) -> Deferral? {
        func taken(_ count: Int, by holders: [SlotHolder]) -> String {
            let named = holders.isEmpty ? "" : ": \(PlanBuilder.names(of: holders, for: account))"
            let kept =
                use.kept.isEmpty
                ? ""
                : ", and \(use.kept.count) reserved: "
                    + PlanBuilder.names(of: use.kept, for: account)
            return "\(count)\(named)\(kept)"
        }
        let source = use.kept.isEmpty ? "leases of this state directory" : Deferral.kept
        if let atOnce = group.atOnce, use.running.count + use.kept.count >= atOnce {
            // Another process announces the end of its attempt at once, unless it dies.
            if use.isHeldElsewhere { wake(after: Planner.recheck) }
            return Deferral(
                .overlap, subject: group.subject,
                wanted: "fewer than \(atOnce) attempts of the group at once",
                measured: taken(use.running.count, by: use.running), source: source)
        }
        guard let rate = group.rate, use.starts.count + use.kept.count >= rate.count else {
            return nil
        }
        let noun = rate.count == 1 ? "start" : "starts"
        let limit = "\(rate.count) \(noun) within \(rate.span.text)"
        guard let next = nextPlace(in: group) else {
            return Deferral(
                .overlap, subject: group.subject, wanted: "fewer than \(limit)",
                measured: taken(use.starts.count, by: []), source: source)
        }
        wake(after: next - moment.wall)
        return Deferral(
            .backoff, subject: group.subject, wanted: "\(next) or later",
            measured: limit, source: "history")
    }

    private mutating func use(of group: LimitGroup) -> GroupUse {
        let name = group.name
        let running = slotHolders.filter { holder in
            holder.groups.contains { $0.name == name }
        }
        var starts: [Instant] = []
        if let span = group.rate?.span {
            // A start further ahead dates from before the clock was set back.
            starts = ledger.starts.filter { start in
                moment.wall - start.at < span && start.at - moment.wall < span
                    && planner.jobs.limitGroups(ofAny: start.job).contains { $0.name == name }
            }.map(\.at).sorted()
        }
        return GroupUse(
            running: running, isHeldElsewhere: running.contains(where: \.isElsewhere),
            starts: starts)
    }
}

extension Deferral {
    /// The source of a deferral by runs that keep a place in a group.
    static let kept = "a run that comes before"

    /// Whether the run waits only for a place, of a machine, of all of them or in a group.
    var isForPlace: Bool { isForSlot || group != nil }

    /// Whether the run waits for the end of another attempt, whichever it is.
    package var isForSlot: Bool {
        subject == PlanBuilder.maxParallel || subject == PlanBuilder.maxParallelTotal
    }
}

extension [Deferral] {
    /// Whether a run with these deferrals waits for nothing but places.
    var areForPlaces: Bool { !isEmpty && allSatisfy(\.isForPlace) }

    /// Whether these deferrals differ from others at most in who holds the places.
    func areForSamePlaces(as others: [Deferral]) -> Bool {
        areForPlaces && count == others.count
            && zip(self, others).allSatisfy { one, other in
                one.cause == other.cause && one.wanted == other.wanted
                    && !one.isForReservation && !other.isForReservation
            }
    }
}
