/// A machine whose loop carries out attempts, as the loop has published it.
public struct Machine: Hashable, Sendable {
    /// The name under which the loop holds leases.
    public var owner: String
    /// The name by which people know the machine.
    public var name: String
    /// What the loop's job file calls the machine besides.
    public var labels: Set<String>
    /// The maximum number of attempts at once; 0 while the loop ends.
    public var places: Int
    public var conditions: Conditions
    /// The accounts with a source that the machine reaches; without accounts, `conditions` says it.
    public var sources: ReachedSources

    /// Creates a machine.
    public init(
        owner: String, name: String, labels: Set<String> = [], places: Int,
        conditions: Conditions, sources: ReachedSources = .only([])
    ) {
        self.owner = owner
        self.name = name
        self.labels = labels
        self.places = places
        self.conditions = conditions
        self.sources = sources
    }

    /// Whether a job that names `pin` in `machine:` may run here.
    public func matches(_ pin: String) -> Bool { name == pin || labels.contains(pin) }
}

/// The accounts with a source that a machine reaches, by the shorter list: mostly it reaches those
/// of all or of none.
public enum ReachedSources: Hashable, Sendable {
    case only(Set<AccountID>)
    case allBut(Set<AccountID>)

    /// - Parameter accounts: those that have a source at all.
    init(_ reached: Set<AccountID>, of accounts: Set<AccountID>) {
        let missing = accounts.subtracting(reached)
        self = missing.count < reached.count ? .allBut(missing) : .only(reached)
    }

    func contains(_ account: AccountID) -> Bool {
        switch self {
        case .only(let reached): reached.contains(account)
        case .allBut(let missing): !missing.contains(account)
        }
    }
}

/// An attempt that the leader has placed on the machine of another loop, until it is settled.
///
/// The run says already that it runs, under a lease in the name of that loop.
public struct Placement: Hashable, Sendable {
    /// How far the loop is with the attempt.
    public enum State: Hashable, Sendable {
        /// The loop has not seen it yet.
        case offered
        /// The loop runs it, or asks a check for it.
        case taken
        /// The loop has given it back without starting it, for this reason.
        case declined(String)
        indirect case ended(PlacedEnd)
    }

    public var run: RunID
    /// The number of the attempt within the run.
    public var number: Int
    /// As `Lease.owner` of the run.
    public var owner: String
    public var state: State

    /// Creates a placement.
    public init(run: RunID, number: Int, owner: String, state: State = .offered) {
        (self.run, self.number, self.owner, self.state) = (run, number, owner, state)
    }
}

/// The end of an attempt as the loop reports it that ran the attempt.
public struct PlacedEnd: Hashable, Sendable {
    public var end: AttemptEnd
    /// Why the loop stopped the attempt; `nil` if it did not.
    public var stop: StopReason?
    /// Whether the loop killed it.
    public var wasKilled: Bool

    /// Creates an end.
    public init(_ end: AttemptEnd, stop: StopReason? = nil, wasKilled: Bool = false) {
        (self.end, self.stop, self.wasKilled) = (end, stop, wasKilled)
    }
}

/// A change of what loops share about their machines and the attempts that are placed on them.
public enum PlacementChange: Hashable, Sendable {
    /// Offers an attempt to the loop of another machine.
    case place(Placement)
    /// Removes what was placed: it is settled.
    case unplace(RunID)
    /// Replaces the state of what was placed on this process.
    case answer(Placement)
    /// Replaces what this process has published of its machine.
    case publish(Machine)
}

/// Which part a process has among the loops that share a history.
public enum LoopRole: Hashable, Sendable {
    /// None: the state is in files, or the process is no loop.
    case alone
    /// It decides, and places attempts on the other machines.
    case leader
    /// It carries out what is placed on it, and its ledger has nothing else.
    case follower
}

/// What a leader remembers of an attempt that it has placed.
struct PlacedAttempt: Hashable, Sendable {
    /// The job as it was declared then.
    var job: Job
    var number: Int
    var startedAt: Instant
    /// When the leader placed it or first saw it, on the elapsed clock.
    var since: Duration
}

/// Where a run may start.
enum Host: Hashable {
    /// In this process.
    case here
    case machine(Machine)
}
