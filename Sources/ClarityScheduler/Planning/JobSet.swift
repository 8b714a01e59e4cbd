/// The jobs of one account, or those of a job file without accounts.
public struct JobGroup: Hashable, Sendable {
    /// `nil` in a job file without accounts.
    public var account: AccountID?
    /// The jobs as declared: their ids and those that they name have no account. Accounts that
    /// declare nothing of their own share one array.
    public var jobs: [Job]
    /// The sections that the account has in place of the file's, such as its sources.
    public var sections: SectionValues
    /// The options of every group, in which `accountMark` stands for the account's id. They win.
    public var common: [String: String] = [:]
    /// The identity of the machine, which determines each account's delay.
    public var host: String

    /// What stands for an account's id in `common`; no path and no id contains it.
    public static let accountMark = "\0"

    /// Creates a group.
    public init(
        account: AccountID? = nil, jobs: [Job], sections: SectionValues = SectionValues(),
        host: String = ""
    ) {
        self.account = account
        self.jobs = jobs
        self.sections = sections
        self.host = host
    }

    /// The number of the job with a declared id.
    func index(of id: JobID) -> Int? { jobs.indices.first { jobs[$0].id == id } }

    func id(at index: Int) -> JobID { JobID(account, jobs[index].id) }

    /// Returns the schedule of the job with an id; `nil` if there is no such job or schedule.
    public func schedule(of id: JobID) -> Schedule? {
        id.account == account ? index(of: id.declared).flatMap(schedule) : nil
    }

    /// The schedule of a job, with the account's delay.
    func schedule(at index: Int) -> Schedule? {
        delayed(jobs[index].schedule, jobs[index].accountSpread, id(at: index))
    }

    /// The job as the planner sees it: with the account in all ids, and the account's delay.
    func job(at index: Int) -> Job {
        var job = jobs[index]
        guard account != nil else { return job }
        job.id = id(at: index)
        job.schedule = delayed(job.schedule, job.accountSpread, job.id)
        job.then = job.then.map { JobID(account, $0) }
        job.thenFailed = job.thenFailed.map { JobID(account, $0) }
        return job
    }

    /// The jobs as the planner sees them, each with all its options.
    public var wholeJobs: [Job] {
        jobs.indices.map { index in
            var job = job(at: index)
            job.options = options(at: index)
            return job
        }
    }

    /// The options of a job: those of the group win.
    func options(at index: Int) -> [String: String] {
        let common = common.mapValues {
            $0.replacing(JobGroup.accountMark, with: account?.rawValue ?? "")
        }
        // Without accounts, each job has the file's sections already.
        let own = account == nil ? [:] : sections.options
        return jobs[index].options.merging(own) { $1 }.merging(common) { $1 }
    }

    private func delayed(_ schedule: Schedule?, _ spread: Duration, _ id: JobID) -> Schedule? {
        guard account != nil, spread > .zero, var schedule else { return schedule }
        schedule.delay = stableDelay(within: spread, host: host, job: id)
        return schedule
    }
}

/// The jobs to plan for, by id, account and place.
///
/// Jobs are declared once and planned for each account; a job of an account is made when it is
/// asked for, so that fifty thousand of them take no more memory than their places.
public struct JobSet: Hashable, Sendable {
    /// Where a group's jobs are.
    private struct Span: Hashable, Sendable {
        var group: JobGroup
        /// The place of the first job; the others follow.
        var first: Int

        var places: Range<Int> { first..<(first + group.jobs.count) }

        /// Returns the places whose jobs differ from those of a group with as many jobs.
        func placesChanged(to other: JobGroup) -> [Int] {
            let isSame = group.host == other.host
            // Arrays that are one and the same are equal at once.
            if isSame, group.jobs == other.jobs { return [] }
            return places.filter { !isSame || group.jobs[$0 - first] != other.jobs[$0 - first] }
        }
    }

    private var spans: [Span] = []
    private var indices: [AccountID?: Int] = [:]
    /// The numbers of the jobs of a job file without accounts, if there are more than `few`: each
    /// decision looks up the job of each run that waits.
    private var numbers: [JobID: Int] = [:]
    private static let few = 32
    /// The index of the group at each place; -1 where a group was that is gone.
    private var owners: [Int32] = []
    /// The indices of the groups with each source, if a job waits for its change.
    private var readers: [String: [Int]] = [:]

    /// The groups that limit the jobs.
    private var limited = LimitedJobs()
    /// The set from which `replacing` made this one, and the places whose jobs differ.
    private var lineage = Lineage<Set<Int>>()

    /// The groups of the set.
    package var groups: [JobGroup] { spans.map(\.group) }

