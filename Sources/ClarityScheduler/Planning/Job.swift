/// A job as its author declared it.
public struct Job: Hashable, Sendable {
    /// A job's class, as on the phone; it sets the default timeout.
    public enum Class: String, CaseIterable, Sendable {
        /// Light and short: 30 s unless the job sets a timeout.
        case appRefresh = "app-refresh"
        /// Long: 15 min unless the job sets a timeout.
        case processing

        /// The timeout of an attempt if the job sets none.
        public var defaultTimeout: Duration {
            switch self {
            case .appRefresh: .seconds(30)
            case .processing: .seconds(15 * 60)
            }
        }
    }

    /// Which waiting runs start first if not all can; never stops a running attempt.
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
    /// `nil` for a job that runs only by request, event or chain.
    public var schedule: Schedule?
    /// The span over which the starts of a job that runs for many accounts are spread: each account
    /// has a delay of its own within it. The schedule of such a job has no delay.
    public var accountSpread: Duration
    /// The shortest time between the end of one run and the start of the next.
    public var earliestBegin: Duration
    public var events: Set<EventName>
    public var constraints: [Constraint]
    /// The `constraints` that the job's kind implies and the job file does not name.
    public var impliedConstraints: Set<Constraint>
    /// The rules for unknown answers, by the names of constraints; the default is
    /// `Constraint.defaultUnknownRule`.
    public var unknownRules: [String: UnknownRule]
    /// The constraints that a late run drops, in the order in which it drops them.
    public var relaxations: [Relaxation]
    public var onLost: LossPolicy
    /// The time after its occurrence in which a run must start, or else is skipped as expired;
    /// `nil` for no limit.
    public var startWithin: Duration?
    public var priority: Priority
    public var retry: RetryPolicy
    public var overlap: OverlapPolicy
    public var catchUp: CatchUpPolicy
    public var timeout: Duration
    /// How long an attempt has to end once it is warned; less than `timeout`.
    public var warning: Duration
    /// Whether an attempt is warned that long before its time limit, so that it has ended by then; else
    /// it is warned at the limit, and killed `warning` later.
    public var warnsAhead: Bool
    /// How long an attempt is expected to take; it is not stopped then. `nil` if the job file does not
    /// say.
    public var expected: Duration?
    /// The machine on which the job has to run, by its name or one of its labels; `nil` for any.
    public var machine: String?
    /// The groups of the job file to which the job belongs, in the order of the job's list.
    public var groups: [LimitGroup]
    /// The longest time that an attempt may go without reporting progress; `nil` for no limit.
    public var stall: Duration?
    public var memoryLimitBytes: Int64
    /// Whether the job's worker gets `AttemptOrder.conditions`.
    public var heedsConditions: Bool
    /// The events that the job's attempts may emit (`JobKindDeclaration.events`).
    public var emits: Set<EventName>
    /// The jobs that run after a success of this one.
    public var then: [JobID]
    /// The jobs that run after a run of this one has failed for good.
    public var thenFailed: [JobID]
    public var options: [String: String]

    /// Creates a job; the engine's defaults apply to everything that is not given.
    public init(
        id: JobID, kind: JobKind, jobClass: Class = .processing, schedule: Schedule? = nil,
        accountSpread: Duration = .zero, earliestBegin: Duration = .zero,
        events: Set<EventName> = [],
        constraints: [Constraint] = [], impliedConstraints: Set<Constraint> = [],
        unknownRules: [String: UnknownRule] = [:],
        relaxations: [Relaxation] = [],
        onLost: LossPolicy = .stop, startWithin: Duration? = nil, priority: Priority = .normal,
        retry: RetryPolicy = RetryPolicy(),
        overlap: OverlapPolicy = .skip, catchUp: CatchUpPolicy = .latest,
        timeout: Duration? = nil, warning: Duration? = nil, warnsAhead: Bool = true,
        stall: Duration? = nil, expected: Duration? = nil, machine: String? = nil,
        groups: [LimitGroup] = [], memoryLimitBytes: Int64 = Job.defaultMemoryLimitBytes,
        heedsConditions: Bool = false, emits: Set<EventName> = [], then: [JobID] = [],
        thenFailed: [JobID] = [], options: [String: String] = [:]
    ) {
        self.id = id
        self.kind = kind
        self.jobClass = jobClass
        self.schedule = schedule
        self.accountSpread = accountSpread
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
        let timeout = timeout ?? jobClass.defaultTimeout
        self.timeout = timeout
        self.warning = warning ?? min(.seconds(10), timeout / 5)
        self.warnsAhead = warnsAhead
        self.expected = expected
        self.machine = machine
        self.groups = groups
        self.stall = stall
        self.memoryLimitBytes = memoryLimitBytes
        self.heedsConditions = heedsConditions
        self.emits = emits
        self.then = then
        self.thenFailed = thenFailed
        self.options = options
    }

    /// The time from an attempt's start to its warning.
    var warnedAfter: Duration { warnsAhead ? timeout - warning : timeout }

    /// The names of the checks that the job's constraints use.
    public var checks: Set<String> {
        Set(
            constraints.compactMap { constraint in
                if case .check(let check) = constraint { check.name } else { nil }
            })
    }

    /// Returns the verdict of one of the job's constraints on conditions at an instant; its source
    /// says if the constraint is implied.
    public func verdict(
        of constraint: Constraint, in conditions: Conditions, at now: Instant
    ) -> Verdict {
        let isOwn = constraint == .login || constraint == .source
        var verdict = constraint.verdict(
            in: isOwn ? conditions.of(id.account) : conditions, at: now,
            unknown: unknownRules[constraint.name])
        if impliedConstraints.contains(constraint) {
            verdict.source += "; implied by kind `\(kind)`"
        }
        return verdict
    }

    /// Returns the conditions that the job's worker gets, without those of dropped constraints.
    public func orderConditions(
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

    /// The limit on an attempt's resident memory if the job names no `memory_limit`: 256 MiB.
    public static var defaultMemoryLimitBytes: Int64 { 256 << 20 }
}
