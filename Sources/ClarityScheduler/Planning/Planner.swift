/// The one place that decides: takes events and what is known, returns what to write and to do.
///
/// Pure: clocks, conditions, the ledger and the seed come in, a `Plan` goes out. The caller writes
/// the plan's changes in the transaction in which it read the ledger, then performs its acts, and
/// comes back at the next event or after `Plan.wakeAfter`.
public struct Planner: Sendable {
    /// Which enqueued runs this planner may start.
    public enum Scope: Sendable {
        /// All that are due.
        case everything
        /// Those that were requested from it, and what follows from them by `then`.
        case requested
        /// None: it takes down what is asked for, and others do it.
        case nothing
    }

    /// Something that happened since the last decision.
    public enum Event: Hashable, Sendable {
        /// Time passed, or another process changed something.
        case tick
        /// The machine's conditions may have changed.
        case conditionsChanged
        /// A person asks for runs of these jobs, in this order.
        case requested([JobID], isForced: Bool)
        /// A person asks that a finished run of a job be done again.
        case retry(RunID, of: JobID)
        /// A person asks for occurrences of a job's past, each by a run of its own.
        case backfill(JobID, [Instant])
        /// A person wants an unfinished run ended for good.
        case cancel(RunID)
        /// A person wants these jobs to start nothing until they say otherwise, or until `until`.
        case pause([JobID], until: Instant?, reason: String)
        /// A person lets these jobs go on.
        case resume([JobID])
        /// The sources that jobs wait for, by path, as they are now.
        case sourcesSeen([String: SourceFingerprint])
        /// Something that jobs wait for with `on:` happened.
        case happened(EventName)
        /// An attempt told of progress at this reading of the elapsed clock.
        case progressed(RunID, at: Duration)
        /// An attempt that this planner started came to its end.
        case finished(RunID, AttemptEnd)
        /// From now on these are the jobs; attempts that run keep what they were started with.
        case reload(JobSet, maxParallel: Int)
        /// Start nothing more and bring to an end what runs.
        case drain
    }

    /// The span after which a lease lapses when its holder does not renew it.
    public static let leaseTerm: Duration = .seconds(60)
    /// How often a holder renews its leases: four tries before they lapse.
    public static let leaseRenewal: Duration = .seconds(15)
    /// How long a run waits for a condition of which no change is announced before it is looked at
    /// again.
    public static let recheck: Duration = .seconds(60)
    /// The same for a condition whose changes are announced: long, since that only makes up for an
    /// announcement that was lost.
    public static let announcedRecheck: Duration = .seconds(15 * 60)
    /// How far the wall clock may step back before the schedules follow it.
    ///
    /// After a smaller step they wait until it is again where it was, so that nothing runs twice;
    /// after a larger one the clock was wrong before, and waiting could take years. The span is
    /// that of Debian's cron(8).
    public static let clockTolerance: Duration = .seconds(3 * 3600)
    /// The attempts of a run that may vanish in a row before one counts as failed.
    public static let toleratedInterruptions = 3
    /// The new runs after which the past is pruned again, and the span.
    public static let pruneEvery = (runs: Int64(200), span: Duration.seconds(86_400))

    public internal(set) var jobs: JobSet
    /// The name under which this process holds leases.
    public let owner: String
    /// The most attempts that this process runs at once.
    public internal(set) var maxParallel: Int
    /// What the history keeps; `nil` prunes nothing.
    public let retention: RetentionPolicy?
    /// What tells the machine's present boot from all others; `nil` where nobody knows, and no boot
    /// is ever noticed then.
    public let boot: String?
    /// What decides all that is drawn by lot, together with the run and the failure that it is
    /// drawn for.
    public let seed: UInt64

    var scope: Scope
    /// The runs that were requested and what follows from them, in the order of the requests.
    var requestedRuns: [RunID] = []
    var inFlight: [RunID: AttemptInFlight] = [:]
    var isDraining = false
    var nextRenewal: Duration = .zero
    /// Whether there was a network when somebody last looked; `nil` before.
    var wasConnected: Bool?

    /// When each job is due; `nil` when that has to be found out anew.
    var agenda: Agenda?
    /// When each job with flex may be looked at early.
    var earlyAgenda = Agenda()
    /// The jobs, by place, whose flex has begun.
    var flexible: Set<Int> = []
    /// What the agenda was made for.
    var agendaBasis = AgendaBasis()

    /// Creates a planner that knows of no attempt.
    public init(
        jobs: JobSet, owner: String, maxParallel: Int = 4, scope: Scope = .everything,
        retention: RetentionPolicy? = nil, boot: String? = nil, seed: UInt64
    ) {
        precondition(maxParallel >= 1, "at least one attempt runs at once, got \(maxParallel)")
        self.jobs = jobs
        self.owner = owner
        self.maxParallel = maxParallel
        self.scope = scope
        self.retention = retention
        self.boot = boot
        self.seed = seed
    }

    /// Decides.
    ///
    /// `ledger` must hold every unfinished run. Lapsed leases are rescued, events taken in their
    /// order, due occurrences enqueued, running attempts watched and waiting runs started.
    /// `conditions` is asked at most once, and only when something depends on it.
    public mutating func handle(
        _ events: [Event], at moment: Moment,
        conditions: @autoclosure @escaping () -> Conditions, ledger: Ledger
    ) -> Plan {
        let events = noticing(ledger.boot, events)
        // Moved and not copied, so that a decision costs nothing for what it does not touch.
        var builder = PlanBuilder(consume self, events, moment, conditions, ledger)
        builder.decide()
        let plan = builder.plan()
        self = builder.planner
        return plan
    }

    /// The events, with the boot in front where this is the first decision of a scheduler since.
    ///
    /// Who runs named jobs, or only asks, is no scheduler and leaves the boot to one.
    private func noticing(_ known: String?, _ events: [Event]) -> [Event] {
        guard let boot, boot != known, scope == .everything, !isDraining else { return events }
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
    /// When the worker is told that its time ends, on the elapsed clock.
    var warnAt: Duration
    /// When it is killed.
    var killAt: Duration
    /// When it started or last told of progress.
    var progressAt: Duration
    /// Since when a constraint does not hold that it may do without for a while.
    var lostAt: Duration?
    /// Why it is being stopped, once it is.
    var stop: StopReason?
    var isWarned = false
    var isKilled = false
}
