/// The part of the store that a decision needs: the records of the jobs, and the unfinished runs.
///
/// `apply` alone defines what a change does to a ledger. The stores use it, and so does a
/// simulation, which has no store.
public struct Ledger: Hashable, Sendable {
    public private(set) var jobs = JobRecords()
    /// The runs that are not finished.
    public private(set) var open: [RunID: Run] = [:]
    /// The deferrals of each unfinished run, as last recorded.
    public private(set) var waits: [RunID: [Deferral]] = [:]
    /// The id of the next new run.
    public private(set) var nextRun = RunID(1)
    /// When the history was last pruned, and up to which run; `nil` before the first time.
    public private(set) var pruned: PruneMark?
    /// The boot of the machine for which runs were last enqueued; `nil` before the first.
    public private(set) var boot: String?
    /// The last known fingerprint of each source, by path.
    public private(set) var sources: [String: SourceFingerprint] = [:]
    /// How often the clocks of jobs were set back, all together. What was planned by them before
    /// has to be planned again.
    public private(set) var setbacks = 0
    /// The starts of attempts that `recall` names, in no order; empty without it.
    public private(set) var starts: [AttemptStart] = []
    /// Which starts the ledger has.
    public private(set) var recall: StartRecall?
    /// The part of this process among the loops that share the store.
    public var role = LoopRole.alone
    /// The machines of the other loops, by name; empty unless this process is the leader.
    public var machines: [Machine] = []
    /// The attempts that are placed on machines and not settled; for a follower, its own.
    public var placements: [RunID: Placement] = [:]
    private var openByJob: [JobID: [RunID]] = [:]

    /// Creates an empty ledger.
    public init() {}

    /// Creates a ledger from the contents of a store.
    public init(
        jobs: [JobID: JobRecord], open: [Run] = [], waits: [RunID: [Deferral]] = [:],
        nextRun: RunID = RunID(1), pruned: PruneMark? = nil, boot: String? = nil,
        sources: [String: SourceFingerprint] = [:]
    ) {
        for (job, record) in jobs { setRecord(record, of: job) }
        replaceAllButRecords(
            open: open, waits: waits, nextRun: nextRun, pruned: pruned, boot: boot,
            sources: sources)
    }

    /// Returns the latest instant, not after `now`, at which a scheduler left a trace; `nil` if
    /// there is none.
    public func lastLook(before now: Instant) -> Instant? {
        let ofJobs = jobs.values.flatMap { [$0.clock?.considered, $0.lastFinished] }
        let ofRuns = open.values.flatMap { [$0.enqueuedAt, $0.startedAt] }
        return (ofJobs + ofRuns).compactMap { $0 }.filter { $0 <= now }.max()
    }

    /// The accounts of which a run waits for a login or a source.
    public var accountsInNeed: Set<AccountID> {
        Set(
            open.values.compactMap { run in
                run.needs == .login || run.needs == .source ? run.job.account : nil
            })
    }

    /// Returns the ids of a job's unfinished runs, oldest first.
    public func openRuns(of job: JobID) -> [RunID] { openByJob[job] ?? [] }

    /// Applies a change to the present; the history, such as attempts, is not part of the ledger.
    public mutating func apply(_ change: LedgerChange) {
        switch change {
        case .setClock(let job, let clock):
            note(clock, after: jobs[job]?.clock)
            jobs[recorded: job].clock = clock
        case .setBoot(let boot): self.boot = boot
        case .setSource(let path, let fingerprint): sources[path] = fingerprint
        case .setPause(let job, let pause): jobs[recorded: job].pause = pause
        case .setRetryAfter(let job, let instant):
            jobs[recorded: job].retryAfter = instant
        case .put(let run): put(run)
        case .requestStop(let run, let reason):
            // The first request wins.
            if open[run]?.stopRequest == nil { open[run]?.stopRequest = reason }
        case .deferred(let run, let deferrals, at: _):
            waits[run] = deferrals.isEmpty ? nil : deferrals
        case .prune(_, let instant):
            pruned = PruneMark(at: instant, through: RunID(nextRun.rawValue - 1))
        case .putAttempt(let attempt):
            guard attempt.result == .running, let recall, let job = open[attempt.run]?.job,
                recall.jobs.contains(job.declared)
            else { return }
            starts.append(AttemptStart(of: job, at: attempt.startedAt))
        case .recordOutcome, .putFacts, .placing: break
        }
    }

