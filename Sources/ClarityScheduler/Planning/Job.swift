/// A job as its author declared it.
public struct Job: Hashable, Sendable {
    /// A job's class, as on the phone: what it may take.
    public enum Class: String, CaseIterable, Sendable {
        /// Light and short: 30 s unless it says otherwise.
        case appRefresh = "app-refresh"
        /// Long: 15 min unless it says otherwise.
        case processing

        /// The time an attempt has when the job names no `timeout`.
        public var standardTimeout: Duration {
            switch self {
            case .appRefresh: .seconds(30)
            case .processing: .seconds(15 * 60)
            }
        }
    }

    /// Which of the waiting runs start first where not all can; never lets one stop another.
    public enum Priority: String, CaseIterable, Comparable, Sendable {
        case low
        case normal
        case high

        public static func < (a: Priority, b: Priority) -> Bool { a.rank < b.rank }

        private var rank: Int {
            switch self {
            case .low: 0
            case .normal: 1
            case .high: 2
            }
        }
    }

    public var id: JobID
    public var kind: JobKind
    public var jobClass: Class
    /// `nil` for a job that only runs when asked, by chain or by event.
    public var schedule: Schedule?
    /// The least span between the end of one run and the start of the next.
    public var earliestBegin: Duration
    public var events: Set<EventName>
    public var constraints: [Constraint]
    /// Those of `constraints` that its kind implies and the job file does not name.
    public var impliedConstraints: Set<Constraint>
    /// What an unknown answer counts as, by the names of constraints; for the rest it is
    /// `Constraint.standardUnknownRule`.
    public var unknownRules: [String: UnknownRule]
    /// The constraints that a late run no longer asks for, in the order in which they are dropped.
    public var relaxations: [Relaxation]
    public var onLost: LossPolicy
    /// The span after its occurrence in which a run must start, or is skipped as expired; `nil`
    /// lets it wait for as long as it takes.
    public var startWithin: Duration?
    public var priority: Priority
    public var retry: RetryPolicy
    public var overlap: OverlapPolicy
    public var catchUp: CatchUpPolicy
    public var timeout: Duration
    /// How long before the deadline an attempt is told that its time ends; less than `timeout`.
    public var warning: Duration
    /// The longest that an attempt may go without reporting progress; `nil` asks for none.
    public var stall: Duration?
    public var memoryLimitBytes: Int64
    /// Whether its worker is told `AttemptOrder.conditions`.
    public var heedsConditions: Bool
    /// What its attempts may tell of (`JobKindDeclaration.events`).
    public var tells: Set<EventName>
    /// The jobs whose runs follow a success of this one.
    public var then: [JobID]
    /// The jobs whose runs follow a run of this one that failed for good.
    public var thenFailed: [JobID]
    public var options: [String: String]

    /// Creates a job with the engine's standards for all that is not given.
    public init(
        id: JobID, kind: JobKind, jobClass: Class = .processing, schedule: Schedule? = nil,
        earliestBegin: Duration = .zero, events: Set<EventName> = [],
        constraints: [Constraint] = [], impliedConstraints: Set<Constraint> = [],
        unknownRules: [String: UnknownRule] = [:],
        relaxations: [Relaxation] = [],
        onLost: LossPolicy = .stop, startWithin: Duration? = nil, priority: Priority = .normal,
        retry: RetryPolicy = RetryPolicy(),
        overlap: OverlapPolicy = .skip, catchUp: CatchUpPolicy = .latest,
        timeout: Duration? = nil, warning: Duration? = nil, stall: Duration? = nil,
        memoryLimitBytes: Int64 = Job.standardMemoryLimitBytes,
        heedsConditions: Bool = false, tells: Set<EventName> = [], then: [JobID] = [],
        thenFailed: [JobID] = [], options: [String: String] = [:]
    ) {
        self.id = id
        self.kind = kind
        self.jobClass = jobClass
        self.schedule = schedule
        self.earliestBegin = earliestBegin
        self.events = events
        self.constraints = constraints
        self.impliedConstraints = impliedConstraints
        self.unknownRules = unknownRules
        self.relaxations = relaxations.sorted { $0.after < $1.after }
        self.onLost = onLost
        self.startWithin = startWithin
        self.priority = priority
        self.retry = retry
        self.overlap = overlap
        self.catchUp = catchUp
        let timeout = timeout ?? jobClass.standardTimeout
        self.timeout = timeout
        self.warning = warning ?? min(.seconds(10), timeout / 5)
        self.stall = stall
        self.memoryLimitBytes = memoryLimitBytes
        self.heedsConditions = heedsConditions
        self.tells = tells
        self.then = then
        self.thenFailed = thenFailed
        self.options = options
    }

    /// The names of the checks that it asks for.
    public var checks: Set<String> {
        Set(
            constraints.compactMap { constraint in
                if case .check(let check) = constraint { check.name } else { nil }
            })
    }

    /// What one of its constraints makes of conditions at an instant; of an implied one the source
    /// says so.
    public func verdict(
        of constraint: Constraint, in conditions: Conditions, at now: Instant
    ) -> Verdict {
        var verdict = constraint.verdict(
            in: conditions, at: now, unknown: unknownRules[constraint.name])
        if impliedConstraints.contains(constraint) {
            verdict.source += "; implied by kind `\(kind)`"
        }
        return verdict
    }

    /// What its worker is told of conditions, of which those of some constraints no longer count.
    public func told(
        of conditions: Conditions, without dropped: Set<String> = []
    ) -> OrderConditions {
        guard heedsConditions else { return OrderConditions() }
        func counting(_ need: NeededCondition, _ value: Bool?) -> Bool? {
            dropped.contains(need.constraint.name) ? nil : value
        }
        return OrderConditions(
            metered: counting(.unmetered, conditions.metered.value),
            externalPower: counting(.externalPower, conditions.externalPower.value))
    }

    /// The resident memory an attempt may have when the job names no `memory_limit`: 256 MiB.
    public static var standardMemoryLimitBytes: Int64 { 256 << 20 }
}
