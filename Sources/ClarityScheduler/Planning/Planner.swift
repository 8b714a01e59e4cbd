/// The one place that decides: takes events and what is known, returns what to write and to do.
///
/// Pure: clocks, conditions, the ledger and the seed come in, a `Plan` goes out. The caller writes
/// the plan's changes in the transaction in which it read the ledger, then performs its acts, and
/// comes back at the next event or after `Plan.wakeAfter`.
public struct Planner: Sendable {
    /// Which enqueued runs this planner may start.
    public enum Scope: Hashable, Sendable {
        /// All that are due.
        case everything
        /// Those that were requested from it, and what follows from them by `then`.
        case requested
    }

    /// Something that happened since the last decision.
    public enum Event: Hashable, Sendable {
        /// Time passed, or something outside may have changed.
        case tick
        /// A person asks for runs of these jobs, in this order.
        case requested([JobID], isForced: Bool)
        /// Something that jobs wait for with `on:` happened.
        case happened(EventName)
        /// An attempt that this planner started came to its end.
        case finished(RunID, AttemptEnd)
        /// Start nothing more and bring to an end what runs.
        case drain
    }

    /// The span after which a lease lapses when its holder does not renew it.
    public static let leaseTerm: Duration = .seconds(60)
    /// How often a holder renews its leases: four tries before they lapse.
    public static let leaseRenewal: Duration = .seconds(15)
    /// How long a decision about conditions may stand when no change of them was announced.
    public static let recheck: Duration = .seconds(60)
    /// How far the wall clock may step back before the schedules follow it.
    ///
    /// After a smaller step they wait until it is again where it was, so that nothing runs twice;
    /// after a larger one the clock was wrong before, and waiting could take years. The span is
    /// that of Debian's cron(8).
    public static let clockTolerance: Duration = .seconds(3 * 3600)
    /// The attempts of a run that may vanish in a row before one counts as failed.
    public static let toleratedInterruptions = 3

    /// The jobs to plan for, in the order of the job file.
    public let jobs: [Job]
    /// The name under which this process holds leases.
    public let owner: String
    /// The most attempts that this process runs at once.
    public let maxParallel: Int

    var scope: Scope
    /// The runs that were requested and what follows from them, in the order of the requests.
    var requestedRuns: [RunID] = []
    var inFlight: [RunID: AttemptInFlight] = [:]
    var isDraining = false
    var nextRenewal: Duration = .zero
    /// Whether there was a network at the last decision; `nil` before the first.
    var wasConnected: Bool?
    var random: SeededGenerator

    /// Creates a planner that knows of no attempt.
    public init(
        jobs: [Job], owner: String, maxParallel: Int = 4, scope: Scope = .everything, seed: UInt64
    ) {
        precondition(maxParallel >= 1, "at least one attempt runs at once, got \(maxParallel)")
        self.jobs = jobs
        self.owner = owner
        self.maxParallel = maxParallel
        self.scope = scope
        random = SeededGenerator(seed: seed)
    }

    /// Decides.
    ///
    /// `ledger` must hold every unfinished run. Lapsed leases are rescued, events taken in their
    /// order, due occurrences enqueued, running attempts watched and waiting runs started.
    public mutating func handle(
        _ events: [Event], at moment: Moment, conditions: Conditions, ledger: Ledger
    ) -> Plan {
        var round = Round(self, moment: moment, conditions: conditions, ledger: ledger)
        round.rescueLapsedRuns()
        round.noticeNetwork()
        for event in events {
            switch event {
            case .tick: break
            case .requested(let ids, let isForced): round.request(ids, isForced: isForced)
            case .happened(let name): round.enqueueRuns(on: name)
            case .finished(let run, let end): round.finish(run, end)
            case .drain: round.drain()
            }
        }
        round.enqueueDueOccurrences()
        round.endLostAttempts()
        round.watchAttempts()
        round.startWaitingRuns()
        round.renewLeases()
        let plan = round.plan()
        self = round.planner
        return plan
    }
}

/// An attempt that this process runs.
struct AttemptInFlight: Hashable, Sendable {
    var job: Job
    var number: Int
    var startedAt: Instant
    var isForced: Bool
    /// When the worker is told that its time ends, on the elapsed clock.
    var warnAt: Duration
    /// When it is killed.
    var killAt: Duration
    /// Why it is being stopped, once it is.
    var stop: StopReason?
    var isWarned = false
    var isKilled = false
}
