/// Makes every scheduling decision: takes events and the known state, returns what to write and do.
///
/// A planner is pure: clocks, conditions, the ledger and the seed come in, a `Plan` goes out. The
/// caller writes the plan's changes in the transaction in which it read the ledger, then performs
/// its acts. It calls again at the next event or after `Plan.wakeAfter`.
public struct Planner: Sendable {
    /// Which enqueued runs this planner may start.
    public enum Scope: Sendable {
        /// All that are due.
        case everything
        /// Those that are enqueued when its first decision ends, and those that follow from them
        /// by `then` or an event. Later occurrences are enqueued for other schedulers.
        case due
        /// Those that were requested from it, and those that follow from them by `then`.
        case requested
        /// None: it records requests, and other processes carry them out.
        case nothing
    }

    /// Something that happened since the last decision.
    public enum Event: Hashable, Sendable {
        /// Time passed, or another process changed something.
        case tick
        /// The machine's conditions may have changed.
        case conditionsChanged
        /// A person requests runs of these jobs, in this order, with values for their parameters.
        case requested([JobID], isForced: Bool, parameters: [String: String] = [:])
        /// A person asks to repeat a finished run of a job, which had these values.
        case retry(RunID, of: JobID, parameters: [String: String] = [:])
        /// A person requests past occurrences of a job, each with a run of its own.
        case backfill(JobID, [Instant])
        /// A person cancels an unfinished run.
        case cancel(RunID)
        /// A person pauses these jobs until they are resumed, or until `until`.
        case pause([JobID], until: Instant?, reason: String)
        /// A person resumes these jobs.
        case resume([JobID])
        /// The current fingerprints of the sources that jobs wait for, by path.
        case sourcesSeen([String: SourceFingerprint])
        /// An event happened that jobs wait for with `on:`.
        case happened(EventName)
        /// An attempt reported progress at this reading of the elapsed clock.
        case progressed(RunID, at: Duration)
        /// An attempt that this planner started has ended.
        case finished(RunID, AttemptEnd)
        /// Replaces the jobs; running attempts keep the job with which they were started.
        case reload(JobSet, maxParallel: Int, total: Int? = nil)
        /// Replaces the labels of this machine.
        case labelled(Set<String>)
        /// The accounts with a source that this machine reaches.
        case sourcesReached(Set<AccountID>)
        /// Start nothing more, and stop the running attempts.
        case drain
    }

    /// How long a run waits before it is checked again, if nothing announces a change of its
    /// condition.
    public static let recheck: Duration = .seconds(60)
    /// The same for a condition whose changes are announced. It is long, because it only makes up
    /// for a lost announcement.
    public static let announcedRecheck: Duration = .seconds(15 * 60)
    /// How far the wall clock may step back before the schedules follow it.
    ///
    /// After a smaller step they wait until the clock is where it was, so that nothing runs twice.
    /// A larger step means that the clock was wrong before, and waiting could take years. The limit
    /// is that of Debian's cron(8).
    public static let clockTolerance: Duration = .seconds(3 * 3600)
    /// How many attempts of a run may vanish in a row before one counts as failed.
    public static let toleratedInterruptions = 3
    /// How long a run reserves a place while its checks are being asked: longer than any check may
    /// take to answer, so that only a check whose answer gets lost meets this limit.
    public static let longestReservation: Duration = .seconds(360)
    /// The history is pruned again after this many new runs or this time, whichever is first.
    public static let pruneEvery = (runs: Int64(200), span: Duration.seconds(86_400))

    public internal(set) var jobs: JobSet
    /// The name under which this process holds leases.
    public let owner: String
    /// The maximum number of attempts that run at once, in all processes of this machine that share
    /// the state.
    public internal(set) var maxParallel: Int
    /// The same for all machines that share the state; `nil` if each has only its own limit.
    public internal(set) var maxParallelTotal: Int?
    /// What the history keeps; `nil` prunes nothing.
    public let retention: RetentionPolicy?
    /// The id of the machine's current boot; `nil` if it is unknown, and then boots go unnoticed.
    public let boot: String?
    /// The seed of every random draw, together with the run and its number of failures.
    public let seed: UInt64
    /// The name of this machine; empty if no job names one.
    public let machine: String
    /// What `machine:` of a job may call this machine besides.
    public internal(set) var labels: Set<String>