    /// Creates a set of whole jobs; no two may have the same id.
    public init(_ jobs: [Job]) {
        var groups: [JobGroup] = []
        var places: [AccountID?: Int] = [:]
        for job in jobs {
            let account = job.id.account
            let place = places[account] ?? groups.count
            if place == groups.count {
                places[account] = place
                groups.append(JobGroup(account: account, jobs: []))
            }
            var declared = job
            declared.id = job.id.declared
            declared.then = job.then.map(\.declared)
            declared.thenFailed = job.thenFailed.map(\.declared)
            // Its schedule has the delay already.
            declared.accountSpread = .zero
            groups[place].jobs.append(declared)
        }
        self.init(groups)
    }

    /// Creates a set; no two groups may have the same account.
    ///
    /// - Parameter former: the set that this one replaces. A group keeps its places if it has as
    ///   many jobs as before.
    public init(_ groups: [JobGroup], replacing former: JobSet? = nil) {
        // Holes are worth it while they are few.
        let former = former.flatMap { former in
            former.owners.count <= 2 * groups.reduce(0) { $0 + $1.jobs.count } ? former : nil
        }
        owners = [Int32](repeating: -1, count: former?.owners.count ?? 0)
        spans.reserveCapacity(groups.count)
        for (index, group) in groups.enumerated() {
            var first = owners.count
            if let known = former?.span(of: group.account),
                known.group.jobs.count == group.jobs.count
            {
                first = known.first
            } else {
                owners += [Int32](repeating: -1, count: group.jobs.count)
            }
            let span = Span(group: group, first: first)
            for place in span.places { owners[place] = Int32(index) }
            spans.append(span)
            // Accounts that declare nothing of their own share one array.
            if index == 0 || group.jobs != groups[index - 1].jobs { limited.note(group.jobs) }
            precondition(
                indices.updateValue(index, forKey: group.account) == nil,
                "each account has one group of jobs, got two")
            if group.account == nil, group.jobs.count > JobSet.few {
                numbers = Dictionary(
                    group.jobs.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { one, _ in one }
                )
            }
            for path in group.sourcesInWait { readers[path, default: []].append(index) }
        }
    }

    /// Returns the set with other groups of some of its accounts, which costs nothing for the other
    /// accounts.
    ///
    /// - Returns: `nil` if more would change than jobs at their places: which accounts there are, the
    ///   number of an account's jobs, their limits, or which sources they wait for.
    public func replacing(_ groups: [JobGroup]) -> JobSet? {
        var set = self
        var changed: Set<Int> = []
        for group in groups {
            guard group.account != nil, let index = indices[group.account] else { return nil }
            let span = spans[index]
            guard span.group.jobs.map(\.id) == group.jobs.map(\.id),
                span.group.jobs.map(\.groups) == group.jobs.map(\.groups),
                span.group.sourcesInWait == group.sourcesInWait
            else { return nil }
            set.spans[index].group = group
            changed.formUnion(span.placesChanged(to: group))
        }
        set.lineage = Lineage(of: changed, after: lineage)
        return set
    }

    // MARK: By place

    /// The places of jobs: some may be empty.
    var places: Range<Int> { owners.indices }

    /// Returns the job at a place; `nil` if the place is empty.
    func job(at place: Int) -> Job? {
        owner(of: place).map { $0.group.job(at: place - $0.first) }
    }

    /// Returns the id of the job at a place and its schedule; `nil` if there is none.
    func schedule(at place: Int) -> (id: JobID, schedule: Schedule)? {
        guard let span = owner(of: place),
            let schedule = span.group.schedule(at: place - span.first)
        else { return nil }
        return (span.group.id(at: place - span.first), schedule)
    }

    /// Returns the places whose job is not the same as in a former set; those of former jobs that
    /// are gone are among them.
    func places(changedSince former: JobSet) -> Set<Int> {
        if let known = lineage.changes(since: former.lineage) { return known }
        var changed: Set<Int> = []
        for span in spans {
            let known = former.span(of: span.group.account)
            let isSame = known?.first == span.first && known?.group.host == span.group.host
            // Arrays that are one and the same are equal at once.
            if isSame, known?.group.jobs == span.group.jobs { continue }
            let jobs = isSame ? known?.group.jobs ?? [] : []
            changed.formUnion(
                span.group.jobs.indices.filter { index in
                    index >= jobs.count || jobs[index] != span.group.jobs[index]
                }.map { span.first + $0 })
        }
        for span in former.spans {
            let now = self.span(of: span.group.account)
            changed.formUnion(
                now?.first == span.first
                    ? span.places.dropFirst(now?.group.jobs.count ?? 0) : span.places)
        }
        return changed
    }

    private func owner(of place: Int) -> Span? {
        let index = owners[place]
        return index < 0 ? nil : spans[Int(index)]
    }

    /// Returns the first occurrence of any job after an instant.
    ///
    /// - Parameter anchor: returns the anchor of a job; `nil` if it was never planned.
    public func next(
        after now: Instant, anchor: (JobID) -> Instant?
    ) -> (at: Instant, job: JobID)? {
        places.compactMap { place -> (at: Instant, job: JobID)? in
            guard let (id, schedule) = schedule(at: place) else { return nil }
            return schedule.next(after: now, anchor: anchor(id) ?? now).map { ($0, id) }
        }.min { $0.at < $1.at }
    }