    /// Makes the ledger have the starts that a decision has to know.
    ///
    /// - Parameters:
    ///   - isStale: whether another process may have started attempts since the last call.
    ///   - read: returns the starts, from the store.
    public mutating func recall<Fault>(
        _ wanted: StartRecall?, isStale: Bool,
        _ read: (StartRecall) throws(Fault) -> [AttemptStart]
    ) throws(Fault) {
        guard let wanted else {
            if recall != nil { (starts, recall) = ([], nil) }
            return
        }
        let isKnown = recall.map { $0.jobs == wanted.jobs && $0.since <= wanted.since } ?? false
        if isKnown, !isStale {
            starts.removeAll { $0.at <= wanted.since }
        } else {
            starts = try read(wanted)
        }
        recall = wanted
    }

    /// Updates the state of a run's lease to what the store has found.
    public mutating func setLeaseState(_ state: Lease.State, of run: RunID) {
        open[run]?.lease?.state = state
    }

    /// Replaces a job's record with what another process has written.
    public mutating func setRecord(_ record: JobRecord, of job: JobID) {
        if let clock = record.clock { note(clock, after: jobs[job]?.clock) }
        jobs[recorded: job] = record
    }

    /// Replaces everything but the job records with what other processes have left.
    public mutating func replaceAllButRecords(
        open runs: [Run], waits: [RunID: [Deferral]], nextRun: RunID, pruned: PruneMark?,
        boot: String?, sources: [String: SourceFingerprint]
    ) {
        open = [:]
        openByJob = [:]
        for run in runs { insert(run) }
        self.waits = waits
        self.nextRun = max(self.nextRun, nextRun)
        self.pruned = pruned
        self.boot = boot
        self.sources = sources
    }

    private mutating func note(_ clock: JobClock, after known: JobClock?) {
        setbacks += clock.era - (known?.era ?? 0)
    }

    private mutating func put(_ run: Run) {
        guard run.state.isFinished else { return insert(run) }
        if open.removeValue(forKey: run.id) != nil {
            openByJob[run.job]?.removeAll { $0 == run.id }
            if openByJob[run.job]?.isEmpty == true { openByJob[run.job] = nil }
        }
        waits[run.id] = nil
        nextRun = max(nextRun, RunID(run.id.rawValue + 1))
        // Only runs that had an attempt count: `earliest_begin` keeps no distance from the others.
        if run.attempts > 0 { jobs[recorded: run.job].lastFinished = run.finishedAt }
    }

    private mutating func insert(_ run: Run) {
        if open.updateValue(run, forKey: run.id) == nil {
            openByJob[run.job, default: []].append(run.id)
            openByJob[run.job]?.sort()
        }
        nextRun = max(nextRun, RunID(run.id.rawValue + 1))
    }
}

/// How far the history was pruned.
public struct PruneMark: Hashable, Sendable {
    public var at: Instant
    /// The last run that existed then.
    public var through: RunID

    /// Creates a mark.
    public init(at: Instant, through: RunID) {
        self.at = at
        self.through = through
    }
}

/// A change that a decision makes to the store. All changes of one decision are one transaction.
///
/// The large ones are indirect: the first decision about ten thousand accounts sets fifty thousand
/// clocks at once.
public enum LedgerChange: Hashable, Sendable {
    case setClock(JobID, JobClock)
    /// Records that the runs for this boot of the machine are enqueued.
    case setBoot(String)
    /// Records the fingerprint of a source.
    case setSource(String, SourceFingerprint)
    /// Pauses a job, or resumes it with `nil`.
    case setPause(JobID, Pause?)
    /// Records that a server wants no attempt of the job before an instant.
    case setRetryAfter(JobID, Instant)
    /// Records that the `count` occurrences from `first` to `latest` share an outcome. `run` is the
    /// run that stands for them or was running then; `nil` if there is none.
    case recordOutcome(
        JobID, OccurrenceOutcome, first: Instant, latest: Instant, count: Int, run: RunID?)
    /// Adds a run, or replaces its record.
    indirect case put(Run)
    /// Asks the process that holds a run's lease to stop it.
    case requestStop(RunID, StopReason)
    /// Adds an attempt, or replaces its record.
    indirect case putAttempt(Attempt)
    /// Replaces the facts of an account, or of a job file without accounts, by those of an attempt
    /// that ended now; but not by facts that are older than those that are known.
    case putFacts([AttemptFact], of: AccountID?, at: Instant)
    /// Records that from this instant on the run waits for these reasons and no others.
    case deferred(RunID, [Deferral], at: Instant)
    /// Prunes the history that the policy does not keep.
    case prune(RetentionPolicy, at: Instant)
    /// Changes what loops share about their machines; never in a plan of `LoopRole.alone` but to
    /// remove what it has settled.
    indirect case placing(PlacementChange)
}