    var scope: Scope
    /// The last run that was enqueued at the end of the first decision; `nil` until then.
    var lastAtBeginning: RunID?
    /// The later runs that follow from those with the scope `due`.
    var following: Set<RunID> = []
    /// The requested runs and those that follow from them, in the order of the requests.
    var requestedRuns: [RunID] = []
    var inFlight: [RunID: AttemptInFlight] = [:]
    /// The jobs of these attempts.
    package var jobsInFlight: Set<JobID> { Set(inFlight.values.map(\.job.id)) }
    /// The number of attempts that this process has started for accounts.
    var turns = 0
    /// Which of them was the last one of each account.
    var lastServed: [AccountID: Int] = [:]
    /// What a leader knows of the attempts that are placed on other machines.
    var placed: [RunID: PlacedAttempt] = [:]
    /// When loops gave back a job that was placed on them, by the names of their leases.
    var declined: [JobID: [String: Duration]] = [:]
    /// The loop that had the last attempt of each account.
    var lastMachine: [AccountID?: String] = [:]
    /// What was last published of this machine, and when it was last looked at.
    var published: Machine?
    var publishedAt: Duration?
    /// The accounts with a source that this machine reaches, and when they were looked at.
    var reached: Set<AccountID> = []
    var reachedAt: Duration?
    /// Since when the checks of each waiting run are being asked, on the elapsed clock.
    var askedSince: [RunID: Duration] = [:]
    var isDraining = false
    /// Whether there was a network at the last check; `nil` before the first one.
    var wasConnected: Bool?

    /// When each job is due; `nil` if the agenda has to be rebuilt.
    var agenda: Agenda?
    /// When the window of each job with flex opens.
    var earlyAgenda = Agenda()
    /// The indices of the jobs whose flex window is open.
    var flexible: Set<Int> = []
    /// The state for which the agenda was built.
    var agendaBasis = AgendaBasis()

    /// Creates a planner without running attempts.
    public init(
        jobs: JobSet, owner: String, maxParallel: Int = 4, maxParallelTotal: Int? = nil,
        scope: Scope = .everything, retention: RetentionPolicy? = nil, boot: String? = nil,
        seed: UInt64, machine: String = "", labels: Set<String> = []
    ) {
        precondition(maxParallel >= 1, "at least one attempt runs at once, got \(maxParallel)")
        self.jobs = jobs
        self.owner = owner
        self.maxParallel = maxParallel
        self.maxParallelTotal = maxParallelTotal
        self.scope = scope
        self.retention = retention
        self.boot = boot
        self.seed = seed
        self.machine = machine
        self.labels = labels
    }

    /// Whether a job that names `pin` in `machine:` may run on this machine.
    func isPinnedHere(_ pin: String) -> Bool { machine == pin || labels.contains(pin) }

    /// Makes one decision.
    ///
    /// `ledger` must contain every unfinished run. The planner rescues lapsed leases, handles the
    /// events in order, enqueues due occurrences, watches running attempts and starts waiting runs.
    /// It reads `conditions` at most once, and only if something depends on them.
    public mutating func handle(
        _ events: [Event], at moment: Moment,
        conditions: @autoclosure @escaping () -> Conditions, ledger: Ledger
    ) -> Plan {
        let events = noticing(ledger.boot, events)
        // Moves the planner instead of copying it, so that a decision costs nothing for what it
        // leaves alone.
        var builder = PlanBuilder(consume self, events, moment, conditions, ledger)
        builder.decide()
        let plan = builder.plan()
        self = builder.planner
        return plan
    }

    /// Returns the accounts of which it is time to know whether this machine reaches a source
    /// (`Event.sourcesReached`); `nil` before. Nothing announces that a source comes or goes.
    func accountsToLookAt(for events: [Event], at moment: Moment) -> Set<AccountID>? {
        // Where there is one machine, nothing is published.
        guard publishedAt != nil else { return nil }
        var jobs = jobs
        var isDue = reachedAt.map { moment.elapsed - $0 >= Planner.recheck } ?? true
        for case .reload(let later, _, _) in events { (jobs, isDue) = (later, true) }
        return isDue ? jobs.accountsWithSources : nil
    }

    /// Whether the planner may start a run.
    func isInScope(_ run: RunID) -> Bool {
        switch scope {
        case .everything: true
        case .due: lastAtBeginning.map { run <= $0 } ?? true || following.contains(run)
        case .requested: requestedRuns.contains(run)
        case .nothing: false
        }
    }