    // MARK: By id and account

    /// All jobs, each with all its options, account by account in the order of the job file.
    public var jobs: [Job] { spans.flatMap { $0.group.wholeJobs } }

    /// The number of all jobs.
    public var count: Int { spans.reduce(0) { $0 + $1.group.jobs.count } }

    /// The number of accounts; 1 for a job file without accounts.
    var accountCount: Int { spans.count }

    public subscript(id: JobID) -> Job? {
        guard let (group, index) = find(id) else { return nil }
        return group.job(at: index)
    }

    /// Returns the groups that limit a job; `nil` if the set does not have the job.
    func limitGroups(of id: JobID) -> [LimitGroup]? {
        find(id).map { $0.group.jobs[$0.index].groups }
    }

    /// Returns the groups that limit a job of any account, of which the set may have others only: the
    /// accounts share what the job file declares.
    func limitGroups(ofAny id: JobID) -> [LimitGroup] {
        limited.isEmpty ? [] : limitGroups(of: id) ?? limited[id]
    }

    /// Returns the starts that the limits of the jobs' groups depend on; `nil` for none.
    public func recall(at now: Instant) -> StartRecall? { limited.recall(at: now) }

    /// Returns the sources of an account, or those of a job file without accounts.
    public func sourcePaths(of account: AccountID?) -> [String] {
        span(of: account)?.group.sections.sourcePaths ?? []
    }

    /// The accounts that have a source.
    var accountsWithSources: Set<AccountID> {
        Set(spans.compactMap { $0.group.sections.sourcePaths.isEmpty ? nil : $0.group.account })
    }

    /// Returns the priority of a job.
    func priority(of id: JobID) -> Job.Priority? {
        find(id).map { $0.group.jobs[$0.index].priority }
    }

    /// Returns the options that the worker of a job gets.
    func options(of id: JobID) -> [String: String] {
        find(id).map { $0.group.options(at: $0.index) } ?? [:]
    }

    private func find(_ id: JobID) -> (group: JobGroup, index: Int)? {
        guard let group = span(of: id.account)?.group else { return nil }
        let isIndexed = id.account == nil && !numbers.isEmpty
        let index = isIndexed ? numbers[id] : group.index(of: id.declared)
        return index.map { (group, $0) }
    }

    private func span(of account: AccountID?) -> Span? { indices[account].map { spans[$0] } }

    // MARK: By event

    /// Whether a job of any account names an event in `on:`.
    func hasJobs(on event: EventName) -> Bool {
        spans.contains { $0.group.jobs.contains { $0.events.contains(event) } }
    }

    /// Returns the jobs that name an event in `on:`, in the order of the job file.
    public func jobs(on event: EventName) -> [Job] {
        spans.flatMap { $0.group.jobs(on: event) }
    }

    /// Returns the jobs of an account that name an event in `on:`.
    func jobs(on event: EventName, of account: AccountID?) -> [Job] {
        span(of: account)?.group.jobs(on: event) ?? []
    }

    /// Returns the jobs that wait for a change of one of these sources; without accounts, each job
    /// that waits for one.
    func jobs(reading paths: Set<String>) -> [Job] {
        guard indices[nil as AccountID?] == nil else { return jobs(on: .sourceChanged) }
        let groups = Set(paths.flatMap { readers[$0] ?? [] })
        return groups.sorted().flatMap { spans[$0].group.jobs(on: .sourceChanged) }
    }
}

extension JobGroup {
    /// The sources whose change a job of the group waits for.
    fileprivate var sourcesInWait: [String] {
        jobs.contains { $0.events.contains(.sourceChanged) } ? sections.sourcePaths : []
    }

    func jobs(on event: EventName) -> [Job] {
        jobs.indices.filter { jobs[$0].events.contains(event) }.map { job(at: $0) }
    }
}

/// From which value another one was made, and what differs, so that nobody has to compare them.
///
/// It says nothing about the value itself: any two are equal.
package struct Lineage<Changes: ExpressibleByArrayLiteral & Sendable>: Hashable, Sendable {
    /// Stands for one value; copies of the value share it.
    private final class Mark: Sendable {}

    private let mark = Mark()
    private let former: (mark: Mark, changes: Changes)?

    /// Creates the lineage of a value that was made from no other.
    package init() { former = nil }

    /// Creates the lineage of a value that differs from a former one by `changes`.
    package init(of changes: Changes, after former: Lineage) {
        self.former = (former.mark, changes)
    }

    /// Returns what differs from another value; `nil` if that has to be found by comparing.
    package func changes(since other: Lineage) -> Changes? {
        if mark === other.mark { return [] }
        return former?.mark === other.mark ? former?.changes : nil
    }

    package static func == (_: Lineage, _: Lineage) -> Bool { true }

    package func hash(into _: inout Hasher) {}
}