/// A pause, set by a person, during which a job starts nothing.
///
/// Occurrences during the pause are missed, and `catch_up` applies when it ends; with
/// `catch_up: none` they are recorded as paused. Events, chains and requests wait until the pause
/// is over; a forced run does not. A running attempt continues.
public struct Pause: Hashable, Sendable {
    public var since: Instant
    /// The first instant at which the pause is over; `nil` until somebody resumes the job.
    public var until: Instant?
    /// The reason that the person gave; empty if there is none.
    public var reason: String

    /// Creates a pause.
    public init(since: Instant, until: Instant? = nil, reason: String = "") {
        self.since = since
        self.until = until
        self.reason = reason
    }

    /// Whether the job is paused at an instant.
    public func holds(at instant: Instant) -> Bool { until.map { instant < $0 } ?? true }
}

/// How much of the past the history keeps.
///
/// A finished run is pruned when it is too old, or when its job has too many newer ones. Failed
/// runs have an age limit of their own, and their number may be ten times as high. If the history
/// takes more than `bytes`, the oldest entries go first, failures included, so that nothing can
/// fill a disk. Unfinished runs are never pruned.
public struct RetentionPolicy: Hashable, Sendable {
    /// The number of finished runs that are kept for each job, at least 1.
    public var runs: Int
    /// How long a run that did not fail is kept after its end.
    public var age: Duration
    /// How long a run that failed is kept after its end.
    public var failureAge: Duration
    /// The maximum size of the history, in bytes.
    public var bytes: Int64

    /// Creates a policy; the defaults are 1,000 runs a job, 90 days, a year for failures, 256 MiB.
    public init(
        runs: Int = 1000, age: Duration = .seconds(90 * 86_400),
        failureAge: Duration = .seconds(365 * 86_400), bytes: Int64 = 256 << 20
    ) {
        self.runs = runs
        self.age = age
        self.failureAge = failureAge
        self.bytes = bytes
    }
}

/// The records of jobs by their ids.
///
/// A dictionary of fifty thousand records would keep room for as many more; here that room is for
/// places alone.
public struct JobRecords: Sendable {
    private var places: [JobID: Int32] = [:]
    private var records: [JobRecord] = []

    /// Creates an empty collection.
    public init() {}

    /// The record of a job; `nil` if nothing was ever recorded.
    public subscript(job: JobID) -> JobRecord? { places[job].map { records[Int($0)] } }

    /// The record of a job, which comes into being when it is changed.
    subscript(recorded job: JobID) -> JobRecord {
        get { self[job] ?? JobRecord() }
        _modify {
            let place = places[job] ?? Int32(records.count)
            if place == records.count {
                places[job] = place
                records.append(JobRecord())
            }
            yield &records[Int(place)]
        }
    }

    /// All records, in no order.
    public var values: some Sequence<JobRecord> { records }

    /// The same records in a dictionary.
    public var byJob: [JobID: JobRecord] { places.mapValues { records[Int($0)] } }
}

extension JobRecords: Hashable {
    public static func == (one: JobRecords, other: JobRecords) -> Bool {
        one.records.count == other.records.count
            && one.places.allSatisfy { job, place in other[job] == one.records[Int(place)] }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(records.count) }
}

/// What is known of a job apart from its runs.
public struct JobRecord: Hashable, Sendable {
    /// How far the job's schedule has been handled; `nil` for a job that was never planned.
    public var clock: JobClock?
    /// When the job's last run that had an attempt finished.
    public var lastFinished: Instant?
    public var pause: Pause?
    /// A server wants no attempt of the job before this instant (Retry-After, RFC 9110 section
    /// 10.2.3); `nil` if none said so.
    public var retryAfter: Instant?

    /// Creates a record.
    public init(clock: JobClock? = nil, lastFinished: Instant? = nil, pause: Pause? = nil) {
        self.clock = clock
        self.lastFinished = lastFinished
        self.pause = pause
    }
}

/// How far a job's schedule has been handled.
public struct JobClock: Hashable, Sendable {
    /// When the job was first seen; `every` counts from here.
    public var anchor: Instant
    /// Every occurrence up to and including this instant has its run or its outcome.
    public var considered: Instant
    /// How often the clock was set back; an occurrence is identified by its instant and era.
    public var era: Int
    /// The schedule that named those occurrences, as people write it.
    public var schedule: String
    /// Since when the job has this schedule; it names every occurrence after this instant.
    public var scheduleSince: Instant

    /// Creates a clock.
    public init(
        anchor: Instant, considered: Instant, era: Int = 0, schedule: String = "",
        scheduleSince: Instant? = nil
    ) {
        self.anchor = anchor
        self.considered = considered
        self.era = era
        self.schedule = schedule
        self.scheduleSince = scheduleSince ?? considered
    }
}