    /// Returns the events, after the boot if this is a scheduler's first decision since the boot.
    ///
    /// A process that runs named jobs or only records requests is no scheduler, and leaves the boot
    /// to one.
    private func noticing(_ known: String?, _ events: [Event]) -> [Event] {
        guard let boot, boot != known, scope == .everything || scope == .due, !isDraining else {
            return events
        }
        return [.happened(.boot)] + events
    }
}

/// An attempt that this process runs.
struct AttemptInFlight: Hashable, Sendable {
    /// The job as it was declared when the attempt started.
    var job: Job
    var number: Int
    var startedAt: Instant
    var isForced: Bool
    /// When the worker is warned, on the elapsed clock.
    var warnAt: Duration
    /// When the worker is killed, on the elapsed clock.
    var killAt: Duration
    /// When the attempt started or last reported progress, on the elapsed clock.
    var progressAt: Duration
    /// Since when a constraint has not held (`LossPolicy.finishWithin`), on the elapsed clock.
    var lostAt: Duration?
    /// Why the attempt is being stopped; `nil` until then.
    var stop: StopReason?
    var isWarned = false
    var isKilled = false
}

/// The decision of a planner: what to write, then what to do, then when to decide again.
public struct Plan: Hashable, Sendable {
    /// An action to perform once the changes are durable.
    public enum Act: Hashable, Sendable {
        case start(AttemptOrder)
        case signal(RunID, AttemptSignal)
    }

    /// A run that could not start, or a requested job for which no run could be enqueued.
    public struct Waiting: Hashable, Sendable {
        public var job: JobID
        public var run: RunID?
        public var deferrals: [Deferral]

        /// Whether somebody has paused the job.
        public var isPaused: Bool { deferrals.contains { $0.reason == .paused } }
    }

    public var changes: [LedgerChange] = []
    public var acts: [Act] = []
    /// The due runs that have to wait.
    public var waiting: [Waiting] = []
    /// The names of the checks whose answers a run now needs.
    public var asks: Set<String> = []
    /// The span after which a decision can differ without any event; `nil` if there is none.
    public var wakeAfter: Duration?
    /// Whether a job may start as soon as its conditions allow, because its window of `flex` is open.
    public var hasOpenWindow = false
    /// Whether no attempt of this process runs or is about to start, and no check has been asked.
    public var isIdle = true

    /// Creates a plan that does nothing.
    public init() {}
}

/// A heap of the instants at which each job is due next, so that a decision costs time for the due
/// jobs alone.
///
/// An entry may be too early, because other processes advance a job's clock. It is never too late,
/// unless the wall clock steps back; after that the agenda is built anew.
struct Agenda: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        var at: Instant
        /// The job's place in its set; breaks ties between entries of the same instant.
        var place: Int

        func isBefore(_ other: Entry) -> Bool { (at, place) < (other.at, other.place) }
    }

    private var heap: [Entry] = []

    /// The earliest entry.
    var first: Entry? { heap.first }

    mutating func insert(_ entry: Entry) {
        heap.append(entry)
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes the entries of these places.
    mutating func remove(_ places: Set<Int>) {
        guard let first = places.min(), let last = places.max() else { return }
        let count = heap.count
        // Most entries are outside the range, and need no look into the set.
        heap.removeAll { first <= $0.place && $0.place <= last && places.contains($0.place) }
        guard heap.count < count else { return }
        for parent in (0..<heap.count / 2).reversed() { sink(parent) }
    }

    /// Removes and returns the earliest entry if it is not after `instant`.
    mutating func popFirst(through instant: Instant) -> Entry? {
        guard let first = heap.first, first.at <= instant else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        heap[0] = last
        sink(0)
        return first
    }

    /// Puts an entry below those of its children that are earlier.
    private mutating func sink(_ entry: Int) {
        var parent = entry
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].isBefore(heap[least]) {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}

/// The state for which an agenda was built; the agenda is invalid when this state has changed.
struct AgendaBasis: Hashable, Sendable {
    /// The value of `Ledger.setbacks`.
    var setbacks = 0
    /// The latest time that the wall clock or a job's clock has shown. While the wall clock is not
    /// far behind it, no job's clock has to be set back.
    var furthest = Instant(millisecondsSince1970: .min)
    /// Both clocks when they were last read.
    var seen: Moment?
}
