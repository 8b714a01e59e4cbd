public import ClarityScheduler

/// A planner with a store, two clocks that a test moves, and conditions that a test sets.
public struct PlanningDesk {
    public var planner: Planner
    public let store: MemoryRunStore
    public var moment = Moment(wall: .noon, elapsed: .zero)
    public var conditions: Conditions

    /// Creates a planner for `jobs`.
    public init(
        _ jobs: [Job], store: MemoryRunStore = MemoryRunStore(), owner: String = "me",
        maxParallel: Int = 4, scope: Planner.Scope = .everything,
        retention: RetentionPolicy? = nil, boot: String? = nil,
        conditions: Conditions = .everythingAllowed
    ) {
        self.store = store
        self.conditions = conditions
        planner = Planner(
            jobs: JobSet(jobs), owner: owner, maxParallel: maxParallel, scope: scope,
            retention: retention, boot: boot, seed: 1)
    }

    /// Advances both clocks.
    public mutating func pass(_ span: Duration) {
        moment.wall = moment.wall + span
        moment.elapsed += span
    }

    /// Decides about events and writes the changes of the plan to the store.
    ///
    /// Every decision is repeated, and must give the same plan (`RepeatedDecision`).
    @discardableResult
    public mutating func handle(_ events: Planner.Event...) throws -> Plan {
        var plan = Plan()
        var known = Ledger()
        var next = planner
        let (moment, conditions) = (moment, conditions)
        store.owner = planner.owner
        try store.decide(recalling: planner.recall(for: events, at: moment.wall)) { ledger in
            known = ledger
            plan = next.handle(
                events, at: moment, conditions: conditions, ledger: ledger)
            return plan.changes
        }
        try RepeatedDecision(
            planner: planner, events: events, moment: moment, conditions: conditions,
            ledger: known, plan: plan
        ).check()
        planner = next
        return plan
    }
}

extension Plan {
    /// The orders that the plan starts.
    public var started: [AttemptOrder] {
        acts.compactMap { act in
            if case .start(let order) = act { order } else { nil }
        }
    }

    /// The signals that the plan sends.
    public var signals: [RunID: AttemptSignal] {
        var signals: [RunID: AttemptSignal] = [:]
        for case .signal(let run, let signal) in acts { signals[run] = signal }
        return signals
    }
}

extension Instant {
    /// 2026-11-20T12:00:00Z, a Friday.
    public static let noon = Instant(secondsSince1970: 1_795_176_000)
}

extension Conditions {
    /// A machine on which every constraint holds.
    public static let everythingAllowed = Conditions(
        connected: Reading(true, source: "test"), metered: Reading(false, source: "test"),
        roaming: Reading(false, source: "test"), externalPower: Reading(true, source: "test"),
        battery: Reading(.charge(percent: 80), source: "test"),
        lowPower: Reading(false, source: "test"), idle: Reading(true, source: "test"),
        storageFreeBytes: Reading(1 << 40, source: "test"),
        pressurePercent: Reading(0, source: "test"), login: Reading(true, source: "test"),
        source: Reading(true, source: "test"))
}

extension AttemptEnd {
    /// Returns a success with counts.
    public static func success(_ counts: [(String, Int64)] = []) -> AttemptEnd {
        var tally = Tally()
        for (name, count) in counts { tally[name] = count }
        return AttemptEnd(.reported(.success), tally: tally)
    }

    /// Returns a failure that may pass.
    public static func retry(after wish: Duration? = nil) -> AttemptEnd {
        AttemptEnd(.reported(.retry(after: wish, Failure(.unreachable, "the backend is out"))))
    }

    /// Returns an end after which the work continues when a condition holds.
    public static func awaits(_ need: NeededCondition) -> AttemptEnd {
        AttemptEnd(.reported(.awaits(need, Failure(.work, "more than may go by this way"))))
    }

    /// A failure that a retry does not cure.
    public static var failure: AttemptEnd {
        AttemptEnd(.reported(.failure(Failure(.work, "nothing to read"))))
    }

    /// Returns an end by a signal from outside.
    public static func killed(by signal: Int32 = 9) -> AttemptEnd {
        AttemptEnd(.broke(.killedBySignal(signal)))
    }
}
