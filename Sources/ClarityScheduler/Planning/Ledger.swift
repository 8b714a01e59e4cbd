/// What the store knows that a decision needs: how far each job is, and the unfinished runs.
///
/// `apply` is the one definition of what a change does to it: the stores keep theirs by it, and so
/// does a simulation, which has no store.
public struct Ledger: Hashable, Sendable {
    public private(set) var jobs: [JobID: JobRecord] = [:]
    /// The runs that are not finished.
    public private(set) var open: [RunID: Run] = [:]
    /// What each of them waits for, as it was last recorded.
    public private(set) var waits: [RunID: [Deferral]] = [:]
    /// The id that the next new run gets.
    public private(set) var nextRun = RunID(1)
    /// When the past was last pruned, and up to which run; `nil` before the first time.
    public private(set) var pruned: PruneMark?
    /// The boot of the machine whose runs were enqueued last; `nil` before the first.
    public private(set) var boot: String?
    /// What was last seen of each source, by path.
    public private(set) var sources: [String: SourceFingerprint] = [:]
    /// How often the clocks of jobs were set back, all together: what was planned by them before has
    /// to be planned again.
    public private(set) var setbacks = 0
    private var openByJob: [JobID: [RunID]] = [:]

    /// Creates an empty ledger.
    public init() {}

    /// Creates a ledger of what a store holds.
    public init(
        jobs: [JobID: JobRecord], open: [Run] = [], waits: [RunID: [Deferral]] = [:],
        nextRun: RunID = RunID(1), pruned: PruneMark? = nil, boot: String? = nil,
        sources: [String: SourceFingerprint] = [:]
    ) {
        for (job, record) in jobs { setRecord(record, of: job) }
        for run in open { insert(run) }
        self.waits = waits
        self.nextRun = max(self.nextRun, nextRun)
        self.pruned = pruned
        self.boot = boot
        self.sources = sources
    }

    /// The latest trace that a scheduler left up to an instant; `nil` where none ever ran.
    public func lastLook(before now: Instant) -> Instant? {
        let ofJobs = jobs.values.flatMap { [$0.clock?.considered, $0.lastFinished] }
        let ofRuns = open.values.flatMap { [$0.enqueuedAt, $0.startedAt] }
        return (ofJobs + ofRuns).compactMap { $0 }.filter { $0 <= now }.max()
    }

    /// The unfinished runs of a job, oldest first.
    public func openRuns(of job: JobID) -> [RunID] { openByJob[job] ?? [] }

    /// Does what a change does to the present; the past, such as attempts, is no part of it.
    public mutating func apply(_ change: LedgerChange) {
        switch change {
        case .setClock(let job, let clock):
            note(clock, after: jobs[job]?.clock)
            jobs[job, default: JobRecord()].clock = clock
        case .setBoot(let boot): self.boot = boot
        case .setSource(let path, let fingerprint): sources[path] = fingerprint
        case .setPause(let job, let pause): jobs[job, default: JobRecord()].pause = pause
        case .setRetryAfter(let job, let instant):
            jobs[job, default: JobRecord()].retryAfter = instant
        case .put(let run): put(run)
        case .requestStop(let run, let reason):
            // The first one stands.
            if open[run]?.stopRequest == nil { open[run]?.stopRequest = reason }
        case .deferred(let run, let deferrals, at: _):
            waits[run] = deferrals.isEmpty ? nil : deferrals
        case .prune(_, let instant):
            pruned = PruneMark(at: instant, through: RunID(nextRun.rawValue - 1))
        case .recordFate, .putAttempt, .renewLeases: break
        }
    }

    /// Takes in what a store found out about a lease since.
    public mutating func setStanding(_ standing: Lease.Standing, of run: RunID) {
        open[run]?.lease?.standing = standing
    }

    /// Takes in what another process has made of a job.
    public mutating func setRecord(_ record: JobRecord, of job: JobID) {
        if let clock = record.clock { note(clock, after: jobs[job]?.clock) }
        jobs[job] = record
    }

    /// Takes in how far another process has pruned the past.
    public mutating func setPruned(_ mark: PruneMark?) { pruned = mark }

    /// Takes in the boot that another process has noticed.
    public mutating func setBoot(_ boot: String?) { self.boot = boot }

    /// Takes in what other processes have seen of the sources.
    public mutating func setSources(_ sources: [String: SourceFingerprint]) {
        self.sources = sources
    }

    /// Takes in the unfinished runs as another process has left them.
    public mutating func replaceOpen(_ runs: [Run], waits: [RunID: [Deferral]], nextRun: RunID) {
        open = [:]
        openByJob = [:]
        for run in runs { insert(run) }
        self.waits = waits
        self.nextRun = max(self.nextRun, nextRun)
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
        // Of the runs that did something: nothing has to keep its distance from the others.
        if run.attempts > 0 { jobs[run.job, default: JobRecord()].lastFinished = run.finishedAt }
    }

    private mutating func insert(_ run: Run) {
        if open.updateValue(run, forKey: run.id) == nil {
            openByJob[run.job, default: []].append(run.id)
            openByJob[run.job]?.sort()
        }
        nextRun = max(nextRun, RunID(run.id.rawValue + 1))
    }
}

/// What is known of a job beyond its runs.
public struct JobRecord: Hashable, Sendable {
    /// How far its schedule has been dealt with; `nil` for a job that was never planned.
    public var clock: JobClock?
    /// When the last of its runs that had an attempt finished.
    public var lastFinished: Instant?
    public var pause: Pause?
    /// Before this instant a server wants no attempt of it (Retry-After, RFC 9110 section 10.2.3);
    /// `nil` where none said so.
    public var retryAfter: Instant?

    /// Creates a record.
    public init(clock: JobClock? = nil, lastFinished: Instant? = nil, pause: Pause? = nil) {
        self.clock = clock
        self.lastFinished = lastFinished
        self.pause = pause
    }
}

/// How far a job's schedule has been dealt with.
public struct JobClock: Hashable, Sendable {
    /// When the job was first seen; `every` counts from here.
    public var anchor: Instant
    /// Every occurrence up to and including this instant has its fate.
    public var considered: Instant
    /// How often it was set back: an occurrence is told apart by instant and era.
    public var era: Int
    /// The schedule by which that was decided, as people write it.
    public var schedule: String
    /// Since when it is that schedule: occurrences after this instant are of no other.
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

/// How far the past was pruned.
public struct PruneMark: Hashable, Sendable {
    public var at: Instant
    /// The last run that there was then.
    public var through: RunID

    /// Creates a mark.
    public init(at: Instant, through: RunID) {
        self.at = at
        self.through = through
    }
}
